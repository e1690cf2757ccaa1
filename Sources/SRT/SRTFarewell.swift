import CSRT  // Some of the kernel's names are filed under whichever module includes them first.
import CSRTArrival
import Endpoint
import Glibc
import Packets

/// What it takes to end an SRT connection from outside of the process that has it: SRT's goodbye is one packet, which must come
/// from the address and port that the connection has here, and names the other end's socket.
///
/// A process that is killed says nothing. Its peers notice after libsrt's own timeout of five seconds, unless somebody who kept
/// these records sends them.
public struct SRTFarewell: Hashable, Sendable, Codable {
    /// The other end's address and port, as text.
    public var peer: String
    /// The other end's number of the connection.
    public var socket: UInt32
    /// The local address and port of the UDP socket, as text; the address may be the one that stands for all.
    public var local: String

    public init(peer: String, socket: UInt32, local: String) {
        self.peer = peer
        self.socket = socket
        self.local = local
    }

    /// Nil unless all of it is known.
    init?(peer: SocketAddress?, socket: UInt32?, local: SocketAddress?) {
        guard let peer, let socket, let local else { return nil }
        self.init(peer: peer.description, socket: socket, local: local.description)
    }

    /// A shutdown packet (draft-sharabayko-srt, section 3.2.7): a control packet of type 5 with four empty bytes behind its header,
    /// which libsrt expects.
    static func packet(to socket: UInt32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 20)
        (bytes[0], bytes[1]) = (0x80, 0x05)
        for i in 0..<4 { bytes[12 + i] = UInt8(truncatingIfNeeded: socket >> (24 - 8 * i)) }
        return bytes
    }

    /// Ends these connections. Their local ports must be free, or have been opened by libsrt in this process. Call it when the process
    /// that had them has ended. Nothing confirms a packet, so each is sent twice.
    /// - Returns: for how many connections the packet went out.
    @discardableResult
    public static func send(_ farewells: [SRTFarewell]) -> Int {
        var sent = 0
        for (local, group) in Dictionary(grouping: farewells, by: \.local) {
            guard let own = SocketAddress(parsing: local) else { continue }
            // Another stream of this process may have opened the port already.
            sent +=
                send(group, from: own)
                ?? group.count { unsafe send($0) { unsafe burnish_srt_send_from(own.port, $0, $1, $2, $3) } }
        }
        return sent
    }

    /// - Returns: nil where the port is taken.
    private static func send(_ group: [SRTFarewell], from own: SocketAddress) -> Int? {
        guard let socket = try? openUDP(own, place: own.description),
            unsafe own.withSockaddr({ unsafe bind(socket.number, $0, $1) }) == 0
        else { return nil }
        return group.count { unsafe send($0) { unsafe sendto(socket.number, $0, $1, Int32(MSG_NOSIGNAL), $2, $3) == $1 } }
    }

    private static func send(
        _ farewell: SRTFarewell,
        by transmit: (UnsafeRawPointer, Int, UnsafePointer<sockaddr>, socklen_t) -> Bool
    ) -> Bool {
        guard let peer = SocketAddress(parsing: farewell.peer) else { return false }
        let packet = packet(to: farewell.socket)
        return unsafe packet.withUnsafeBytes { bytes in
            unsafe peer.withSockaddr { address, length in
                let first = unsafe transmit(bytes.baseAddress!, bytes.count, address, length)
                let second = unsafe transmit(bytes.baseAddress!, bytes.count, address, length)
                return first || second
            }
        }
    }
}

extension SocketAddress {
    /// Reads what ``description`` writes.
    package init?(parsing text: String) {
        guard let (host, port) = try? hostAndPort(text[...], scheme: "srt"),
            let address = SocketAddress.numeric(host: host, port: port)
        else { return nil }
        self = address
    }
}
