import Media

/// What to do with one original.
public struct FramePlan: Hashable, Sendable, BitwiseCopyable {
    /// Set when the frame is not to be enhanced or emitted at all; nothing else counts then.
    public var drop: DropReason?
    public var emitBy: MonotonicTime
    public var tier: Tier
    /// The tiles that are expected to be done by ``stop``, in order of worth.
    public var tiles: Int
    /// When work on tiles ends, whatever has been done by then.
    public var stop: MonotonicTime
    /// How many of the synthesised frames asked for to make, the first ones: all or none, so that motion stays even,
    /// but one alone when it is the first ever and nobody knows what it costs.
    public var synthesised: Int
    /// Work on a synthesised frame must not begin later than this: what went before took longer than expected, and the
    /// original comes first. The frame is then `late`.
    public var synthesiseBy: MonotonicTime
    /// How much later than the original each further synthesised frame is due: 0 when they leave before it.
    public var step: Nanoseconds
    /// Where the stream stands on the ladder (0 is the top), and how many rungs there are: for reports and traces.
    public var rung: Int
    public var rungs: Int

    @inlinable public init(
        drop: DropReason?, emitBy: MonotonicTime, tier: Tier, tiles: Int, stop: MonotonicTime, synthesised: Int,
        synthesiseBy: MonotonicTime, step: Nanoseconds, rung: Int, rungs: Int
    ) {
        self.drop = drop
        self.emitBy = emitBy
        self.tier = tier
        self.tiles = tiles
        self.stop = stop
        self.synthesised = synthesised
        self.synthesiseBy = synthesiseBy
        self.step = step
        self.rung = rung
        self.rungs = rungs
    }

    @inlinable public var isDropped: Bool { drop != nil }

    /// When the n-th synthesised frame (from 1) must be emitted at the latest.
    @inlinable public func emitBy(synthesised number: Int) -> MonotonicTime { emitBy + step * Int64(number) }
}
