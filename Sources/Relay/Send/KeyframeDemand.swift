import Media

/// Decides when receivers get a keyframe. Each costs all other receivers bits and time, so a receiver that comes and goes again
/// and again, or whose link is too slow, must not turn the stream into keyframes only.
///
/// A pure value.
struct KeyframeDemand {
    /// While other receivers are served, keyframes are asked for at most this often.
    static let interval = Nanoseconds.seconds(1)
    /// A receiver that has missed several keyframes in a row waits longer for the next: twice as long for each, up to this.
    static let longestInterval = Nanoseconds.seconds(16)

    /// From when on a keyframe may be asked for; nil while nobody needs one.
    private var due: MonotonicTime?
    private var lastAsked: MonotonicTime?

    /// A receiver needs a keyframe.
    /// - Parameter missed: how many keyframes in a row it has missed.
    mutating func want(at now: MonotonicTime, missed: Int) {
        let wait = missed == 0 ? Nanoseconds.zero : min(Self.interval * Int64(1 << min(missed, 8)), Self.longestInterval)
        due = min(due ?? now + wait, now + wait)
    }

    /// A keyframe has gone out. Everybody who needed one has it, except those that ``want(at:missed:)`` names from now on.
    mutating func keyframeWasSent() { due = nil }

    /// Whether to ask the encoder for a keyframe now. Counts as asked when it says so.
    /// - Parameter othersAreServed: whether there are receivers that need none.
    mutating func claim(at now: MonotonicTime, othersAreServed: Bool) -> Bool {
        guard let due else { return false }
        if othersAreServed, now < due || lastAsked.map({ now - $0 < Self.interval }) ?? false { return false }
        self.due = nil
        lastAsked = now
        return true
    }
}
