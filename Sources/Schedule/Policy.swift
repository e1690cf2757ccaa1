import Media

/// Something that decides, from numbers it is given, what becomes of frames. ``Planner`` is the one that Burnish uses;
/// the simulator takes any, to compare them, and the tests hand it broken ones.
public protocol Policy: Sendable {
    /// Takes in what a piece of work did cost.
    mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int)
    /// Takes in how much of the machine the stream may use (``CoreShare``).
    mutating func use(_ cores: Cores)
    /// Whether an access unit goes to the decoder.
    mutating func admit(_ unit: UnitRequest) -> Admission
    /// What to do with a decoded original.
    mutating func plan(_ frame: FrameRequest) -> FramePlan
    /// Until when the tiles that were planned may be worked on, as far as is known by then.
    func refine(_ frame: RefinementRequest) -> MonotonicTime
    /// Whether there still is time to make the next of the synthesised frames that were planned.
    func synthesise(_ frame: SynthesisRequest) -> Bool
    /// Whether a frame whose turn has come is still worth encoding: nil, or the reason why it is dropped.
    mutating func encode(_ frame: EncodeRequest) -> DropReason?
    /// An original was emitted so long before its deadline; negative: so late.
    mutating func emitted(slack: Nanoseconds)
    /// What the stream needs of the machine; nil where the policy does not know.
    var knownDemand: Capacity.Demand? { get }
}

extension Policy {
    public var knownDemand: Capacity.Demand? { nil }
}
