import Media

/// A leg's figures: counters are totals over its life, gauges belong to the present connection.
public struct LegFigures: Sendable, BitwiseCopyable {
    public var isConnected = false
    public var connections: Int64 = 0
    public var roundTripTime = Nanoseconds.zero
    public var window = Nanoseconds.zero
    public var packetsBuffered: Int64 = 0
    public var packetsSent: Int64 = 0
    public var packetsReceived: Int64 = 0
    public var packetsLost: Int64 = 0
    public var packetsRetransmitted: Int64 = 0
    public var packetsDropped: Int64 = 0
    public var packetsUnexpected: Int64 = 0
    public var packetsOfOtherLayers: Int64 = 0
    public var picturesRefused: Int64 = 0
    public var reports: Int64 = 0
    public var reportsRejected: Int64 = 0
    public var messagesUnstamped: Int64 = 0
    public var bytesSent: Int64 = 0
    public var bytesReceived: Int64 = 0
    /// Callers that a listening SRT leg refused, and handshakes that came too fast and were dropped unread.
    public var refusals = CallerRefusals()
    public var handshakesDropped: Int64 = 0
    /// Whether an SRT input can be read early.
    public var earlyIngest = EarlyIngest.unused

    public enum EarlyIngest: UInt8, Sendable, CaseIterable, BitwiseCopyable {
        /// Nobody wants that.
        case unused
        case unproven, proven, failed

        /// As metrics and reports have it.
        public var name: String { "\(self)" }
    }

    public init() {}

    /// The totals, in the order in which the telemetry map has them.
    static let counters: [any WritableKeyPath<LegFigures, Int64> & Sendable] =
        [
            \.connections, \.packetsSent, \.packetsReceived, \.packetsLost, \.packetsRetransmitted, \.packetsDropped,
            \.packetsUnexpected, \.reports, \.reportsRejected, \.messagesUnstamped, \.bytesSent, \.bytesReceived,
            \.handshakesDropped, \.refusals.busy, \.refusals.unknownStream, \.refusals.wrongMode, \.refusals.malformedStreamID,
            \.refusals.wrongPassphrase, \.refusals.kicked, \.refusals.forbidden, \.refusals.tooManyCalls,
            \.packetsOfOtherLayers, \.picturesRefused,
        ]

    /// These figures, with totals that go on from those of earlier connections.
    func adding(countersOf earlier: LegFigures) -> LegFigures {
        var sum = self
        for field in Self.counters { sum[keyPath: field] &+= earlier[keyPath: field] }
        return sum
    }
}

/// How many callers were refused, by reason.
public struct CallerRefusals: Sendable, Hashable, BitwiseCopyable {
    public var busy: Int64 = 0
    public var unknownStream: Int64 = 0
    public var wrongMode: Int64 = 0
    public var malformedStreamID: Int64 = 0
    public var wrongPassphrase: Int64 = 0
    public var kicked: Int64 = 0
    public var forbidden: Int64 = 0
    public var tooManyCalls: Int64 = 0

    public init() {}

    /// Each reason as the API has it, and as metrics have it.
    public static let all: [(name: String, label: String, count: any WritableKeyPath<CallerRefusals, Int64> & Sendable)] = [
        ("busy", "busy", \.busy), ("unknownStream", "unknown_stream", \.unknownStream),
        ("wrongMode", "wrong_mode", \.wrongMode),
        ("malformedStreamID", "malformed_stream_id", \.malformedStreamID),
        ("wrongPassphrase", "wrong_passphrase", \.wrongPassphrase), ("kicked", "kicked", \.kicked),
        ("forbidden", "forbidden", \.forbidden), ("tooManyCalls", "too_many_calls", \.tooManyCalls),
    ]

    public var total: Int64 { Self.all.reduce(0) { $0 &+ self[keyPath: $1.count] } }
}

/// What one output of a stream has done, and what it does.
public struct OutputFigures: Sendable {
    public enum State: UInt8, Sendable, CaseIterable {
        /// Nobody receives it now.
        case waiting
        case connected
        /// A file or pipe that cannot be written any more.
        case broken

        public var name: String { "\(self)" }
    }

    public var state = State.waiting
    /// How many receive it now.
    public var receivers: Int64 = 0
    public var books = OutputBooks()
    public var leg = LegFigures()

    public init() {}
}
