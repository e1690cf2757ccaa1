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
    /// When the newest that has arrived must be emitted.
    public var newestEmitBy: MonotonicTime
    /// How many originals have arrived since the stream began; nil: this one and those that were asked for before.
    public var arrived: Int?
    /// Frames that wait for the encoder.
    public var encoderQueue: Int
    /// Since when the encoder has been at work on another one; nil when it is idle.
    public var encoderBusySince: MonotonicTime?

    @inlinable public init(
        now: MonotonicTime, emitBy: MonotonicTime, synthesised: Int = 0, order: SynthesisOrder = .beforeOriginal,
        tiles: Int, waiting: Int = 0, newestEmitBy: MonotonicTime? = nil, arrived: Int? = nil, encoderQueue: Int = 0,
        encoderBusySince: MonotonicTime? = nil
    ) {
        self.now = now
        self.emitBy = emitBy
        self.synthesised = synthesised
        self.order = order
        self.tiles = tiles
        self.waiting = waiting
        self.newestEmitBy = newestEmitBy ?? emitBy
        self.arrived = arrived
        self.encoderQueue = encoderQueue
        self.encoderBusySince = encoderBusySince
    }
}

/// An access unit on its way to the decoder.
public struct UnitRequest: Sendable, BitwiseCopyable {
    public var now: MonotonicTime
    public var emitBy: MonotonicTime
    public var isKeyframe: Bool
    /// Access units that wait behind it, and whether a keyframe is among them.
    public var waiting: Int
    public var keyframeWaiting: Bool

    @inlinable public init(
        now: MonotonicTime, emitBy: MonotonicTime, isKeyframe: Bool, waiting: Int = 0, keyframeWaiting: Bool = false
    ) {
        self.now = now
        self.emitBy = emitBy
        self.isKeyframe = isKeyframe
        self.waiting = waiting
        self.keyframeWaiting = keyframeWaiting
    }
}

/// What becomes of an access unit.
public enum Admission: Hashable, Sendable, BitwiseCopyable {
    case decode
    /// To be decoded, unless no other picture refers to it: that the decoder can tell. Then it is `overload`.
    case decodeIfReferred
    case drop(DropReason)
}

/// An original whose base is done and whose tiles are about to be begun.
public struct RefinementRequest: Sendable, BitwiseCopyable {
    public var now: MonotonicTime
    public var plan: FramePlan
    /// What its base has just taken.
    public var base: Nanoseconds

    @inlinable public init(now: MonotonicTime, plan: FramePlan, base: Nanoseconds) {
        self.now = now
        self.plan = plan
        self.base = base
    }
}

/// A synthesised frame that was planned and is about to be made.
public struct SynthesisRequest: Sendable, BitwiseCopyable {
    public var now: MonotonicTime
    /// That of its original.
    public var plan: FramePlan
    public var order: SynthesisOrder

    @inlinable public init(now: MonotonicTime, plan: FramePlan, order: SynthesisOrder) {
        self.now = now
        self.plan = plan
        self.order = order
    }
}

/// A raw frame whose turn at the encoder has come.
public struct EncodeRequest: Sendable, BitwiseCopyable {
    public var now: MonotonicTime
    public var emitBy: MonotonicTime
    public var kind: FrameKind
    /// An original waits for the encoder behind it, and when that must be emitted.
    public var nextOriginalEmitBy: MonotonicTime?

    @inlinable public init(
        now: MonotonicTime, emitBy: MonotonicTime, kind: FrameKind, nextOriginalEmitBy: MonotonicTime? = nil
    ) {
        self.now = now
        self.emitBy = emitBy
        self.kind = kind
        self.nextOriginalEmitBy = nextOriginalEmitBy
    }
}
