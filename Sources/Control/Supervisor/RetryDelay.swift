import Media

/// How long to wait before something that failed is tried again: not at all the first time, then longer and longer.
struct RetryDelay: Hashable, Sendable {
    static let first = Nanoseconds.milliseconds(250)
    static let longest = Nanoseconds.seconds(30)

    /// Failures since the last ``reset()``.
    private(set) var failures = 0

    /// The wait after one more failure: 0, 250 ms, 500 ms and so on, at most 30 s.
    mutating func next() -> Nanoseconds {
        failures += 1
        if failures == 1 { return .zero }
        // 250 ms reach 30 s after seven doublings.
        return min(Self.first * (1 << Int64(min(failures - 2, 7))), Self.longest)
    }

    /// What failed has worked for a while.
    mutating func reset() { failures = 0 }
}
