import Endpoint
import Media

/// One message of a stream as it came: at most ``Message/largest`` bytes.
public struct Message: Hashable, Sendable, BitwiseCopyable {
    /// The most bytes that a message may have: what fits one Ethernet frame through SRT.
    public static let largest = 1456

    public var byteCount: Int
    /// When its packet arrived, as exactly as the endpoint knows.
    public var arrival: MonotonicTime
    /// When its sender says it was made, fitted to our clock; nil where the protocol does not say.
    public var sourceTime: MonotonicTime?
    /// Counts the sender's packets, mostly one a message. A step of more than one is a loss, or a message of several packets.
    /// Starts anew with every connection.
    public var sequence: Int64
    /// Of a call: what its RTP packet says. The message is its payload then.
    public var packet: RTPArrival?

    package init(byteCount: Int, arrival: MonotonicTime, sourceTime: MonotonicTime?, sequence: Int64) {
        self.byteCount = byteCount
        self.arrival = arrival
        self.sourceTime = sourceTime
        self.sequence = sequence
    }
}

/// What ``Source/receive(into:until:)`` returns.
public enum Received: Hashable, Sendable {
    /// The buffer's first `byteCount` bytes are a message.
    case message(Message)
    /// The time limit came, or another thread called ``Source/interrupt()``.
    case idle
    case event(LegEvent)
    /// A file or pipe is at its end: nothing will ever come again.
    case end
    /// A file or pipe cannot be read on, and will not be: what came before may not be all.
    case failed(TransportError)
}

/// What ``Sink/send(_:sourceTime:)`` did.
public enum Sent: Hashable, Sendable, BitwiseCopyable {
    case sent
    /// The protocol's buffer is full: the message was not accepted.
    case wouldBlock
    /// Nobody is there: the message was not accepted.
    case notConnected
}

/// Something that happened to a leg, apart from messages. Descriptions are one line and hold no secret.
public enum LegEvent: Hashable, Sendable {
    /// A listener is open there.
    case listening(ListeningPlace)
    case connected(Connection)
    /// The peer has gone. The leg goes on by itself: a listener listens, a caller calls again. A file or pipe that cannot
    /// be written any more does not (``Sink/isBroken``).
    case disconnected(reason: String)
    /// A connection did not come about. A caller tries again by itself.
    case refused(reason: String)
    /// So many of the sender's messages in a row will never come, or have come and were too large.
    case gap(messages: Int64)
    /// The sender began its count of time anew, or the fit to its clock was lost: source times jump here.
    case clockReset
    /// How messages of the next SRT connection will be read. Its endpoint leaves the choice to us (`ingest=auto`), and the
    /// present connection has shown that the other way is fitter. Reported once in a connection.
    case nextIngest(SRTEndpoint.Ingest)
    /// Messages of SRT cannot be read early in this process: no further connection is (``LegFigures/earlyIngest``).
    /// Reported once.
    case earlyIngestFailed(reason: String)
    /// No reports tell how a call's sound and pictures belong together: they are aligned by their arrival. Reported once in a
    /// connection.
    case alignedByArrival
    /// The sender reports of a call contradict by so much when the packets of a track come. They do not count: the track is aligned by
    /// its arrival. Reported once for a source.
    case reportsContradict(track: String, milliseconds: Int)
    /// A call's sender was asked for a keyframe for seconds, and none has come. Reported once for a source.
    case keyframeWithheld
    /// A call's receiver has lost so much for some seconds that it gets keyframes only, so that the others' pictures do not suffer.
    case fellBehind(peer: String)
    /// It gets all frames again.
    case followsAgain(peer: String)
    /// A call's viewer is to get this layer from the next keyframe on, by what their link carries (bits a second) or as they asked.
    case viewerLayer(peer: String, ViewerLayer, bitRate: UInt64?)
    /// Of so many sizes in which a call's sender sends their picture, this one is relayed from here on.
    case receivesLayer(PictureSize, of: Int)
    /// A stream of a session description that is not used, or packets of a call that cannot be.
    case leftOut(String)
}

/// Where a leg waits for others. Its description is `srt://127.0.0.1:9000`.
public struct ListeningPlace: Hashable, Sendable, CustomStringConvertible {
    /// `srt`, `rtp` or `udp`.
    public var scheme: String
    /// An address of this machine, without brackets; `0.0.0.0` or `::` for all.
    public var host: String
    /// The port that is really bound.
    public var port: UInt16

    public init(scheme: String, host: String, port: UInt16) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    package init(_ scheme: String, _ address: SocketAddress) {
        self.init(scheme: scheme, host: address.host, port: address.port)
    }

    public var description: String { "\(scheme)://\(bracketed(host)):\(port)" }
}

/// A connection that has come about.
public struct Connection: Hashable, Sendable {
    /// The other end's address and port.
    public var peer: String
    /// The stream that a caller asked its listener for; empty when it named none.
    public var streamID: String
    /// The recovery window that holds on this leg.
    public var window: Nanoseconds
    /// How messages are read; nil on an output.
    public var ingest: SRTEndpoint.Ingest?

    public init(
        peer: String, streamID: String = "", window: Nanoseconds = .zero, ingest: SRTEndpoint.Ingest? = nil
    ) {
        self.peer = peer
        self.streamID = streamID
        self.window = window
        self.ingest = ingest
    }
}

extension LegEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .listening(let place): "listening on \(place)"
        case .connected(let connection): "connected to \(connection.peer)"
        case .disconnected(let reason): "disconnected: \(reason)"
        case .refused(let reason): "no connection: \(reason)"
        case .gap(let messages): "\(messages) messages lost"
        case .clockReset: "the sender's clock started anew, or jumped: its times are followed anew"
        case .nextIngest(.tsbpd):
            "too much comes after its window: from the next connection on, unless a minute is quiet before, SRT's own delay"
                + " (ingest=tsbpd)"
        case .nextIngest: "the last minute was quiet: from the next connection on, messages are read early again"
        case .earlyIngestFailed(let reason):
            "SRT cannot be read early here: \(reason); from the next connection on, SRT's own delay (ingest=tsbpd)"
        case .alignedByArrival:
            "no sender reports: sound and pictures are aligned by when they arrive; have the sender send RTCP"
        case .reportsContradict(let track, let milliseconds):
            "sender reports put its \(track) \(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s from where its packets come:"
                + " it is aligned by its arrival; have the sender's RTCP reports repaired"
        case .keyframeWithheld:
            "no keyframe for 5 s, although the sender was asked: it may not get the requests; have it begin to send anew now"
        case .fellBehind(let peer):
            "viewer \(peer) cannot follow: their link loses too much, so they get keyframes only and are tried again later"
        case .followsAgain(let peer): "viewer \(peer) can follow again and gets all frames"
        case .viewerLayer(let peer, let layer, let bitRate):
            "viewer \(peer) gets \(Self.name(of: layer))"
                + (bitRate.map { ": their link carries \($0 / 1000) kb/s" } ?? "")
        case .receivesLayer(let size, let count):
            "the sender sends \(count == 1 ? "one size" : "\(count) sizes") of its picture (simulcast); \(size) is relayed"
        case .leftOut(let stream): "left out: \(stream)"
        }
    }

    private static func name(of layer: ViewerLayer) -> String {
        switch layer {
        case .enhanced: "the enhanced pictures"
        case .sent: "the publisher's own pictures"
        case .small: "the smaller encode"
        case .sound: "sound alone"
        }
    }
}
