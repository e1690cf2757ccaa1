import Media

/// What a frame's deadline is counted from, the best that the input offers.
public struct Origin: Hashable, Sendable, BitwiseCopyable {
    public enum Kind: UInt8, CaseIterable, Sendable, BitwiseCopyable {
        /// When the sender says it was sent, on this machine's clock: SRT's source time, RTP's time stamp.
        case source
        /// When its last packet arrived, where there is nothing better.
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
    /// How long the network may keep a packet before a plain receiver would give it up: SRT's window, or how long RTP's
    /// packets are waited for. A frame read early is due `budget` after the end of its window, so enhancing it adds no more
    /// than that to a plain relay's latency.
    public var recoveryWindow: Nanoseconds
    /// What the operator allows for the work.
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
