import Endpoint
import Settings

/// A room: a call of several people by a link. Each guest who sends is a stream, and the others watch it.
public struct RoomDefinition: Hashable, Sendable {
    /// As of a stream (``StreamDefinition/isName(_:)``), with at most ``longestName`` bytes.
    public var name: String
    /// What links are signed with.
    public var key: Secret
    /// How many people it holds, 1 to ``mostGuests``.
    public var guests = 8
    /// The UDP port of the first seat. Each other seat has the next; 0 is any free port for each.
    public var port: UInt16 = 0
    /// The TCP port of the first seat, for networks without UDP. Each other seat has the next; 0 is any free port for each, nil none.
    public var tcp: UInt16?
    /// Where peers send to, behind NAT.
    public var addresses: [String] = []
    /// Of all its streams.
    public var values: StreamValues

    public static let mostGuests = 64
    public static let longestName = 48
    public static let mostAddresses = 4

    public init(name: String, key: Secret, values: StreamValues = StreamValues()) {
        self.name = name
        self.key = key
        self.values = values
    }

    /// The name of a seat's stream.
    /// - Parameter seat: from 1 to ``guests``.
    public func stream(_ seat: Int) -> String { "\(name).\(seat)" }

    /// What the stream of a seat is.
    /// - Parameter seat: from 1 to ``guests``.
    public func definition(_ seat: Int) throws(TransportError) -> StreamDefinition {
        var keys = addresses.map { "address=\($0)" }
        if port > 0 { keys.append("port=\(Int(port) + seat - 1)") }
        if let tcp { keys.append("tcp=\(tcp > 0 ? Int(tcp) + seat - 1 : 0)") }
        let query = keys.isEmpty ? "" : "?" + keys.joined(separator: "&")
        let stream = stream(seat)
        return StreamDefinition(
            name: stream, input: try StreamLeg("whip:\(stream)\(query)", in: .serviceInput),
            outputs: [try StreamLeg("whep:\(stream)\(query)", in: .serviceOutput)], values: values)
    }
}
