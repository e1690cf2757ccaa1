import Media

/// Callers that are refused for the same reason, as an operator hears of them. Some programs call a hundred times a second,
/// each time from another port, so the first one is reported, and once a second how many more there were. A pure value.
struct RepeatedRefusal {
    private static let reportInterval = Nanoseconds.seconds(1)

    /// What they did; stands behind their address or number.
    let reason: String
    private var unreported = 0
    private var lastReport: MonotonicTime?

    init(reason: String) { self.reason = reason }

    /// - Returns: what to report of this caller at once; nil when one like it was reported a moment ago.
    mutating func record(_ caller: String, at now: MonotonicTime) -> String? {
        if let lastReport, unreported > 0 || now - lastReport < Self.reportInterval {
            unreported += 1
            return nil
        }
        lastReport = now
        return "\(caller) \(reason)"
    }

    /// What to report of those that were only counted, once a second has passed.
    mutating func due(at now: MonotonicTime) -> String? {
        guard unreported > 0, let last = lastReport, now - last >= Self.reportInterval else { return nil }
        defer { (unreported, lastReport) = (0, now) }
        return "\(unreported) more \(reason)"
    }
}
