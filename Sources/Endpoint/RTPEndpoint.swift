import Media

/// An RTP leg as a URL describes it: MPEG-TS over RTP (RFC 2250, payload type 33), with RTCP on the port above. As an input
/// it is bound (and joined, when it is a multicast group); as an output it is sent to.
public struct RTPEndpoint: Hashable, Sendable {
    /// Empty for any local address.
    public var host: String
    /// The stream's own port; any, odd ones too, that has one above it for RTCP. 0 only as an input: any free pair.
    public var port: UInt16
    /// How long an input waits for a packet that others have overtaken; nil for ``defaultLatency``.
    public var latency: Nanoseconds?
    public var multicast: MulticastOptions

    /// Plain RTP sends nothing again, so this is for packets that took another way, which come within milliseconds. It
    /// delays only what comes behind a loss, and by less than a frame at 30 a second.
    public static let defaultLatency = Nanoseconds.milliseconds(20)
    /// A packet that is later than this is lost.
    static let longestLatency: Int64 = 5_000  // ms

    public init(
        host: String, port: UInt16, latency: Nanoseconds? = nil, multicast: MulticastOptions = MulticastOptions()
    ) {
        self.host = host
        self.port = port
        self.latency = latency
        self.multicast = multicast
    }

    package var window: Nanoseconds { latency ?? Self.defaultLatency }

    init(parsing text: Substring) throws(TransportError) {
        let (authority, query) = text.splitOnce(at: "?")
        let withoutAt = authority.first == "@" ? authority.dropFirst() : authority
        (host, port) = try hostAndPort(withoutAt, scheme: "rtp")
        multicast = MulticastOptions()
        guard port != .max else { throw fault("RTCP needs the port above: give 1 to 65534") }
        for pair in query?.split(separator: "&", omittingEmptySubsequences: true) ?? [] {
            let (key, value) = pair.splitOnce(at: "=")
            if try multicast.read(key, value, fault: fault) { continue }
            guard key == "latency" else {
                throw fault(
                    "unknown key \(quotedKey(key)); known are latency, \(MulticastOptions.knownKeys.joined(separator: ", "))")
            }
            guard latency == nil else { throw fault("key latency is given twice") }
            guard let value, let milliseconds = Int64(value), (0...Self.longestLatency).contains(milliseconds) else {
                throw fault("latency is in milliseconds, 0 to \(Self.longestLatency), not \(quoted(value ?? ""))")
            }
            latency = Nanoseconds(milliseconds * 1_000_000)
        }
    }

    private func fault(_ message: String) -> TransportError {
        TransportError(.badURL, place: "rtp://\(bracketed(host)):\(port)", message)
    }
}

extension RTPEndpoint: CustomStringConvertible {
    public var description: String {
        let pairs = (latency.map { ["latency=\($0.count / 1_000_000)"] } ?? []) + multicast.pairs
        return "rtp://\(bracketed(host)):\(port)" + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }
}
