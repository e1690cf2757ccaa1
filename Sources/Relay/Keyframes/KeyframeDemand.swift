import Media

/// Decides when receivers get a keyframe. Each costs all other receivers bits and time, so a receiver that comes and goes again
/// and again, or whose link is too slow, must not turn the stream into keyframes only.
///
/// A pure value.
struct KeyframeDemand {
    /// While other receivers are served, keyframes are asked for at most this often.
    static let interval = Nanoseconds.seconds(1)

    /// From when on a keyframe may be asked for; nil while nobody needs one.
    private var due: MonotonicTime?
    private var lastAsked: MonotonicTime?
    /// A receiver of a call has asked by itself, as it does when it has lost a picture.
    private var isRequested = false

    /// Requests of receivers of calls are joined, and answered at most this often.
    static let requestInterval = Nanoseconds.milliseconds(500)

    /// A receiver needs a keyframe.
    /// - Parameter wait: the least time before it is asked for.
    mutating func want(at now: MonotonicTime, after wait: Nanoseconds = .zero) {
        due = min(due ?? now + wait, now + wait)
    }

    /// A receiver of a call asks for a keyframe.
    mutating func wantByRequest(at now: MonotonicTime) {
        isRequested = true
        due = min(due ?? now, now)
    }

    /// A keyframe has gone out. Everybody who needed one has it, except those that ``want(at:after:)`` names from now on.
    mutating func keyframeWasSent() {
        due = nil
        isRequested = false
    }

    /// Whether to ask the encoder for a keyframe now. Counts as asked when it says so.
    /// - Parameter othersAreServed: whether there are receivers that need none.
    mutating func claim(at now: MonotonicTime, othersAreServed: Bool) -> Bool {
        guard let due else { return false }
        let interval = isRequested ? Self.requestInterval : Self.interval
        if othersAreServed, now < due || lastAsked.map({ now - $0 < interval }) ?? false { return false }
        self.due = nil
        isRequested = false
        lastAsked = now
        return true
    }
}
