import Endpoint
import Glibc
import Media
import SRT
import Telemetry

/// Keeps the SRT peers of a stream's legs in its telemetry map, so that a process that replaces this one can tell them that their
/// connection is gone. Otherwise they notice after libsrt's timeout of five seconds.
///
/// Confined to the observer thread.
struct MapPeers {
    private let map: TelemetryMap.Writer
    private var written: [TelemetryMap.Leg: [LegPeer]] = [:]

    /// - Returns: nil where the stream has no map.
    init?(_ map: TelemetryMap.Writer?) {
        guard let map else { return nil }
        self.map = map
    }

    mutating func write(_ peers: [ConnectedPeer], of leg: TelemetryMap.Leg) {
        let new = peers.compactMap { $0.farewell.flatMap { LegPeer($0) } }
        guard written[leg] != new else { return }
        written[leg] = new
        map.write(new, of: leg)
    }
}

extension ResumePoint {
    /// What to tell the peers of the process before.
    var farewells: [SRTFarewell] { (inputPeers + outputPeers).compactMap { $0.farewell } }
}

extension LegPeer {
    /// - Returns: nil where the texts are no addresses.
    init?(_ farewell: SRTFarewell) {
        guard let (host, port) = Self.parts(farewell.peer), let (_, localPort) = Self.parts(farewell.local),
            let address = Self.bytes(host)
        else { return nil }
        self.init(address: address, port: port, localPort: localPort, peerSocket: farewell.socket)
    }

    /// Nil where the peer is none of SRT's. The packet leaves from whichever address leads to the peer.
    var farewell: SRTFarewell? {
        guard peerSocket != 0, localPort != 0, port != 0 else { return nil }
        let isIPv6 = address.count == 16
        return SRTFarewell(
            peer: isIPv6 ? "[\(Self.text(address))]:\(port)" : "\(Self.text(address)):\(port)", socket: peerSocket,
            local: isIPv6 ? "[::]:\(localPort)" : "0.0.0.0:\(localPort)")
    }

    /// Host and port of `192.0.2.1:9000` or `[2001:db8::1]:9000`.
    private static func parts(_ text: String) -> (host: String, port: UInt16)? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        return (text[..<colon].filter { $0 != "[" && $0 != "]" }, port)
    }

    private static func bytes(_ host: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if unsafe inet_pton(AF_INET, host, &bytes) == 1 { return Array(bytes.prefix(4)) }
        return unsafe inet_pton(AF_INET6, host, &bytes) == 1 ? bytes : nil
    }

    private static func text(_ address: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: 64)
        let family = address.count == 16 ? AF_INET6 : AF_INET
        guard unsafe inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
