import Media

/// Makes the times of pictures grow in the order in which they are shown. Senders repeat a time stamp, or go back a little; the picture
/// is shown all the same, right behind the one before it.
///
/// A pure value.
struct GrowingTimes {
    private var newest: MediaTime?

    /// A stamp that goes back further (1 s) is of a clock that is over.
    private static let longest = MediaTime.ticksPerSecond

    /// - Returns: the time, or one tick more than that of the picture before it.
    mutating func settle(_ time: MediaTime) -> MediaTime {
        var settled = time
        if let newest, time <= newest, newest - time <= Self.longest { settled = newest + 1 }
        newest = newest.map { max($0, settled) } ?? settled
        return settled
    }
}
