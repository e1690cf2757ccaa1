import Media

/// What to do with one original.
public struct FramePlan: Hashable, Sendable, BitwiseCopyable {
    /// Why the frame is neither enhanced nor emitted; nil where it is. When it is set, ignore the other properties.
    public var drop: DropReason?
    public var emitBy: MonotonicTime
    /// Which steps to do: those that the picture may not go without, and those that there is time for.
    public var steps = StepSet()
    /// When the steps that it may go without must end.
    public var stepsBy: MonotonicTime
    public var tier: Tier
    /// How many tiles should be done by ``stop``. Tiles are computed in order of worth.
    public var tiles: Int
    /// When work on tiles ends, whatever has been done by then.
    public var stop: MonotonicTime
    /// How many of the requested synthesised frames to make, counted from the first. All or none, so that motion stays even;
    /// only one while the cost of one is unknown.
    public var synthesised: Int
    /// The latest start of work on a synthesised frame. After that, earlier work has taken longer than expected and the
    /// original has priority: the synthesised frame is dropped as `late`.
    public var synthesiseBy: MonotonicTime
    /// How much later than the original each further synthesised frame is due. 0 when they leave before it.
    public var step: Nanoseconds
    /// The stream's rung on the ladder (0 is the top) and the number of rungs, for reports and traces.
    public var rung: Int
    public var rungs: Int

    @inlinable public init(
        drop: DropReason?, emitBy: MonotonicTime, tier: Tier, tiles: Int, stop: MonotonicTime, synthesised: Int,
        synthesiseBy: MonotonicTime, step: Nanoseconds, rung: Int, rungs: Int
    ) {
        self.drop = drop
        self.emitBy = emitBy
        stepsBy = stop
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
