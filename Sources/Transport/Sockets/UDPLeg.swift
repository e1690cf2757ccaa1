import Media
import Synchronization

/// Receives datagrams, as they are, with the kernel's arrival stamps. `receive` belongs to one thread.
final class UDPSource: @unchecked Sendable {
    private let socket: DatagramSocket
    private let bell = Bell()
    private let connected = Atomic<Bool>(false)
    private let packets = Atomic<Int64>(0)
    private let bytes = Atomic<Int64>(0)
    private var sequence: Int64 = 0
    private var announced = false

    init(_ endpoint: UDPEndpoint) throws(TransportError) {
        let place = endpoint.description
        let address = try SocketAddress.resolve(host: endpoint.host, port: endpoint.port, place: place)
        socket = try DatagramSocket(boundTo: address, place: place)
    }

    var localPort: UInt16 { socket.localPort }
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
        var untold = 0
        while true {
            if untold == DatagramSocket.mostUntold {
                untold = 0
                if socket.mustLeave(for: bell, at: limit) { return .idle }
            }
            let none = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
            if let datagram = unsafe socket.receive(none, buffer) {
                // An empty one has nothing to tell.
                guard datagram.byteCount > 0 else {
                    untold += 1
                    continue
                }
                sequence += 1
                packets.add(1, ordering: .relaxed)
                bytes.add(Int64(datagram.byteCount), ordering: .relaxed)
                connected.store(true, ordering: .relaxed)
                return .message(
                    Message(
                        byteCount: datagram.byteCount, arrival: datagram.time, sourceTime: nil, sequence: sequence))
            }
            switch socket.wait(or: bell, until: limit) {
            case .ready: continue
            case .interrupted, .timedOut: return .idle
            }
        }
    }
}

/// Sends datagrams to one address. Never waits. `send` belongs to one thread.
final class UDPSink: @unchecked Sendable {
    private let socket: DatagramSocket
    private let datagrams = SentDatagrams()

    init(_ endpoint: UDPEndpoint) throws(TransportError) {
        let place = endpoint.description
        guard !endpoint.host.isEmpty, endpoint.port != 0 else {
            throw TransportError(.badURL, place: place, "an output needs a host and a port: udp://host:port")
        }
        let address = try SocketAddress.resolve(host: endpoint.host, port: endpoint.port, place: place)
        socket = try DatagramSocket(sendingTo: address, place: place)
    }

    func statistics() -> LegStatistics { datagrams.statistics() }

    func send(_ message: UnsafeRawBufferPointer) -> Sent {
        let sent = unsafe socket.send(UnsafeRawBufferPointer(start: nil, count: 0), message)
        datagrams.note(sent, byteCount: message.count)
        return sent
    }
}
