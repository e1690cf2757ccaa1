/// A UDP address that carries bare TS packets. As an input it is bound (and joined, when it is a multicast group); as
/// an output it is sent to.
public struct UDPEndpoint: Hashable, Sendable {
    /// Empty for any local address.
    public var host: String
    /// 0 only as an input: any free port.
    public var port: UInt16
    public var multicast: MulticastOptions

    public init(host: String, port: UInt16, multicast: MulticastOptions = MulticastOptions()) {
        self.host = host
        self.port = port
        self.multicast = multicast
    }

    init(parsing text: Substring) throws(TransportError) {
        let (authority, query) = text.splitOnce(at: "?")
        let withoutAt = authority.first == "@" ? authority.dropFirst() : authority
        (host, port) = try hostAndPort(withoutAt, scheme: "udp")
        multicast = MulticastOptions()
        for pair in query?.split(separator: "&", omittingEmptySubsequences: true) ?? [] {
            let (key, value) = pair.splitOnce(at: "=")
            guard try multicast.read(key, value, fault: Self.fault) else {
                throw Self.fault(
                    "unknown key \(quotedKey(key)); known are \(MulticastOptions.knownKeys.joined(separator: ", "))")
            }
        }
    }

    private static func fault(_ message: String) -> TransportError { TransportError(.badURL, place: "udp://", message) }
}

extension UDPEndpoint: CustomStringConvertible {
    public var description: String {
        let pairs = multicast.pairs
        return "udp://\(bracketed(host)):\(port)" + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }
}
