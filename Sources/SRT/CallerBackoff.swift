import Media

/// How long a caller waits before it calls again. The wait doubles from 100 ms to 5 s, and each one is drawn from the upper
/// half of its span, so that many callers of one restarted server do not call in step ("equal jitter", Brooker 2015).
struct CallerBackoff: Sendable {
    static let first = Nanoseconds.milliseconds(100)
    static let longest = Nanoseconds.milliseconds(5_000)

    private var span = CallerBackoff.first
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// The wait before the next attempt. Each call counts as a failure.
    mutating func next() -> Nanoseconds {
        let half = span.count / 2
        let wait = Nanoseconds(half + Int64(random.next() % UInt64(half + 1)))
        span = min(Nanoseconds(span.count * 2), Self.longest)
        return wait
    }

    /// A connection has held: the next failure starts small again.
    mutating func reset() { span = Self.first }
}
