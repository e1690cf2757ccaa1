import Media

/// Chooses the source times that go out with a frame's packets, so that the next hop's SRT window gives the receiver the
/// source's cadence back although frames leave whenever they are ready.
///
/// A frame's outgoing source time is its own source time plus one slowly moving delay, which follows a high quantile
/// (about the 98th) of what frames have taken: most frames are sent a little before their stamp, and the few that take
/// longer eat into the next hop's window instead of moving the cadence.
///
/// A pure value.
struct CadenceClock {
    /// A step up is taken at 1/8 of the excess, a step down at 1/400: where 2 % of the frames exceed the delay, the two
    /// hold each other.
    private static let rise: Int64 = 8
    private static let fall: Int64 = 400

    private(set) var delay: Nanoseconds?
    private var last: MonotonicTime?

    init() {}

    /// - Parameters:
    ///   - source: when the frame was made, on this machine's clock.
    ///   - now: when it is sent.
    /// - Returns: the source time to send with it; never earlier than the one before, never later than `now` plus the
    ///   delay's own error.
    mutating func stamp(source: MonotonicTime, now: MonotonicTime) -> MonotonicTime {
        let taken = now - source
        let delay =
            if let delay {
                taken > delay
                    ? delay + (taken - delay) / Self.rise : delay - (delay - taken) / Self.fall
            } else {
                taken
            }
        self.delay = delay
        let stamp = max(source + delay, last ?? source + delay)
        last = stamp
        return stamp
    }

    /// The source time to send with a unit of another stream, beside the frames.
    func stamp(passing source: MonotonicTime) -> MonotonicTime {
        let stamp = source + (delay ?? .zero)
        return last.map { max(stamp, $0) } ?? stamp
    }

    /// The source was replaced: its frames have nothing to do with the ones before.
    mutating func restart() { delay = nil }
}
