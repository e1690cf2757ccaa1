import Media

/// Decides how many bits a second the receivers of calls can take, between a floor and a ceiling, by what is estimated from the arrivals
/// that they tell (`transport-cc`), or else by what they report: lost packets, and the bit rate that they state (`goog-remb`).
///
/// The rule for losses is the one of Google's congestion control (draft-ietf-rmcat-gcc-02, 6): above 10 % the rate falls by half
/// of the loss, below 2 % it rises by 5 %, and between it stays. It changes at most once a second, however many receivers report.
/// All share one encode, so the worst one decides: the rate falls by the largest loss that was reported since the last change, and
/// rises only when no receiver's newest report says 2 % or more. No receiver gets more than it states, but the floor is the
/// operator's.
///
/// A pure value; it reads no clock.
struct CallRate {
    /// What one receiver has reported.
    struct Sample {
        var id: UInt64
        /// Counts its reports.
        var reports: Int64
        /// Of the packets since the report before, 0…1; nil before any, and where the bit rate is an estimate, which has them in it.
        var fractionLost: Double?
        /// What is estimated, or what it states; nil for neither.
        var bitRate: UInt64?
    }

    static let muchLost = 0.10
    static let littleLost = 0.02
    static let increase = 1.05
    /// The rate changes at most so often.
    static let interval = Nanoseconds.seconds(1)
    /// A receiver that has not reported for so long does not keep the rate from rising.
    static let reportTimeout = Nanoseconds.seconds(10)

    /// A receiver's newest report.
    private struct Report {
        var number: Int64
        var loss: Double
        var time: MonotonicTime
        /// It has had its part in a change.
        var hasCounted = false
    }

    private var wanted: Double
    private var reports: [UInt64: Report] = [:]
    private var lastChange: MonotonicTime?

    /// - Parameter ceiling: the rate to begin with.
    init(ceiling: Int) { wanted = Double(ceiling) }

    /// Takes in what the receivers have reported by now.
    /// - Returns: the rate, at most the ceiling.
    mutating func observe(_ samples: [Sample], within range: ClosedRange<Int>, at now: MonotonicTime) -> Int {
        for sample in samples {
            guard let loss = sample.fractionLost, reports[sample.id]?.number != sample.reports else { continue }
            // Two reports between changes count as the worse one.
            let pending = reports[sample.id].map { $0.hasCounted ? 0 : $0.loss } ?? 0
            reports[sample.id] = Report(number: sample.reports, loss: max(loss, pending), time: now)
        }
        if reports.count > samples.count {
            let ids = Set(samples.map(\.id))
            reports = reports.filter { ids.contains($0.key) }
        }
        if lastChange.map({ now - $0 >= Self.interval }) ?? true { change(at: now) }
        wanted = min(max(wanted, Double(range.lowerBound)), Double(range.upperBound))
        let stated = samples.compactMap(\.bitRate).min().map { Double(min($0, 1 << 40)) } ?? wanted
        // Nobody there: the next one begins anew.
        if samples.isEmpty { (wanted, lastChange) = (Double(range.upperBound), nil) }
        return Int(min(max(min(wanted, stated), Double(range.lowerBound)), Double(range.upperBound)))
    }

    /// A rate after a report of losses; the same where they say neither that it is too high nor that there is room.
    static func changed(_ rate: Double, by loss: Double) -> Double {
        if loss > muchLost { return rate * (1 - loss / 2) }
        return loss < littleLost ? rate * increase : rate
    }

    private mutating func change(at now: MonotonicTime) {
        let new = reports.values.filter { !$0.hasCounted }
        guard let worstNew = new.map(\.loss).max() else { return }
        let known = reports.values.filter { now - $0.time < Self.reportTimeout }
        if worstNew > Self.muchLost {
            wanted = Self.changed(wanted, by: worstNew)
        } else if known.allSatisfy({ $0.loss < Self.littleLost }) {
            wanted = Self.changed(wanted, by: 0)
        }
        lastChange = now
        for id in reports.keys { reports[id]?.hasCounted = true }
    }
}
