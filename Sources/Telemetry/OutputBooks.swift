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

/// Keeps the books of an output, in this process and in the stream's telemetry map.
///
/// A value that one thread at a time uses.
public struct OutputLedger: Sendable {
    public private(set) var books = OutputBooks()
    private let map: TelemetryMap.Writer?

    /// - Parameter map: where other processes read the same; nil where none do.
    public init(map: TelemetryMap.Writer? = nil) { self.map = map }

    public mutating func countOffered() {
        books.offered += 1
        map?.count(.offered)
    }

    public mutating func countSent() {
        books.sent += 1
        map?.count(.sent)
    }

    public mutating func countDropped() {
        books.dropped += 1
        map?.count(.dropped)
    }

    /// How many units wait for their turn now.
    public mutating func setQueued(_ n: Int) {
        books.queued = UInt64(n)
        map?.setQueued(n)
    }
}
