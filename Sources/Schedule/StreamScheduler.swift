import Media

/// Where the frames of one stream are, at the moment at which a stage asks what to do.
///
/// The relay fills it in from its queues, the simulator from its model of them.
public struct PipelineState: Sendable, BitwiseCopyable {
    /// Access units that wait for the decoder, and whether a keyframe is among them.
    public var codedWaiting = 0
    public var keyframeWaiting = false
    /// Whether the decoder has another original in it than the one that is asked about.
    public var decodesAnother = false
    /// Decoded pictures that wait for their plan.
    public var picturesWaiting = 0
    /// Originals that have arrived since the stream began, and when the newest of them must be emitted. Both describe the
    /// same moment.
    public var arrived: Int?
    public var newestEmitBy: MonotonicTime?
    /// Enhanced frames that wait for the encoder.
    public var encoderQueue = 0
    /// Since when the encoder has been at work; nil while it is idle.
    public var encoderBusySince: MonotonicTime?

    @inlinable public init() {}

    /// Originals behind the one that is asked about, coded and decoded.
    @inlinable public var originalsBehind: Int { codedWaiting + picturesWaiting + (decodesAnother ? 1 : 0) }
}

/// The one place that asks a policy about the frames of a stream.
///
/// The relay, the simulator and the benchmark all ask through it, so what is simulated is what runs. It turns what a
/// pipeline knows of itself (``PipelineState``) into the policy's requests.
///
/// A pure value: it holds no clock, and no call allocates.
public struct StreamScheduler<P: Policy>: Sendable {
    public var policy: P
    public let order: SynthesisOrder

    @inlinable public init(_ policy: P, order: SynthesisOrder) {
        self.policy = policy
        self.order = order
    }

    // MARK: Questions

    /// Whether an access unit goes to the decoder.
    /// - Parameter state: its coded units are those behind this one.
    @inlinable public mutating func admit(
        at now: MonotonicTime, emitBy: MonotonicTime, isKeyframe: Bool, _ state: PipelineState
    ) -> Admission {
        policy.admit(
            UnitRequest(
                now: now, emitBy: emitBy, isKeyframe: isKeyframe, waiting: state.codedWaiting,
                keyframeWaiting: state.keyframeWaiting))
    }

    /// What to do with a decoded original.
    /// - Parameters:
    ///   - synthesised: frames that the cadence asks for with it.
    ///   - tiles: those that are worth computing.
    @inlinable public mutating func plan(
        at now: MonotonicTime, emitBy: MonotonicTime, synthesised: Int, tiles: Int, _ state: PipelineState
    ) -> FramePlan {
        policy.plan(
            FrameRequest(
                now: now, emitBy: emitBy, synthesised: synthesised, order: order, tiles: tiles,
                waiting: state.originalsBehind, newestEmitBy: state.newestEmitBy, arrived: state.arrived,
                encoderQueue: state.encoderQueue, encoderBusySince: state.encoderBusySince))
    }

    /// Until when tiles may be computed, now that it is known what the base upscale took.
    @inlinable public func refine(_ plan: FramePlan, base: Nanoseconds, at now: MonotonicTime) -> MonotonicTime {
        policy.refine(RefinementRequest(now: now, plan: plan, base: base))
    }

    /// Whether there still is time to make the next synthesised frame of a plan.
    @inlinable public func synthesise(_ plan: FramePlan, at now: MonotonicTime) -> Bool {
        policy.synthesise(SynthesisRequest(now: now, plan: plan, order: order))
    }

    /// Whether a frame whose turn at the encoder has come is still worth encoding.
    /// - Parameter behind: when the first frame in the encoder's queue must be emitted that
    ///   ``SynthesisOrder/standsForOriginal(_:)``; nil where there is none.
    /// - Returns: why to drop the frame; nil to encode it.
    @inlinable public mutating func encode(
        _ kind: FrameKind, at now: MonotonicTime, emitBy: MonotonicTime, behind: MonotonicTime?
    ) -> DropReason? {
        // An interpolated frame's own original follows it and is due with it.
        let next = kind == .synthesised && order == .beforeOriginal ? emitBy : behind
        return policy.encode(EncodeRequest(now: now, emitBy: emitBy, kind: kind, nextOriginalEmitBy: next))
    }

    // MARK: Reports

    /// Reports what a piece of work took.
    @inlinable public mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int = 1) {
        policy.observe(work, cost, units: units)
    }

    /// Reports what a frame's base upscale and its tiles took.
    /// - Parameter tiles: how many were computed; none leaves `tileTime` unread.
    @inlinable public mutating func observe(base: Nanoseconds, tiles: Int, of tier: Tier, tileTime: Nanoseconds) {
        policy.observe(.base, base, units: 1)
        if tiles > 0 { policy.observe(.tile(tier), tileTime, units: tiles) }
    }

    /// Reports that an original was emitted, and how long before its deadline (negative: after it).
    @inlinable public mutating func emitted(slack: Nanoseconds) { policy.emitted(slack: slack) }

    /// Reports how much of the machine the stream may use.
    @inlinable public mutating func use(_ cores: Cores) { policy.use(cores) }

    /// What the stream needs of the machine; nil where the policy does not know.
    @inlinable public var demand: Capacity.Demand? { policy.knownDemand }
}

extension StreamScheduler where P == Planner {
    /// Adapts to pictures of another size and keeps what was learnt of the machine. Where there is other work to choose
    /// from, the planner begins anew.
    public mutating func reconfigure(_ configuration: Planner.Configuration) {
        if policy.configuration.differsInSizeOnly(from: configuration) {
            policy.resize(input: configuration.input, output: configuration.output)
        } else {
            policy = Planner(configuration)
        }
    }

    /// How long encoding one frame takes when it takes long.
    public var longEncode: Nanoseconds { Nanoseconds(Int64(policy.costs[.encode].high)) }

    /// How long a frame at the encoder needs to be out, as likely as not and with some certainty.
    public func timeToEmit(_ kind: FrameKind) -> (likely: Nanoseconds, safe: Nanoseconds) {
        policy.timeToEmit(isBeforeOriginal: kind == .synthesised && order == .beforeOriginal)
    }
}

extension SynthesisOrder {
    /// Whether a frame in the encoder's queue is an original or announces one. An interpolated frame's original follows it
    /// and has its deadline. An extrapolated frame's original has left already.
    @inlinable public func standsForOriginal(_ kind: FrameKind) -> Bool { self == .beforeOriginal || kind == .original }
}
