import Media

/// The time between originals, learnt from how many have arrived and when they are due, whatever the source says its rate
/// is and however many of them are given up.
///
/// Frames may come in bursts, several within a millisecond and then none for a while: what counts is the mean over some.
struct Rhythm: Sendable, BitwiseCopyable {
    /// Originals that one look at the clock covers.
    static let window = 8
    /// What a look says is believed by this share.
    static let weight = 1.0 / 4
    /// A look that gives more than so many times the interval has seen a gap, unless the next one says the same.
    static let gap = 4.0

    /// In nanoseconds.
    private(set) var interval: Double
    private(set) var arrived = 0
    private var since: (arrived: Int, emitBy: MonotonicTime)?
    private var sawGap = false

    init(interval: Nanoseconds) { self.interval = Double(interval.count) }

    /// - Parameters:
    ///   - arrived: originals since the stream began.
    ///   - newestEmitBy: when the last of them must be emitted.
    mutating func observe(arrived: Int, newestEmitBy: MonotonicTime) {
        self.arrived = arrived
        guard let since else { return self.since = (arrived, newestEmitBy) }
        let count = arrived - since.arrived
        guard count >= Self.window else { return }
        self.since = (arrived, newestEmitBy)
        let seen = Double((newestEmitBy - since.emitBy).count) / Double(count)
        // Deadlines that stand still or go back are no time.
        guard seen > 0 else { return }
        let isGap = seen > interval * Self.gap
        defer { sawGap = isGap }
        if !isGap {
            interval += (seen - interval) * Self.weight
        } else if sawGap {
            interval = seen
        }
    }
}
