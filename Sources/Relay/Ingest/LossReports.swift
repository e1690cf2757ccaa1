import Endpoint
import Media

/// Says once when an input begins to miss something of its source, and once, with totals, when it has missed nothing for a while.
///
/// A pure value.
struct LossReports {
    /// Who knows that something is missing.
    enum Witness {
        /// The transport, which numbers its messages.
        case transport
        /// The continuity counters of the transport stream inside.
        case counters
    }

    /// Losses that lie closer together than this are one series.
    static let quiet = Nanoseconds.seconds(60)

    private struct Series {
        var since: MonotonicTime
        var last: MonotonicTime
        var missing: Int64
        var places = 1
    }

    private let url: StreamURL
    private let witness: Witness
    private var series: Series?

    init(of url: StreamURL, witness: Witness) {
        self.url = url
        self.witness = witness
    }

    /// Something is missing.
    /// - Returns: the line that says so, where it is the first of a series.
    mutating func record(_ missing: Int64, at now: MonotonicTime) -> String? {
        guard series != nil else {
            series = Series(since: now, last: now, missing: missing)
            return "\(Self.count(missing, unit)) missing: \(reason)"
        }
        series!.last = max(series!.last, now)
        series!.missing += missing
        series!.places += 1
        return nil
    }

    /// Whether ``claimEnd(at:)`` is to be called now and then.
    var isOpen: Bool { series != nil }

    /// - Returns: the line that sums a series up, once it has been over for a while.
    mutating func claimEnd(at now: MonotonicTime) -> String? {
        guard let found = series, now - found.last >= Self.quiet else { return nil }
        series = nil
        return "nothing has been missing for \(Int(Self.quiet.seconds)) s; \(sum(found))"
    }

    /// The source has gone.
    /// - Returns: the line that sums the series up; nil where the first line said it all.
    mutating func end() -> String? {
        defer { series = nil }
        return series.flatMap { $0.places > 1 ? sum($0) : nil }
    }

    /// What seemed to be missing was not.
    mutating func forget() { series = nil }

    private func sum(_ found: Series) -> String {
        let seconds = max(Int((found.last - found.since).seconds.rounded(.up)), 1)
        let places = found.places == 1 ? "in one place" : "in \(found.places) places within \(seconds) s"
        return "\(Self.count(found.missing, unit, isOver: true)) missing \(places)"
    }

    private static func count(_ missing: Int64, _ unit: String, isOver: Bool = false) -> String {
        missing == 1 ? "1 \(unit) \(isOver ? "was" : "is")" : "\(missing) \(unit)s \(isOver ? "were" : "are")"
    }

    private var unit: String {
        guard witness == .transport, case .srt = url else { return "packet" }
        return "message"
    }

    /// Why, as far as it is certain, and what to do.
    private var reason: String {
        switch (url, witness) {
        case (.srt, .transport):
            "lost on the way, or later than the recovery window; raise latency at the sender or here, the larger counts"
        case (_, .transport):
            "lost on the way, too large, or later than latency allows; look at the network, or send by SRT, which sends lost ones again"
        case (.srt, .counters), (.rtp, .counters), (.sdp, .counters), (.call, .counters):
            "its continuity counters show it, and none was lost between the sender and here; look at what comes before the sender"
        case (.udp, .counters):
            "its continuity counters show it; look at the network and at the sender, or send by SRT, which sends lost ones again"
        case (.file, .counters), (.standardStream, .counters):
            "its continuity counters show it; the stream was recorded so"
        }
    }
}
