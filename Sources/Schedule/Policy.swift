import Media

/// Decides what to do with each frame, from the numbers that it is given. The relay uses ``Planner``. The simulator accepts
/// any policy, to compare them, and the tests give it broken ones.
public protocol Policy: Sendable {
    /// Updates the estimates with an observed cost: the wall-clock time of all units together.
    mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int)
    /// Updates the estimates with what a synthesised frame took.
    /// - Parameter working: what all threads together had of processors.
    mutating func observe(synthesis cost: Nanoseconds, working: Nanoseconds)
    /// Updates the estimates with what encoding one picture took.
    mutating func observe(encoding kind: EncodeKind, _ cost: Nanoseconds)
    /// Sets how many cores the stream may use (``CoreShare``).
    mutating func use(_ cores: Cores)
    /// Whether an access unit goes to the decoder.
    mutating func admit(_ unit: UnitRequest) -> UnitAdmission
    /// What to do with a decoded original.
    mutating func plan(_ frame: FrameRequest) -> FramePlan
    /// When work on the planned tiles must end, now that the base upscale is done.
    func refine(_ frame: RefinementRequest) -> MonotonicTime
    /// Whether there still is time to make the next planned synthesised frame.
    func synthesise(_ frame: SynthesisRequest) -> Bool
    /// Whether to encode the frame at the head of the encoder's queue.
    /// - Returns: why to drop it; nil to encode it.
    mutating func encode(_ frame: EncodeRequest) -> DropReason?
    /// Reports that an original was emitted.
    /// - Parameter slack: how long before its deadline; negative after it.
    mutating func emitted(slack: Nanoseconds)
    /// The cores that the stream needs; nil where the policy does not know.
    var knownDemand: Capacity.Demand? { get }
}

extension Policy {
    public mutating func observe(synthesis cost: Nanoseconds, working: Nanoseconds) { observe(.synthesise, cost, units: 1) }

    /// What a repeated frame costs says nothing of the others.
    public mutating func observe(encoding kind: EncodeKind, _ cost: Nanoseconds) {
        if kind != .repeated { observe(.encode, cost, units: 1) }
    }

    public var knownDemand: Capacity.Demand? { nil }
}
