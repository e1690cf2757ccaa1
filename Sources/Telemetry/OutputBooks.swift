/// The books of one output over its coded units of video: `offered = sent + dropped + queued`.
///
/// Every term is counted where its event happens, so a difference is a defect that shows.
public struct OutputBooks: Sendable, Equatable {
    /// Units that the encoder delivered.
    public var offered: UInt64 = 0
    /// Units that went out whole.
    public var sent: UInt64 = 0
    /// Units of which the output refused a part or all: it is full, or nobody is there.
    public var dropped: UInt64 = 0
    /// Units that wait for their turn.
    public var queued: UInt64 = 0

    public init() {}

    public var balance: Bool { offered == sent + dropped + queued }
}
