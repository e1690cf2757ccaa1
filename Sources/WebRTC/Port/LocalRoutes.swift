import CSRTP  // Some of the kernel's names are filed under whichever module includes them first.
import Glibc

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
        let isIPv6 = target.ipv4 == nil
        let number = socket(isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { return nil }
        defer { close(number) }
        var storage = SocketStorage(target, isIPv6: isIPv6)
        guard unsafe storage.withPointer({ unsafe connect(number, $0, $1) }) == 0 else { return nil }
        return unsafe SocketStorage.filled(isIPv6: isIPv6) { unsafe getsockname(number, $0, $1) }
    }
}
