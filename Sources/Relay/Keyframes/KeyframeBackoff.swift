import Media

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
