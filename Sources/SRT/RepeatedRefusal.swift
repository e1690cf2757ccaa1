import Media

/// Callers that are refused for the same reason, as an operator hears of them. Some programs call a hundred times a second, each time
/// from another port, and a second sender may call for hours. So the first one is reported, and then how many more there were: after
/// a second, after 4 s, after 16 s and after each minute. A pure value.
struct RepeatedRefusal {
    private static let firstInterval = Nanoseconds.seconds(1)
    private static let growth: Int64 = 4
    /// After so long without one, the next is news.
    static let longestInterval = Nanoseconds.seconds(60)

    /// What they did; stands behind their address or number.
    let reason: String
    private var unreported = 0
    private var newest = ""
    private var lastSeen: MonotonicTime?
    private var lastReport = MonotonicTime(nanoseconds: 0)
    private var interval = firstInterval

    init(reason: String) { self.reason = reason }

    /// - Returns: what to report of this caller at once; nil when one like it was reported a while ago.
    mutating func record(_ caller: String, at now: MonotonicTime) -> String? {
        defer { lastSeen = now }
        if let lastSeen, unreported > 0 || now - lastSeen < Self.longestInterval {
            unreported += 1
            newest = caller
            return nil
        }
        (lastReport, interval) = (now, Self.firstInterval)
        return "\(caller) \(reason)"
    }

    /// What to report of those that were only counted, once it is time.
    mutating func due(at now: MonotonicTime) -> String? {
        guard unreported > 0, now - lastReport >= interval else { return nil }
        defer { (unreported, lastReport, interval) = (0, now, min(interval * Self.growth, Self.longestInterval)) }
        return unreported == 1 ? "\(newest) \(reason)" : "\(unreported) more \(reason), \(newest) last"
    }
}
