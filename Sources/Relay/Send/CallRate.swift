import Media

/// Decides how many bits a second the receivers of calls can take, between a floor and a ceiling, by what they report: lost
/// packets, and the bit rate that they state (`goog-remb`).
///
/// The rule for losses is the one of Google's congestion control (draft-ietf-rmcat-gcc-02, 6): above 10 % the rate falls by half
/// of the loss, below 2 % it rises by 5 % for each report, and between it stays. No receiver gets more than it states, but the
/// floor is the operator's. All share one encode, so the worst one decides.
///
/// A pure value; it reads no clock.
struct CallRate {
    /// What one receiver has reported.
    struct Sample {
        var id: UInt64
        /// Counts its reports.
        var reports: Int64
        /// Of the packets since the report before, 0…1; nil before any.
        var fractionLost: Double?
        /// What it states; nil where it does not.
        var bitRate: UInt64?
    }

    static let muchLost = 0.10
    static let littleLost = 0.02
    static let increase = 1.05

    private var wanted: Double
    private var reports: [UInt64: Int64] = [:]

    /// - Parameter ceiling: the rate to begin with.
    init(ceiling: Int) { wanted = Double(ceiling) }

    /// Takes in what the receivers have reported by now.
    /// - Returns: the rate, at most the ceiling.
    mutating func observe(_ samples: [Sample], within range: ClosedRange<Int>) -> Int {
        // A report counts once.
        let new = samples.filter { $0.fractionLost != nil && reports[$0.id] != $0.reports }
        for sample in new { reports[sample.id] = sample.reports }
        if reports.count > samples.count {
            let ids = Set(samples.map(\.id))
            reports = reports.filter { ids.contains($0.key) }
        }
        if let worst = new.compactMap(\.fractionLost).max() {
            if worst > Self.muchLost {
                wanted *= 1 - worst / 2
            } else if worst < Self.littleLost {
                wanted *= Self.increase
            }
        }
        wanted = min(max(wanted, Double(range.lowerBound)), Double(range.upperBound))
        let stated = samples.compactMap(\.bitRate).min().map { Double(min($0, 1 << 40)) } ?? wanted
        // Nobody there: the next one begins anew.
        if samples.isEmpty { wanted = Double(range.upperBound) }
        return Int(min(max(min(wanted, stated), Double(range.lowerBound)), Double(range.upperBound)))
    }
}
