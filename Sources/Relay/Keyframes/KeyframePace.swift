import Media

/// Decides which of the source's keyframes become keyframes of the output: at most one a second. A source that consists of keyframes
/// would make an output of keyframes, whose pictures get far fewer bits than those that refer to others.
///
/// A pure value.
struct KeyframePace {
    /// Stamps that were rounded to milliseconds may make a second a little shorter (5 ms).
    private static let interval = MediaTime.ticksPerSecond - 450

    private var newest: MediaTime?

    /// Whether the source may have a keyframe at this time.
    func allows(at time: MediaTime) -> Bool { newest.map { time - $0 >= Self.interval || time < $0 } ?? true }

    /// A keyframe goes out, whoever wanted it.
    mutating func record(at time: MediaTime) { newest = time }
}
