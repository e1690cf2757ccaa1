import CSRT  // Some of the kernel's names are filed under whichever module includes them first.
import Glibc
import Media
import Synchronization

/// Receives datagrams, as they are, with the kernel's arrival stamps. `receive` belongs to one thread.
final class UDPSource: @unchecked Sendable {
    private let socket: Descriptor
    private let bell = Bell()
    let localPort: UInt16
    private let connected = Atomic<Bool>(false)
    private let packets = Atomic<Int64>(0)
    private let bytes = Atomic<Int64>(0)
    private var sequence: Int64 = 0
    private var announced = false

    init(_ endpoint: UDPEndpoint) throws(TransportError) {
        let place = endpoint.description
        let address = try SocketAddress.resolve(host: endpoint.host, port: endpoint.port, place: place)
        let socket = try openUDP(address, place: place)
        // A burst of a second at 20 Mb/s; the kernel grants what it may.
        setInteger(socket.number, SOL_SOCKET, SO_RCVBUF, 4 << 20)
        setInteger(socket.number, SOL_SOCKET, SO_TIMESTAMPNS, 1)
        if address.isMulticast { setInteger(socket.number, SOL_SOCKET, SO_REUSEADDR, 1) }
        guard unsafe address.withSockaddr({ unsafe bind(socket.number, $0, $1) }) == 0 else {
            throw TransportError(.cannotBind, place: place, "cannot listen there: \(Descriptor.lastError)")
        }
        if address.isMulticast && !address.join(on: socket.number) {
            throw TransportError(.cannotBind, place: place, "cannot join the group: \(Descriptor.lastError)")
        }
        localPort = unsafe SocketAddress.filled { unsafe getsockname(socket.number, $0, $1) }?.port ?? 0
        self.socket = socket
    }

    func interrupt() { bell.ring() }

    func statistics() -> LegStatistics {
        var figures = LegStatistics()
        figures.connected = connected.load(ordering: .relaxed)
        figures.connections = figures.connected ? 1 : 0
        figures.packetsReceived = packets.load(ordering: .relaxed)
        figures.bytesReceived = bytes.load(ordering: .relaxed)
        return figures
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
        if !announced {
            announced = true
            return .event(.listening(port: localPort))
        }
        while true {
            var arrival = MonotonicTime(nanoseconds: 0)
            let count = unsafe receiveStamped(socket.number, buffer, &arrival)
            if count > 0 {
                sequence += 1
                packets.add(1, ordering: .relaxed)
                bytes.add(Int64(count), ordering: .relaxed)
                connected.store(true, ordering: .relaxed)
                return .message(
                    Message(byteCount: min(count, buffer.count), arrival: arrival, sourceTime: nil, sequence: sequence))
            }
            switch socket.wait(for: POLLIN, or: bell, until: limit) {
            case .ready: continue
            case .interrupted, .timedOut: return .idle
            }
        }
    }
}

/// Sends datagrams to one address. Never waits. `send` belongs to one thread.
final class UDPSink: @unchecked Sendable {
    private let socket: Descriptor
    private let packets = Atomic<Int64>(0)
    private let dropped = Atomic<Int64>(0)
    private let bytes = Atomic<Int64>(0)

    init(_ endpoint: UDPEndpoint) throws(TransportError) {
        let place = endpoint.description
        guard !endpoint.host.isEmpty, endpoint.port != 0 else {
            throw TransportError(.badURL, place: place, "an output needs a host and a port: udp://host:port")
        }
        let address = try SocketAddress.resolve(host: endpoint.host, port: endpoint.port, place: place)
        let socket = try openUDP(address, place: place)
        guard unsafe address.withSockaddr({ unsafe connect(socket.number, $0, $1) }) == 0 else {
            throw TransportError(.unreachable, place: place, "no way there: \(Descriptor.lastError)")
        }
        self.socket = socket
    }

    func statistics() -> LegStatistics {
        var figures = LegStatistics()
        figures.connected = true
        figures.connections = 1
        figures.packetsSent = packets.load(ordering: .relaxed)
        figures.packetsDropped = dropped.load(ordering: .relaxed)
        figures.bytesSent = bytes.load(ordering: .relaxed)
        return figures
    }

    func send(_ message: UnsafeRawBufferPointer) -> Sent {
        // A connected socket first reports that nobody listened to an earlier datagram; this one can still go.
        for _ in 0..<2 {
            let flags = Int32(MSG_NOSIGNAL)
            guard unsafe Glibc.send(socket.number, message.baseAddress, message.count, flags) >= 0 else { continue }
            packets.add(1, ordering: .relaxed)
            bytes.add(Int64(message.count), ordering: .relaxed)
            return .sent
        }
        dropped.add(1, ordering: .relaxed)
        return errno == EAGAIN || errno == ENOBUFS ? .wouldBlock : .notConnected
    }
}

func openUDP(_ address: SocketAddress, place: String) throws(TransportError) -> Descriptor {
    let number = socket(
        address.family, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { throw TransportError(.system, place: place, "no socket: \(Descriptor.lastError)") }
    return Descriptor(owning: number)
}

private func setInteger(_ number: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    _ = unsafe withUnsafePointer(to: value) { unsafe setsockopt(number, level, option, $0, 4) }
}

/// One datagram and when the kernel got it, on the monotonic clock.
private func receiveStamped(
    _ number: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ arrival: inout MonotonicTime
) -> Int {
    // Room for one control message with a timespec: header 16, payload 16, aligned.
    var control: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    var piece = unsafe iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
    let count = unsafe withUnsafeMutableBytes(of: &control) { control in
        unsafe withUnsafeMutablePointer(to: &piece) { piece in
            var header = unsafe msghdr()
            unsafe header.msg_iov = piece
            unsafe header.msg_iovlen = 1
            unsafe header.msg_control = control.baseAddress
            unsafe header.msg_controllen = control.count
            return unsafe recvmsg(number, &header, Int32(MSG_DONTWAIT))
        }
    }
    guard count > 0 else { return count }
    arrival = .now()
    // cmsghdr: length (8 bytes), level (4), type (4), then the stamp.
    guard control.1 == UInt64(SOL_SOCKET) | UInt64(SO_TIMESTAMPNS) << 32 else { return count }
    var wall = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &wall)
    let age = (Int64(wall.tv_sec) - Int64(control.2)) * 1_000_000_000 + Int64(wall.tv_nsec) - Int64(control.3)
    // The wall clock may have been set in between.
    if (0..<1_000_000_000).contains(age) { arrival = arrival - Nanoseconds(age) }
    return count
}
