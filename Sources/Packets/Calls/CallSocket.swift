import Endpoint
import Media

/// The two sockets of a track: the stream's, and RTCP's where it has one of its own.
final class CallSocket: Sendable {
    let stream: DatagramSocket
    let control: DatagramSocket?
    /// RTCP's own socket.
    let controlNumber: Int32?
    /// Where the packets and the reports of the peer come from, or are to go.
    let peer: Lock<(stream: SocketAddress?, control: SocketAddress?)>
    /// Where an empty RTP packet came from to RTCP's own socket. Janus sends two when it begins to forward: they show where it
    /// reads feedback, which is not where its stream comes from.
    private let latch = Lock<SocketAddress?>(nil)

    init(
        _ stream: consuming DatagramSocket, control: consuming DatagramSocket?,
        peer: (SocketAddress?, SocketAddress?) = (nil, nil)
    ) {
        self.stream = stream
        self.control = control
        controlNumber =
            switch self.control {
            case .some(let socket): socket.number
            case nil: nil
            }
        self.peer = Lock((peer.0, peer.1))
    }

    /// How many free ports are tried for a pair.
    private static let attempts = 64

    /// Receives on a port and the one above, or another one.
    /// - Parameter controlPort: nil where reports share the stream's port; 0 for the port above.
    static func bound(to address: SocketAddress, controlPort: UInt16?, place: String) throws(TransportError) -> CallSocket {
        guard let controlPort else { return CallSocket(try DatagramSocket(boundTo: address, place: place), control: nil) }
        if address.port != 0 {
            let stream = try DatagramSocket(boundTo: address, place: place)
            let port = controlPort == 0 ? address.port &+ 1 : controlPort
            guard port != 0, port != address.port else {
                throw TransportError(.cannotBind, place: place, "RTCP needs a port of its own: the one above \(address.port)")
            }
            return CallSocket(
                stream, control: try DatagramSocket(boundTo: address.with(port: port), place: "\(place), RTCP's port \(port)"))
        }
        // The system gives one port. The next one may be taken.
        for _ in 0..<attempts {
            let first = try DatagramSocket(boundTo: address, place: place)
            guard first.localPort < .max,
                let second = try? DatagramSocket(boundTo: address.with(port: first.localPort + 1), place: place)
            else { continue }
            return CallSocket(first, control: second)
        }
        throw TransportError(.cannotBind, place: place, "found no two free ports in a row; give a port")
    }

    /// Sends a datagram to where the peer is; RTCP to the stream's address where it has shown no other.
    func send(_ packet: UnsafeRawBufferPointer, isControl: Bool) -> Sent {
        let (streamPeer, controlPeer) = peer.withLock { $0 }
        if isControl, let control = controlNumber, let peer = controlPeer ?? latched(to: streamPeer) {
            return unsafe DatagramSocket.send(packet, from: control, to: peer)
        }
        guard let streamPeer else { return .notConnected }
        return unsafe DatagramSocket.send(packet, from: stream.number, to: streamPeer)
    }

    /// Looks whether a datagram that came to RTCP's own socket shows where its sender reads feedback.
    func observe(_ datagram: UnsafeRawBufferPointer, from sender: SocketAddress) {
        guard datagram.count == RTPPacket.headerByteCount, unsafe datagram[0] == 0x80,
            // A packet of RTCP (RFC 5761, 4).
            unsafe !(64...95).contains(datagram[1] & 0x7f)
        else { return }
        latch.withLock { $0 = sender }
    }

    /// Only on the stream's own host, so that nobody has feedback sent elsewhere.
    private func latched(to stream: SocketAddress?) -> SocketAddress? {
        guard let stream, let latch = latch.withLock({ $0 }), stream.with(port: latch.port) == latch else { return nil }
        return latch
    }

    /// Whether a datagram may be the peer's: it comes from their host, by whatever port. Receivers send reports from ports of their
    /// own. Members of a multicast group have addresses of their own, too.
    func mayBePeer(_ sender: SocketAddress) -> Bool {
        func isHost(_ peer: SocketAddress?) -> Bool {
            peer.map { $0.isMulticast || $0.with(port: sender.port) == sender } ?? false
        }
        let (streamPeer, controlPeer) = peer.withLock { $0 }
        return isHost(streamPeer) || isHost(controlPeer)
    }

    /// Reads the next datagram of RTCP's own socket.
    func receiveControl(into buffer: UnsafeMutableRawBufferPointer) -> DatagramSocket.Arrived? {
        switch control {
        case .some(let socket):
            let none = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
            return unsafe socket.receive(none, buffer)
        case nil: return nil
        }
    }
}
