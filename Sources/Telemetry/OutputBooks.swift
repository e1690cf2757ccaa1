/// The books of one output over its coded units of video: `offered = sent + dropped + queued`.
///
/// Every term is counted where its event happens. So a difference shows a defect.
public struct OutputBooks: Sendable, Equatable {
    /// Units that the encoder delivered.
    public var offered: UInt64 = 0
    /// Units that were sent whole.
    public var sent: UInt64 = 0
    /// Units of which the output refused a part or all, because it is full or not connected. Also units that were not sent
    /// because their receiver waits for a keyframe.
    public var dropped: UInt64 = 0
    /// Units that wait for their turn.
    public var queued: UInt64 = 0

    public init() {}

    public var balance: Bool { offered == sent + dropped + queued }
}
