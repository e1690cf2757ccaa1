import Media

/// Where the frames of one stream are when a stage asks what to do.
///
/// The relay fills it in from its queues, the simulator from its model of them.
public struct PipelineState: Sendable, BitwiseCopyable {
    /// How many access units wait for the decoder, and whether a keyframe is among them.
    public var codedWaiting = 0
    public var keyframeWaiting = false
    /// Whether the decoder holds an original other than the one that the stage asks about.
    public var decodesAnother = false
    /// How many decoded pictures wait for their plan.
    public var picturesWaiting = 0
    /// How many originals have arrived since the stream began, the deadline of the newest, and the budget in it. All describe
    /// the same moment.
    public var arrived: Int?
    public var newestEmitBy: MonotonicTime?
    public var budget = Nanoseconds.zero
    /// Whether it came earlier than its presentation time asks.
    public var newestIsEarly = false
    /// The steps on the stream's pictures that have costs of their own.
    public var steps = StepSet()
    /// How many enhanced frames wait for the encoder.
    public var encoderQueue = 0
    /// When the encoder began the frame that it encodes now; nil while it is idle.
    public var encoderBusySince: MonotonicTime?

    @inlinable public init() {}

    /// How many originals are behind the one that the stage asks about, coded and decoded.
    @inlinable public var originalsBehind: Int { codedWaiting + picturesWaiting + (decodesAnother ? 1 : 0) }
}

/// The one place that asks a policy about the frames of a stream.
///
/// The relay, the simulator and the benchmark all ask through it, so what is simulated is what runs. It turns the state of a
/// pipeline (``PipelineState``) into the policy's requests.
///
/// A pure value: it holds no clock, and no call allocates.
public struct StreamScheduler<P: Policy>: Sendable {
    @usableFromInline var asked: P
    public let order: SynthesisOrder

    @inlinable public init(_ policy: P, order: SynthesisOrder) {
        asked = policy
        self.order = order
    }

    @inlinable public var policy: P { asked }

    // MARK: Questions

    /// Whether an access unit goes to the decoder.
    /// - Parameter state: counts the coded units behind this one.
    @inlinable public mutating func admit(
        at now: MonotonicTime, emitBy: MonotonicTime, isKeyframe: Bool, _ state: PipelineState
    ) -> UnitAdmission {
        asked.admit(
            UnitRequest(
                now: now, emitBy: emitBy, isKeyframe: isKeyframe, waiting: state.codedWaiting,
                keyframeWaiting: state.keyframeWaiting))
    }

    /// What to do with a decoded original.
    /// - Parameters:
    ///   - synthesised: how many frames the cadence requests with it.
    ///   - tiles: how many tiles are worth computing.
    @inlinable public mutating func plan(
        at now: MonotonicTime, emitBy: MonotonicTime, synthesised: Int, tiles: Int, _ state: PipelineState
    ) -> FramePlan {
        asked.plan(
            FrameRequest(
                now: now, emitBy: emitBy, synthesised: synthesised, order: order, tiles: tiles, steps: state.steps,
                waiting: state.originalsBehind, newestEmitBy: state.newestEmitBy, budget: state.budget, arrived: state.arrived,
                newestIsEarly: state.newestIsEarly, encoderQueue: state.encoderQueue, encoderBusySince: state.encoderBusySince))
    }

    /// When work on tiles must end, now that the base upscale is done.
    /// - Parameter base: how long the base upscale took.
    @inlinable public func refine(_ plan: FramePlan, base: Nanoseconds, at now: MonotonicTime) -> MonotonicTime {
        asked.refine(RefinementRequest(now: now, plan: plan, base: base))
    }

    /// Whether there still is time to make the next synthesised frame of a plan.
    @inlinable public func synthesise(_ plan: FramePlan, at now: MonotonicTime) -> Bool {
        asked.synthesise(SynthesisRequest(now: now, plan: plan, order: order))
    }

