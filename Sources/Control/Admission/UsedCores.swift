/// The cores that a process has used lately, as a bound for what it says that it needs. A pure value.
struct UsedCores: Hashable, Sendable {
    /// What a process says may exceed what it uses: it counts time, also time in which it waits for a core.
    static let tolerance = 1.5

    private(set) var cores = 0.0

    /// - Parameter now: cores in use over the last second.
    mutating func observe(_ now: Double) {
        // Rises at once, falls over some ten seconds: a source may pause.
        cores = now > cores ? now : cores + (now - cores) / 8
    }

    /// The factor, at most 1, on needs that together exceed what is used.
    func limit(of needs: [Double]) -> Double {
        let sum = needs.reduce(0, +)
        return sum > 0 ? min(1, cores * Self.tolerance / sum) : 1
    }
}
