import CSRT
import Endpoint
import Media
import Packets

/// The UDP socket that a leg calls from, again and again. Used by one thread.
///
/// libsrt ends a UDP socket with the last SRT socket on it. Then it waits up to 10 ms for the two threads of that UDP socket, under
/// the lock that each call on each connection of the process takes. So an output that calls somebody who is not there would hold
/// up all others with every attempt. A socket that never connects keeps the UDP socket open instead.
final class CallingPort {
    /// Sees the packets of all calls.
    let tap: ArrivalTap
    /// What the calls are bound to.
    let address: SocketAddress
    private let wanted: SocketAddress
    private let keeper: SRTSocket

    /// Binds a port from which this address can be called.
    init(
        to address: SocketAddress, for endpoint: SRTEndpoint, tap: ArrivalTap
    ) throws(SRTFailure) {
        wanted = Self.local(for: address, endpoint)
        let keeper = try SRTSocket()
        try keeper.configure(for: endpoint, early: false, tap: nil)
        try keeper.bind(wanted)
        guard let bound = keeper.localAddress else { throw .last }
        tap.attach(to: bound)
        self.address = bound
        self.tap = tap
        self.keeper = keeper
    }

    /// Whether this address can be called from here.
    func reaches(_ address: SocketAddress, for endpoint: SRTEndpoint) -> Bool { Self.local(for: address, endpoint) == wanted }

    private static func local(for address: SocketAddress, _ endpoint: SRTEndpoint) -> SocketAddress {
        let port = endpoint.mode == .rendezvous ? endpoint.localPort ?? endpoint.port : 0
        // A call within this machine opens no port to others. The peer of a rendezvous may call another address of this machine.
        return endpoint.mode == .caller && address.isLoopback ? address.with(port: 0) : address.anyAddress(port: port)
    }

    /// Calls an address that can be reached from here: a non-blocking socket, whose handshake is under way when this returns.
    /// - Parameter early: whether it is to read with TSBPD off.
    func call(_ address: SocketAddress, for endpoint: SRTEndpoint, early: Bool) throws(SRTFailure) -> SRTSocket {
        let socket = try SRTSocket()
        try socket.configure(for: endpoint, early: early, tap: tap)
        try socket.bind(self.address)
        unsafe try socket.use(address, with: srt_connect)
        return socket
    }
}

extension SRTSocket {
    fileprivate func bind(_ address: SocketAddress) throws(SRTFailure) {
        // libsrt demands a choice. IPv4 addresses may be written as IPv6 ones.
        if address.isAnyIPv6 { try set(SRTO_IPV6ONLY, Int32(0)) }
        unsafe try use(address, with: srt_bind)
    }
}
