import Media

/// A leg's figures at one moment. Counters are totals over the leg's life, all connections together; gauges belong to
/// the present connection and are zero without one; where there are several, the round trip time and the window are the
/// largest ones, and what is buffered is the sum. The last 20 ms of a connection that broke may be missing.
public struct LegStatistics: Hashable, Sendable, BitwiseCopyable {
    public var connected = false
    /// Connections that have come about, the present one included.
    public var connections: Int64 = 0

    // Gauges.
    public var roundTripTime = Nanoseconds.zero
    /// The recovery window in force.
    public var window = Nanoseconds.zero
    /// Packets in the protocol's buffer: not yet acknowledged (output) or not yet read (input).
    public var packetsBuffered: Int64 = 0
    /// Output: from the oldest packet that is not yet acknowledged to the newest.
    public var timeBuffered = Nanoseconds.zero

    // Counters.
    public var packetsSent: Int64 = 0
    public var packetsReceived: Int64 = 0
    /// Packets found missing, whether or not they came later.
    public var packetsLost: Int64 = 0
    /// Output: packets sent again. Input: packets that came as a repeat.
    public var packetsRetransmitted: Int64 = 0
    /// Packets dropped: too late to send, or never delivered.
    public var packetsDropped: Int64 = 0
    /// Input: datagrams that are not the stream's, such as those of another sender or another kind (RTP). Output: what others than
    /// the receiver sent to RTP's ports.
    public var packetsUnexpected: Int64 = 0
    /// Input: packets of a picture's other sizes, where its sender sends several (simulcast).
    public var packetsOfOtherLayers: Int64 = 0
    /// Calls that came about without the picture that was offered, because its formats are not known here.
    public var picturesRefused: Int64 = 0
    /// RTP: sender reports that came or went, and those that came and were not believed.
    public var reports: Int64 = 0
    public var reportsRejected: Int64 = 0
    /// SRT input: messages read early whose packets left no arrival stamp.
    public var messagesUnstamped: Int64 = 0
    public var bytesSent: Int64 = 0
    public var bytesReceived: Int64 = 0
    /// Listening SRT leg: callers that were refused, and handshakes that were dropped unread because they came too fast. What is
    /// refused before it is known which leg is meant counts on the port's oldest leg.
    public var refusals = RefusalCounts()
    public var handshakesDropped: Int64 = 0
    /// Whether messages can be read early; nil where nobody wants that.
    public var earlyIngest: EarlyIngest?
    /// False where the protocol did not say just now what it has buffered.
    public package(set) var knowsBuffered = true
    /// All packets of the peer that are counted: data, acknowledgements and loss reports.
    package var packetsFromPeer: Int64 = 0

    /// Whether this process sees what libsrt receives, without which nothing can be read early.
    public enum EarlyIngest: String, Hashable, Sendable, BitwiseCopyable {
        /// Assumed. The proof at the start has not ended, or there is no loopback for it.
        case unproven
        case proven
        /// It does not: SRT's own delay holds (``LegEvent/earlyIngestFailed(reason:)``).
        case failed
    }

    public init() {}

    /// Nothing is known.
    package static var unknown: LegStatistics {
        var figures = LegStatistics()
        figures.knowsBuffered = false
        return figures
    }

    /// This leg's totals go on from those of its earlier connections.
    package mutating func addCounters(of earlier: LegStatistics) {
        packetsSent += earlier.packetsSent
        packetsReceived += earlier.packetsReceived
        packetsLost += earlier.packetsLost
        packetsRetransmitted += earlier.packetsRetransmitted
        packetsDropped += earlier.packetsDropped
        packetsUnexpected += earlier.packetsUnexpected
        packetsOfOtherLayers += earlier.packetsOfOtherLayers
        picturesRefused += earlier.picturesRefused
        reports += earlier.reports
        reportsRejected += earlier.reportsRejected
        bytesSent += earlier.bytesSent
        bytesReceived += earlier.bytesReceived
    }
}
