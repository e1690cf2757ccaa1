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

/// How long a receiver waits for a keyframe after it has missed a part of a unit. It waits longer each time, unless it has been
/// served well in between: a link may carry each keyframe and nothing of what follows it.
///
/// A pure value.
struct KeyframeBackoff {
    /// The wait after the second loss in a row. It doubles with each further one.
    static let first = Nanoseconds.seconds(2)
    static let longest = Nanoseconds.seconds(16)
    /// One that has received everything for so long begins anew.
    static let recovery = Nanoseconds.seconds(10)

    /// In a row.
    private var losses = 0
    /// Since when it has received everything; nil while it waits for a keyframe.
    private var servedSince: MonotonicTime?

    /// It has received a whole unit that it can use.
    mutating func served(at now: MonotonicTime) { servedSince = servedSince ?? now }

    /// It has missed a part of a unit.
    /// - Returns: how long it waits before a keyframe is asked for.
    mutating func missed(at now: MonotonicTime) -> Nanoseconds {
        if let servedSince, now - servedSince >= Self.recovery { losses = 0 }
        servedSince = nil
        losses += 1
        return losses == 1 ? .zero : min(Self.first * Int64(1 << min(losses - 2, 8)), Self.longest)
    }
}
