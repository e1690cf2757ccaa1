import Media

/// Estimates the time between originals from how many have arrived and when they are due. It does not depend on the rate
/// that the source states, nor on how many originals are dropped.
///
/// Frames may come in bursts: several within a millisecond and then none for a while. The estimate therefore uses the mean
/// over several frames.
struct IntervalEstimate: Sendable, BitwiseCopyable {
    /// One sample covers this many originals.
    static let window = 8
    /// The weight of a new sample in the estimate.
    static let weight = 1.0 / 4
    /// A sample of more than this many intervals shows a gap, unless the next sample agrees with it.
    static let gap = 4.0

    /// In nanoseconds.
    private(set) var interval: Double
    private(set) var arrived = 0
    private var since: (arrived: Int, emitBy: MonotonicTime)?
    private var sawGap = false

    init(interval: Nanoseconds) { self.interval = Double(interval.count) }

    /// - Parameters:
    ///   - arrived: originals since the stream began.
    ///   - newestEmitBy: the deadline of the newest of them.
    mutating func observe(arrived: Int, newestEmitBy: MonotonicTime) {
        self.arrived = arrived
        guard let since else { return self.since = (arrived, newestEmitBy) }
        let count = arrived - since.arrived
        guard count >= Self.window else { return }
        self.since = (arrived, newestEmitBy)
        let sample = Double((newestEmitBy - since.emitBy).count) / Double(count)
        // Deadlines that stand still or go back tell nothing about the interval.
        guard sample > 0 else { return }
        let isGap = sample > interval * Self.gap
        defer { sawGap = isGap }
        if !isGap {
            interval += (sample - interval) * Self.weight
        } else if sawGap {
            interval = sample
        }
    }
}
