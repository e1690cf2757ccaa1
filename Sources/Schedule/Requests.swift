import Media

/// Whether synthesised frames leave before or after their original.
public enum SynthesisOrder: UInt8, Sendable, BitwiseCopyable {
    /// They are interpolated between the previous original and this one, so they leave first.
    case beforeOriginal
    /// They are extrapolated beyond this one (lookahead 0), so the original leaves first and waits for nothing.
    case afterOriginal
}

/// A decoded original that needs a plan.
public struct FrameRequest: Sendable, BitwiseCopyable {
    public var now: MonotonicTime
    /// Its deadline: ``Deadline/emitBy(_:)`` of its origin.
    public var emitBy: MonotonicTime
    /// How many synthesised frames ``Cadence`` requests with it.
    public var synthesised: Int
    public var order: SynthesisOrder
    /// How many tiles are worth computing: all, except those whose input did not change.
    public var tiles: Int
    /// The steps on the stream's pictures that have costs of their own.
    public var steps: StepSet
    /// How many originals have arrived after it, coded and decoded.
    public var waiting: Int
    /// The deadline of the newest original that has arrived.
    public var newestEmitBy: MonotonicTime
    /// The part of that deadline that may change while the stream runs: the operator's budget, less what the deadlines have
    /// caught up of early frames. The time between originals is estimated without it.
    public var budget: Nanoseconds
    /// How many originals have arrived since the stream began. Nil counts this one and all earlier requests.
    public var arrived: Int?
    /// The newest original came earlier than its presentation time asks (``PresentationLine``).
    public var newestIsEarly: Bool
    /// How many frames wait for the encoder.
    public var encoderQueue: Int
    /// When the encoder began the frame that it encodes now; nil while it is idle.
    public var encoderBusySince: MonotonicTime?

    @inlinable public init(
        now: MonotonicTime, emitBy: MonotonicTime, synthesised: Int = 0, order: SynthesisOrder = .beforeOriginal,
        tiles: Int, steps: StepSet = [], waiting: Int = 0, newestEmitBy: MonotonicTime? = nil, budget: Nanoseconds = .zero,
        arrived: Int? = nil,
        newestIsEarly: Bool = false, encoderQueue: Int = 0, encoderBusySince: MonotonicTime? = nil
    ) {
        self.now = now
        self.emitBy = emitBy
        self.synthesised = synthesised
        self.order = order
        self.tiles = tiles
        self.steps = steps
        self.waiting = waiting
        self.newestEmitBy = newestEmitBy ?? emitBy
        self.budget = budget
        self.arrived = arrived
        self.newestIsEarly = newestIsEarly
        self.encoderQueue = encoderQueue
        self.encoderBusySince = encoderBusySince
    }
}

/// An access unit on its way to the decoder.
public struct UnitRequest: Sendable, BitwiseCopyable {
    public var now: MonotonicTime
    public var emitBy: MonotonicTime
    public var isKeyframe: Bool
    /// How many access units wait behind it, and whether a keyframe is among them.
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
public enum UnitAdmission: Hashable, Sendable, BitwiseCopyable {
    case decode
    /// Decode it only if another picture refers to it, which the decoder can tell. Otherwise it is dropped as `overload`.
    case decodeIfReferred
    case drop(DropReason)
}

/// An original whose base is done and whose tiles are about to be begun.
public struct RefinementRequest: Sendable, BitwiseCopyable {
    public var now: MonotonicTime
    public var plan: FramePlan
    /// How long its base upscale took.
    public var base: Nanoseconds

    @inlinable public init(now: MonotonicTime, plan: FramePlan, base: Nanoseconds) {
        self.now = now
        self.plan = plan
        self.base = base
    }
}

/// A planned synthesised frame that is about to be made.
public struct SynthesisRequest: Sendable, BitwiseCopyable {
    public var now: MonotonicTime
    /// The plan of its original.
    public var plan: FramePlan
    public var order: SynthesisOrder

    @inlinable public init(now: MonotonicTime, plan: FramePlan, order: SynthesisOrder) {
        self.now = now
        self.plan = plan
        self.order = order
    }
}

/// A raw frame at the head of the encoder's queue.
public struct EncodeRequest: Sendable, BitwiseCopyable {
    public var now: MonotonicTime
    public var emitBy: MonotonicTime
    public var kind: FrameKind
    /// The deadline of the original that waits for the encoder behind it; nil where none waits.
    public var nextOriginalEmitBy: MonotonicTime?
    /// This frame or that original came earlier than its presentation time asks (``PresentationLine``).
    public var isEarly: Bool

    @inlinable public init(
        now: MonotonicTime, emitBy: MonotonicTime, kind: FrameKind, nextOriginalEmitBy: MonotonicTime? = nil,
        isEarly: Bool = false
    ) {
        self.now = now
        self.emitBy = emitBy
        self.kind = kind
        self.nextOriginalEmitBy = nextOriginalEmitBy
        self.isEarly = isEarly
    }
}
