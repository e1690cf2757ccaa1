/// One present connection of a stream's leg, for the list of callers.
public struct Caller: Codable, Hashable, Sendable {
    public enum Leg: String, Codable, Hashable, Sendable, CaseIterable { case input, output }

    /// The most that are listed for one stream, so that the list is one message.
    public static let most = 64

    /// Names the connection in ``SupervisorMessage/kick(stream:caller:seconds:)``.
    public var id: UInt64
    public var leg: Leg
    /// Address and port.
    public var peer: String
    /// What the caller asked for; empty when it named nothing.
    public var streamID: String
    /// When it connected, in nanoseconds of the monotonic clock, which all processes of the machine share.
    public var connectedAt: Int64
    /// Times in nanoseconds.
    public var roundTripTime: Int64 = 0
    public var window: Int64 = 0
    /// Totals since it connected.
    public var packetsSent: Int64 = 0
    public var packetsReceived: Int64 = 0
    public var packetsLost: Int64 = 0
    public var packetsRetransmitted: Int64 = 0
    public var packetsDropped: Int64 = 0
    public var bytesSent: Int64 = 0
    public var bytesReceived: Int64 = 0

    public init(id: UInt64, leg: Leg, peer: String, streamID: String, connectedAt: Int64) {
        self.id = id
        self.leg = leg
        self.peer = peer
        self.streamID = streamID
        self.connectedAt = connectedAt
    }
}
