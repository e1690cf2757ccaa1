import Media

/// The time that a frame's deadline is counted from: the best that the input offers.
public struct Origin: Hashable, Sendable, BitwiseCopyable {
    public enum Kind: UInt8, CaseIterable, Sendable, BitwiseCopyable {
        /// When the sender sent it, on this machine's clock: SRT's source time or RTP's time stamp.
        case source
        /// When its last packet arrived, where the input has no source times.
        case arrival

        public var name: String { self == .source ? "source" : "arrival" }
    }

    public var kind: Kind
    public var time: MonotonicTime

    @inlinable public init(_ kind: Kind, _ time: MonotonicTime) {
        self.kind = kind
        self.time = time
    }
}

/// When frames have to be emitted.
public struct Deadline: Hashable, Sendable, BitwiseCopyable {
    /// How long a plain receiver waits for a packet before it counts it as lost: SRT's latency window, or the reordering wait
    /// of RTP. A frame that is read early is due `budget` after the end of its window. So enhancement adds at most `budget` to
    /// the latency of a plain relay.
    public var recoveryWindow: Nanoseconds
    /// The time that the operator allows for the work.
    public var budget: Nanoseconds

    @inlinable public init(budget: Nanoseconds, recoveryWindow: Nanoseconds = .zero) {
        self.budget = budget
        self.recoveryWindow = recoveryWindow
    }

    /// When a frame of this origin must be emitted at the latest.
    @inlinable public func emitBy(_ origin: Origin) -> MonotonicTime {
        switch origin.kind {
        case .source: origin.time + recoveryWindow + budget
        case .arrival: origin.time + budget
        }
    }
}
