import Media

/// Callers that are refused for one and the same reason, as an operator is to hear of them: some programs call a hundred
/// times a second, each time from another port, so the first is told, and once a second how many more there were. A pure
/// value.
struct RepeatedRefusal {
    private static let tellsEvery = Nanoseconds.seconds(1)

    /// What they did, behind their address or number.
    let reason: String
    private var untold = 0
    private var told: MonotonicTime?

    init(reason: String) { self.reason = reason }

    /// - Returns: what to tell of this caller at once; nil when one like it was told of a moment ago.
    mutating func note(_ caller: String, at now: MonotonicTime) -> String? {
        if let told, untold > 0 || now - told < Self.tellsEvery {
            untold += 1
            return nil
        }
        told = now
        return "\(caller) \(reason)"
    }

    /// What is to be told of those that were not, now that a second has passed.
    mutating func due(at now: MonotonicTime) -> String? {
        guard untold > 0, let last = told, now - last >= Self.tellsEvery else { return nil }
        defer { (untold, told) = (0, now) }
        return "\(untold) more \(reason)"
    }
}
