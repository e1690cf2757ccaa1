import Media

/// What is owed to one receiver: whether it waits for a keyframe, and how long it waits before one is asked for.
///
/// It waits longer each time that it misses something, unless it has been served well in between: a link may carry each keyframe and
/// nothing of what follows it.
///
/// A pure value.
struct KeyframeDebt {
    /// It has come, or a unit went out to it in part. The units up to the next keyframe are of no use to it.
    private(set) var isOwed: Bool
    private var backoff = KeyframeBackoff()

    init(isOwed: Bool) { self.isOwed = isOwed }

    /// It can use nothing before the next keyframe.
    mutating func owe() { isOwed = true }

    /// Units are of use to it from the first on.
    mutating func forgive() { isOwed = false }

    /// It has received a whole unit that it can use.
    mutating func pay(at now: @autoclosure () -> MonotonicTime) {
        guard isOwed else { return }
        isOwed = false
        backoff.served(at: now())
    }

    /// It has missed a part of a unit.
    /// - Returns: how long it waits before a keyframe is asked for.
    mutating func miss(at now: MonotonicTime) -> Nanoseconds {
        isOwed = true
        return backoff.missed(at: now)
    }
}
