import Endpoint
import Glibc

/// The network interface on which a multicast group is joined or sent to.
struct MulticastInterface {
    /// 0 where the system chooses, or the address says it.
    private var index: UInt32 = 0
    /// An address of the interface; 0.0.0.0 where it is not chosen by one.
    private var address = in_addr(s_addr: 0)
    private let isChosen: Bool

    /// - Parameter name: the interface's name, or one of its IPv4 addresses; nil for the system's choice.
    /// - Throws: where there is no such interface, or nothing to choose it for.
    init(_ name: String?, for group: SocketAddress, place: String) throws(TransportError) {
        isChosen = name != nil
        guard let name else { return }
        guard group.isMulticast else {
            throw TransportError(.badURL, place: place, "iface is for multicast groups; leave it out, the route decides")
        }
        if group.family == AF_INET, let address = SocketAddress.numeric(host: name, port: 0), address.family == AF_INET {
            self.address = address.withIPv4 { $0.sin_addr }
            return
        }
        index = unsafe if_nametoindex(name)
        guard index != 0 else {
            throw TransportError(
                .badURL, place: place, "there is no interface \(quoted(name)) here; `ip address` shows the names")
        }
    }

    /// Joins a group.
    func join(_ group: SocketAddress, on socket: Int32) -> Bool {
        if group.family == AF_INET {
            var request = ip_mreqn(
                imr_multiaddr: group.withIPv4 { $0.sin_addr }, imr_address: address, imr_ifindex: Int32(bitPattern: index))
            return unsafe setsockopt(
                socket, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, &request, socklen_t(MemoryLayout<ip_mreqn>.size)) == 0
        }
        var request = ipv6_mreq(ipv6mr_multiaddr: group.withIPv6 { $0.sin6_addr }, ipv6mr_interface: index)
        return unsafe setsockopt(
            socket, Int32(IPPROTO_IPV6), IPV6_JOIN_GROUP, &request, socklen_t(MemoryLayout<ipv6_mreq>.size)) == 0
    }

    /// Has a socket send to an address on the interface, and through so many routers.
    func choose(on socket: Int32, ttl: Int?, for address: SocketAddress) -> Bool {
        let isIPv4 = address.family == AF_INET
        if let ttl {
            let option =
                switch (isIPv4, address.isMulticast) {
                case (true, true): IP_MULTICAST_TTL
                case (true, false): IP_TTL
                case (false, true): IPV6_MULTICAST_HOPS
                case (false, false): IPV6_UNICAST_HOPS
                }
            guard setInteger(socket, Int32(isIPv4 ? IPPROTO_IP : IPPROTO_IPV6), option, Int32(ttl)) else { return false }
        }
        guard isChosen else { return true }
        guard isIPv4 else { return setInteger(socket, Int32(IPPROTO_IPV6), IPV6_MULTICAST_IF, Int32(bitPattern: index)) }
        var request = ip_mreqn(
            imr_multiaddr: in_addr(s_addr: 0), imr_address: self.address, imr_ifindex: Int32(bitPattern: index))
        return unsafe setsockopt(
            socket, Int32(IPPROTO_IP), IP_MULTICAST_IF, &request, socklen_t(MemoryLayout<ip_mreqn>.size)) == 0
    }
}
