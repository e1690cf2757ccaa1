import Endpoint
import Media
import Packets

/// A UDP socket that talks to many peers: one IPv4 address, one IPv6 address, or all of both. Any thread sends; one receives.
struct PortSocket: ~Copyable {
    private let socket: DatagramSocket
    let bell = Bell()
    private let isIPv6: Bool
    /// What it is bound to. `::` stands for IPv4, too.
    let local: PeerAddress

    struct Arrived {
        var byteCount: Int
        /// When the kernel got it, on the monotonic clock.
        var time: MonotonicTime
        var sender: PeerAddress
        /// It had more bytes than the buffer; those are gone.
        var isCut: Bool
    }

    init(boundTo address: PeerAddress) throws(TransportError) {
        let place = "webrtc \(address)"
        let isIPv6 = address.ipv4 == nil
        let socket = try DatagramSocket(boundTo: SocketAddress(address, isIPv6: isIPv6), place: place)
        guard let local = socket.local else { throw TransportError(.system, place: place, "no local address") }
        self.isIPv6 = isIPv6
        self.local = PeerAddress(local)
        self.socket = socket
    }

    var number: Int32 { socket.number }

    /// Ends the present wait, or the next one. Any thread.
    func interrupt() { bell.ring() }

    /// Waits for a datagram, for ``interrupt()``, or for the time.
    func wait(until limit: MonotonicTime) { _ = socket.wait(or: bell, until: limit) }

    /// Reads the next datagram, if one has come.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Arrived? {
        let none = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
        guard let arrived = unsafe socket.receive(none, buffer) else { return nil }
        return Arrived(
            byteCount: arrived.byteCount, time: arrived.time, sender: PeerAddress(arrived.sender), isCut: arrived.isCut)
    }

    /// Sends a datagram. Any thread.
    func send(_ datagram: UnsafeRawBufferPointer, to address: PeerAddress) -> Bool {
        unsafe DatagramSocket.send(datagram, from: socket.number, to: SocketAddress(address, isIPv6: isIPv6)) == .sent
    }
}

extension SocketAddress {
    /// - Parameter isIPv6: the socket's family. An IPv4 address has IPv6's form in an IPv6 socket.
    init(_ address: PeerAddress, isIPv6: Bool) {
        if isIPv6 {
            self.init(ipv6: address.ipv6, port: address.port)
        } else {
            self.init(ipv4: address.ipv4 ?? 0, port: address.port)
        }
    }
}

extension PeerAddress {
    /// An address as a socket has it.
    init(_ address: SocketAddress) {
        if let (high, low) = address.ipv6 {
            self.init(ipv6: high, low, port: address.port)
        } else {
            self.init(ipv4: address.ipv4 ?? 0, port: address.port)
        }
    }
}
