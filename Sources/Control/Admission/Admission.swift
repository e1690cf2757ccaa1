import Media
import Schedule

/// Decides whether the machine can carry one more stream. A pure value, asked once a second.
///
/// What a stream needs is known when it has run for a while: its own costs say it. So a stream is judged once,
/// ``judgeAfter`` its first pictures came, beside those that were judged before. A stream that was admitted stays; later
/// ones are refused for it.
struct Admission: Sendable {
    /// What a stream has needed for as long as the first pictures, which come to untouched memory, weigh on its costs.
    static let judgeAfter = Nanoseconds.seconds(3)

    enum Verdict: Hashable, Sendable {
        case admitted
        /// The machine cannot carry it; the figures, in one sentence.
        case tooMuch(String)
    }

    private struct Record {
        /// When its need was known first.
        var since: MonotonicTime
        var least: Double
        var isAdmitted = false
    }

    private var records: [String: Record] = [:]

    /// Forgets a stream that has gone, or that starts anew with other settings.
    mutating func forget(_ stream: String) { records[stream] = nil }

    /// What the admitted streams need, in cores.
    var admitted: Double { records.values.reduce(0) { $0 + ($1.isAdmitted ? $1.least : 0) } }

    /// Why no further stream can be admitted, whatever it needs; nil while there is room.
    func fullness(_ capacity: Capacity) -> String? {
        guard admitted >= capacity.promised else { return nil }
        return
            "the streams that run need \(Self.text(admitted)) of the \(Self.text(capacity.promised)) cores there are for them"
    }

    /// - Parameter demands: of the streams that flow, in cores; those without pictures yet are left out.
    /// - Returns: a verdict for each stream that was judged now.
    mutating func judge(_ demands: [String: Double], _ capacity: Capacity, at now: MonotonicTime) -> [String: Verdict] {
        for (name, least) in demands { records[name, default: Record(since: now, least: least)].least = least }
        // A stream whose source has gone keeps its place for when it returns.
        var verdicts: [String: Verdict] = [:]
        let due = records.filter { !$0.value.isAdmitted && demands[$0.key] != nil && now - $0.value.since >= Self.judgeAfter }
        for (name, record) in due.sorted(by: { ($0.value.since, $0.key) < ($1.value.since, $1.key) }) {
            let left = capacity.promised - admitted
            if record.least <= left {
                records[name]?.isAdmitted = true
                verdicts[name] = .admitted
            } else {
                verdicts[name] = .tooMuch(
                    "it needs \(Self.text(record.least)) cores at least, and \(Self.text(max(0, left))) of"
                        + " \(Self.text(capacity.promised)) are left")
                records[name] = nil
            }
        }
        return verdicts
    }

    private static func text(_ cores: Double) -> String {
        let hundredths = Int((cores * 100).rounded())
        return "\(hundredths / 100).\(hundredths / 10 % 10)\(hundredths % 10)"
    }
}
