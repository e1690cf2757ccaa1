import Packets

/// Which of this machine's addresses others are likely to reach: the ones that the kernel would send from.
enum LocalRoutes {
    /// The source addresses of the default routes of both families; none without such a route. A UDP socket is connected for
    /// it, which sends nothing, and which a worker may do in its sandbox.
    static func sources(port: UInt16) -> [PeerAddress] {
        // Addresses for documentation (RFC 5737, 3849): any that the default route leads to will do.
        let targets = [
            PeerAddress(ipv4: 0xc000_0201, port: 9), PeerAddress(ipv6: 0x2001_0db8_0000_0000, 1, port: 9),
        ]
        var found = targets.compactMap { source(to: $0) }
        for index in found.indices { found[index].port = port }
        return found
    }

    private static func source(to target: PeerAddress) -> PeerAddress? {
        let address = SocketAddress(target, isIPv6: target.ipv4 == nil)
        guard let socket = try? DatagramSocket(sendingTo: address, place: "\(target)") else { return nil }
        return socket.local.map { PeerAddress($0) }
    }
}