    /// Whether to encode the frame at the head of the encoder's queue.
    /// - Parameters:
    ///   - behind: the deadline of the first frame behind it for which ``SynthesisOrder/standsForOriginal(_:)`` is true; nil
    ///     where there is none.
    ///   - isEarly: whether the frame, or that one behind it, came earlier than its presentation time asks.
    /// - Returns: why to drop the frame; nil to encode it.
    @inlinable public mutating func encode(
        _ kind: FrameKind, at now: MonotonicTime, emitBy: MonotonicTime, behind: MonotonicTime?, isEarly: Bool = false
    ) -> DropReason? {
        // An interpolated frame's own original follows it and is due with it.
        let next = kind == .synthesised && order == .beforeOriginal ? emitBy : behind
        return asked.encode(EncodeRequest(now: now, emitBy: emitBy, kind: kind, nextOriginalEmitBy: next, isEarly: isEarly))
    }

    // MARK: Reports

    /// Reports how long a piece of work took.
    @inlinable public mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int = 1) {
        asked.observe(work, cost, units: units)
    }

    /// Reports how long a synthesised frame took, and what all threads together had of processors meanwhile.
    @inlinable public mutating func observe(synthesis cost: Nanoseconds, working: Nanoseconds) {
        asked.observe(synthesis: cost, working: working)
    }

    /// Reports how long the encoding of a picture took.
    @inlinable public mutating func observe(encoding kind: EncodeKind, _ cost: Nanoseconds) {
        asked.observe(encoding: kind, cost)
    }

    /// Reports how long a frame's base upscale and its tiles took.
    /// - Parameter tiles: how many were computed. `tileTime` is ignored when it is 0.
    @inlinable public mutating func observe(base: Nanoseconds, tiles: Int, of tier: Tier, tileTime: Nanoseconds) {
        asked.observe(.base, base, units: 1)
        if tiles > 0 { asked.observe(.tile(tier), tileTime, units: tiles) }
    }

    /// Reports that an original was emitted.
    /// - Parameter slack: how long before its deadline; negative after it.
    @inlinable public mutating func emitted(slack: Nanoseconds) { asked.emitted(slack: slack) }

    /// Sets how many cores the stream may use.
    @inlinable public mutating func use(_ cores: Cores) { asked.use(cores) }

    /// The cores that the stream needs; nil where the policy does not know.
    @inlinable public var demand: Capacity.Demand? { asked.knownDemand }
}

extension StreamScheduler where P == Planner {
    /// Adapts to pictures of another size and keeps the estimates. When more than the size changes, it starts a new planner.
    public mutating func reconfigure(_ configuration: Planner.Configuration) {
        if asked.configuration.differsInSizeOnly(from: configuration) {
            asked.resize(input: configuration.input, output: configuration.output)
        } else {
            asked = Planner(configuration)
        }
    }

    /// Takes over settings that have changed; see ``Planner/change(ceiling:synthesises:caution:)``.
    public mutating func change(ceiling: Tier, synthesises: Bool, caution: Double) {
        asked.change(ceiling: ceiling, synthesises: synthesises, caution: caution)
    }

    /// Reports what the process has had of processors since it began; see ``Planner/observe(processorTime:)``.
    public mutating func observe(processorTime time: Nanoseconds) { asked.observe(processorTime: time) }

    /// No frame is planned for a while; see ``Planner/rest()``.
    public mutating func rest() { asked.rest() }

    /// A high estimate (``Cost/high``) of the time to encode one frame.
    public var longEncode: Nanoseconds { Nanoseconds(Int64(asked.costs[.encode].high)) }

    /// How long a frame at the encoder needs until it is emitted: the expected time, and the time with a reserve.
    public func timeToEmit(_ kind: FrameKind) -> (likely: Nanoseconds, safe: Nanoseconds) {
        asked.timeToEmit(isBeforeOriginal: kind == .synthesised && order == .beforeOriginal)
    }
}

extension SynthesisOrder {
    /// Whether a frame in the encoder's queue has the deadline of an original that has not left yet: an original, or an
    /// interpolated frame, whose original follows it. The original of an extrapolated frame has left already.
    @inlinable public func standsForOriginal(_ kind: FrameKind) -> Bool { self == .beforeOriginal || kind == .original }
}
