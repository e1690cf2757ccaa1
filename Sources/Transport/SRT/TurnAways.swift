import Media

/// Callers that come while another is served, as an operator is to hear of them: some programs call a hundred times a
/// second, each time from another port, so not more often than once a second. A pure value.
struct TurnAways {
    private static let tellsEvery = Nanoseconds.seconds(1)

    private var untold = 0
    private var told: MonotonicTime?

    /// - Returns: what to tell; nil when that was told a moment ago.
    mutating func note(_ caller: String, at now: MonotonicTime) -> String? {
        if let told, now - told < Self.tellsEvery {
            untold += 1
            return nil
        }
        defer { (untold, told) = (0, now) }
        let others = untold == 0 ? "" : "; \(untold) more did so in the last seconds"
        return "\(caller) called while another caller is served\(others)"
    }
}
