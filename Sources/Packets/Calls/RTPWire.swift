import Media

/// What carries the packets of a session that receives: sockets, or a WebRTC transport that encrypts. It gives and takes plain
/// RTP and RTCP.
///
/// ``read(into:)``, ``wait(until:)`` and ``confirm()`` belong to one thread; everything else may be called from any.
public protocol RTPWire: AnyObject, Sendable {
    /// Reads the next datagram that has come; never waits. Nil when there is none.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> RTPReading?
    /// Waits until something may have come.
    /// - Returns: false when ``interrupt()`` was called.
    func wait(until limit: MonotonicTime) -> Bool
    /// What was read last is the stream's: feedback goes to where it came from.
    func confirm()
    /// Sends an RTCP datagram to the sender of a track. Never waits.
    func sendFeedback(_ packet: UnsafeRawBufferPointer, track: Int)
    /// Ends a present or the next wait.
    func interrupt()
    /// The call that the packets belong to. Another number than before: the one before is over, and another one may be there.
    var call: RTPCall { get }
    /// The number of ``call``; costs an atomic load at most. Asked for each packet.
    var callNumber: Int { get }
    /// Who sends, for people; empty before anybody.
    var peer: String { get }
    /// Where it listens; nil where something else receives for it.
    var place: ListeningPlace? { get }
    /// Whether datagrams are read in the order in which they have come. Those of several sockets are not.
    var keepsOrder: Bool { get }
    /// Whether its packets are the sender's for sure (``RTPReceiveSession/Configuration/isAuthentic``).
    var isAuthentic: Bool { get }
    /// Calls that came about without the picture that was offered (``LegFigures/picturesRefused``).
    var picturesRefused: Int64 { get }
    /// Packets that came and found no room.
    var packetsDropped: Int64 { get }
}

extension RTPWire {
    public var picturesRefused: Int64 { 0 }
    public var packetsDropped: Int64 { 0 }
}

/// A call as an ``RTPWire`` knows it.
public struct RTPCall: Hashable, Sendable {
    /// Counts the calls of a wire.
    public var number: Int
    /// What the sender sends; empty while there is none.
    public var tracks: [RTPTrack]
    /// Why the call before is over.
    public var endReason: String

    public init(number: Int, tracks: [RTPTrack], endReason: String = "") {
        self.number = number
        self.tracks = tracks
        self.endReason = endReason
    }
}

/// A datagram that an ``RTPWire`` has read.
public struct RTPReading: Hashable, Sendable, BitwiseCopyable {
    public var byteCount: Int
    public var arrival: MonotonicTime
    /// The track whose socket it came from; nil where all share one.
    public var track: Int?
    /// It came from the address that the track's packets were confirmed to come from.
    public var isFromPeer: Bool

    public init(byteCount: Int, arrival: MonotonicTime, track: Int? = nil, isFromPeer: Bool = false) {
        self.byteCount = byteCount
        self.arrival = arrival
        self.track = track
        self.isFromPeer = isFromPeer
    }
}

/// What carries the packets of a session that sends. Thread-safe; never waits.
public protocol RTPSendWire: AnyObject, Sendable {
    /// - Parameters:
    ///   - isControl: it is RTCP.
    ///   - track: whose packet it is.
    func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent
}
