import Media

/// One present connection of a stream's end, for the list of callers: an SRT peer, a publisher or a viewer of a call.
public struct Caller: Codable, Hashable, Sendable {
    public enum Leg: String, Codable, Hashable, Sendable, CaseIterable { case input, output }

    public enum Transport: String, Codable, Hashable, Sendable, CaseIterable { case srt, whip, whep }

    /// The most in one message, and the most that are listed for one stream.
    public static let most = 48
    public static let mostOfStream = 576
    /// The most characters of a stream ID that are listed.
    public static let longestStreamID = 128
    /// A call has this and its number in ``SupervisorMessage/offer(id:stream:side:description:)`` as its ``id``.
    public static let firstCall: UInt64 = 1 << 48

    /// Names the connection in ``SupervisorMessage/kick(stream:caller:seconds:)``; a call is ended by its number.
    public var id: UInt64
    public var leg: Leg
    public var transport: Transport
    /// Address and port.
    public var peer: String
    /// What an SRT caller asked for; empty when it named nothing.
    public var streamID: String
    /// When it connected, in nanoseconds of the monotonic clock, which all processes of the machine share.
    public var connectedAt: Int64
    /// Totals count from when it connected.
    public var figures = LegFigures()
    /// Bits a second, and the share of packets that were lost (0…1), over the last seconds; nil while that is not known.
    public var bitRate: Double?
    public var loss: Double?
    /// What a viewer of a call gets; nil for others.
    public var layer: ViewerLayer?
    /// How many bits a second a viewer's link carries, as far as is known.
    public var capacity: Double?

    public init(
        id: UInt64, leg: Leg, transport: Transport = .srt, peer: String, streamID: String, connectedAt: Int64
    ) {
        self.id = id
        self.leg = leg
        self.transport = transport
        self.peer = peer
        self.streamID = streamID
        self.connectedAt = connectedAt
    }
}
