import Endpoint
import Media
import Synchronization

/// Receives datagrams, as they are, with the kernel's arrival stamps. `receive` belongs to one thread.
package final class UDPSource: Sendable {
    private let bell: Bell
    private let figures: Figures
    private let receiver: ThreadConfined<Receiver>
    package let localPort: UInt16

    /// Counted by the thread that receives, read by any.
    private final class Figures: Sendable {
        let connected = Atomic<Bool>(false)
        let packets = Atomic<Int64>(0)
        let bytes = Atomic<Int64>(0)
    }

    package init(_ endpoint: UDPEndpoint) throws(TransportError) {
        let place = endpoint.description
        guard endpoint.multicast.ttl == nil else {
            throw TransportError(.badURL, place: place, "ttl is for outputs: an input sends nothing")
        }
        let socket = try NameLookup.open(host: endpoint.host, port: endpoint.port, place: place) {
            address throws(TransportError) in
            try DatagramSocket(boundTo: address, interface: endpoint.multicast.interface, place: place)
        }
        localPort = socket.localPort
        bell = Bell()
        figures = Figures()
        receiver = ThreadConfined(Receiver(socket, bell, figures))
    }

    package func interrupt() { bell.ring() }

    package func statistics() -> LegFigures {
        var statistics = LegFigures()
        statistics.isConnected = figures.connected.load(ordering: .relaxed)
        statistics.connections = statistics.isConnected ? 1 : 0
        statistics.packetsReceived = figures.packets.load(ordering: .relaxed)
        statistics.bytesReceived = figures.bytes.load(ordering: .relaxed)
        return statistics
    }

    package func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
        receiver.use { unsafe $0.receive(into: buffer, until: limit) }
    }

    private struct Receiver: ~Copyable {
        private let socket: DatagramSocket
        private let bell: Bell
        private let figures: Figures
        private var sequence: Int64 = 0
        private var hasReportedPort = false

        /// After so many empty datagrams in a row, the receiver asks whether to return: a flood does not hold it for ever.
        private static let mostEmpty = 64

        init(_ socket: consuming DatagramSocket, _ bell: Bell, _ figures: Figures) {
            self.socket = socket
            self.bell = bell
            self.figures = figures
        }

        mutating func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
            if !hasReportedPort {
                hasReportedPort = true
                return .event(.listening(socket.place("udp")))
            }
            var empty = 0
            while true {
                if empty == Self.mostEmpty {
                    empty = 0
                    if socket.mustReturn(for: bell, at: limit) { return .idle }
                }
                let none = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
                if let datagram = unsafe socket.receive(none, buffer) {
                    guard datagram.byteCount > 0 else {
                        empty += 1
                        continue
                    }
                    sequence += 1
                    figures.packets.add(1, ordering: .relaxed)
                    figures.bytes.add(Int64(datagram.byteCount), ordering: .relaxed)
                    figures.connected.store(true, ordering: .relaxed)
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
}

/// Sends datagrams to one address. Never waits. Any thread may send, because a datagram goes out whole.
package final class UDPSink: Sendable {
    private let socket: DatagramSocket
    private let datagrams = SentDatagrams()

    package init(_ endpoint: UDPEndpoint) throws(TransportError) {
        let place = endpoint.description
        guard !endpoint.host.isEmpty, endpoint.port != 0 else {
            throw TransportError(.badURL, place: place, "an output needs a host and a port: udp://host:port")
        }
        socket = try NameLookup.open(host: endpoint.host, port: endpoint.port, place: place) {
            address throws(TransportError) in
            try DatagramSocket(sendingTo: address, endpoint.multicast, place: place)
        }
    }

    package func statistics() -> LegFigures { datagrams.statistics() }

    package func send(_ message: UnsafeRawBufferPointer) -> Sent {
        let sent = unsafe socket.send(UnsafeRawBufferPointer(start: nil, count: 0), message)
        datagrams.record(sent, byteCount: message.count)
        return sent
    }
}
