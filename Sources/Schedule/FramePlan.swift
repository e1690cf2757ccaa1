import Media

/// On which side of its original the synthesised frames go out.
public enum SynthesisOrder: UInt8, Sendable, BitwiseCopyable {
    /// Interpolated between the previous original and this one: they leave first.
    case beforeOriginal
    /// Extrapolated beyond this one (lookahead 0): the original leaves first and waits for nothing.
    case afterOriginal
}

/// What is known about a decoded original when its plan is asked for.
public struct FrameRequest: Sendable, BitwiseCopyable {
    public var now: MonotonicTime
    /// When it must be emitted: ``Deadline/emitBy(_:)`` of its origin.
    public var emitBy: MonotonicTime
    /// How many synthesised frames are asked for with it (``Cadence`` says).
    public var synthesised: Int
    public var order: SynthesisOrder
    /// How many tiles are worth computing: all of them, less those whose input did not change.
    public var tiles: Int
    /// Originals that have arrived behind it, coded and decoded.
    public var waiting: Int
    /// When the newest of those must be emitted; ignored when none waits.
    public var newestEmitBy: MonotonicTime
    /// Frames before the encoder, the one inside it included.
    public var encoderQueue: Int

    @inlinable public init(
        now: MonotonicTime, emitBy: MonotonicTime, synthesised: Int = 0, order: SynthesisOrder = .beforeOriginal,
        tiles: Int, waiting: Int = 0, newestEmitBy: MonotonicTime? = nil, encoderQueue: Int = 0
    ) {
        self.now = now
        self.emitBy = emitBy
        self.synthesised = synthesised
        self.order = order
        self.tiles = tiles
        self.waiting = waiting
        self.newestEmitBy = newestEmitBy ?? emitBy
        self.encoderQueue = encoderQueue
    }
}

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
    /// Whether to make the synthesised frames asked for: all or none, so that motion stays even.
    public var synthesises: Bool
    /// Where the stream stands on the ladder (0 is the top), and how many rungs there are: for metrics.
    public var rung: Int
    public var rungs: Int

    @inlinable public var isDropped: Bool { drop != nil }
}

/// An access unit on its way to the decoder.
public struct UnitRequest: Sendable, BitwiseCopyable {
    public var now: MonotonicTime
    public var emitBy: MonotonicTime
    public var isKeyframe: Bool
    /// Other frames need it. True when not known.
    public var isReference: Bool
    /// Access units that wait behind it, and whether a keyframe is among them.
    public var waiting: Int
    public var keyframeWaiting: Bool

    @inlinable public init(
        now: MonotonicTime, emitBy: MonotonicTime, isKeyframe: Bool, isReference: Bool = true, waiting: Int = 0,
        keyframeWaiting: Bool = false
    ) {
        self.now = now
        self.emitBy = emitBy
        self.isKeyframe = isKeyframe
        self.isReference = isReference
        self.waiting = waiting
        self.keyframeWaiting = keyframeWaiting
    }
}

/// Something that decides, from numbers it is given, what becomes of frames. ``Planner`` is the one that Burnish uses;
/// the simulator takes any, to compare them, and the tests hand it broken ones.
public protocol Policy: Sendable {
    /// Takes in what a piece of work did cost.
    mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int)
    /// Whether an access unit goes to the decoder: nil, or the reason why it is dropped.
    mutating func admit(_ unit: UnitRequest) -> DropReason?
    /// What to do with a decoded original.
    mutating func plan(_ frame: FrameRequest) -> FramePlan
    /// Whether a frame whose turn has come is still worth encoding: nil, or the reason why it is dropped.
    mutating func encode(_ frame: EncodeRequest) -> DropReason?
}
