/// A UDP address that carries bare TS packets. As an input it is bound (and joined, when it is a multicast group); as
/// an output it is sent to.
public struct UDPEndpoint: Hashable, Sendable {
    /// Empty for any local address.
    public var host: String
    /// 0 only as an input: any free port.
    public var port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    init(parsing text: Substring) throws(TransportError) {
        let (authority, query) = text.splitOnce(at: "?")
        let withoutAt = authority.first == "@" ? authority.dropFirst() : authority
        (host, port) = try hostAndPort(withoutAt, scheme: "udp")
        if let query, !query.isEmpty {
            let key = query.splitOnce(at: "=").0
            throw TransportError(.badURL, place: "udp://", "unknown key \(quotedKey(key)); udp:// takes no keys")
        }
    }
}

extension UDPEndpoint: CustomStringConvertible {
    public var description: String { "udp://\(bracketed(host)):\(port)" }
}
