import Media

/// Which of the requests that were refused get a line in the log: whoever reaches the interface cannot fill it.
///
/// Thread-safe.
final class RequestLog: Sendable {
    /// Lines that may come at once, and lines a second after that.
    static let burst = 50.0
    static let linesPerSecond = 5.0

    private struct State {
        var tokens = burst
        var last: MonotonicTime?
        var leftOut = 0
    }

    private let state = Lock(State())

    /// - Returns: how many were left out since the last one that was let through; nil where this one is left out, too.
    func admit(at now: MonotonicTime) -> Int? {
        state.withLock { state in
            let passed = state.last.map { (now - $0).seconds } ?? 0
            state.tokens = min(state.tokens + max(passed, 0) * Self.linesPerSecond, Self.burst)
            state.last = now
            guard state.tokens >= 1 else {
                state.leftOut += 1
                return nil
            }
            state.tokens -= 1
            defer { state.leftOut = 0 }
            return state.leftOut
        }
    }
}
