import Media
import Schedule

/// What a stream's telemetry map says at one moment.
public struct StreamSnapshot: Sendable {
    public var books = Books()
    public var output = OutputBooks()
    public var latency = Latency()
    public var counters: [StreamCounters.Counter: UInt64] = [:]
    public var gauges = StreamGauges()
    public var inputLeg = LegFigures()
    public var outputLeg = LegFigures()

    public init() {}
}

/// Figures of a stream that go up and down.
public struct StreamGauges: Sendable, BitwiseCopyable {
    /// The rung of the last frame; nil before the first.
    public var rung: UInt8?
    /// What the stream needs of the machine, in cores; zero before the first picture.
    public var coresLeast = 0.0
    public var coresSynthesising = 0.0
    /// Frames a second that went out in the last second.
    public var rate = 0.0
    public var inputSize = PictureSize(width: 0, height: 0)
    public var outputSize = PictureSize(width: 0, height: 0)
    /// When the map was last written by the observer.
    public var writtenAt = MonotonicTime(nanoseconds: 0)

    public init() {}
}

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
    public var reports: Int64 = 0
    public var reportsRejected: Int64 = 0
    public var messagesUnstamped: Int64 = 0
    public var bytesSent: Int64 = 0
    public var bytesReceived: Int64 = 0

    public init() {}
}

/// A frame's record and what became of it.
public struct ClosedFrame: Sendable {
    public var record: FrameRecord
    public var fate: FrameFate

    public init(record: FrameRecord, fate: FrameFate) {
        self.record = record
        self.fate = fate
    }
}
