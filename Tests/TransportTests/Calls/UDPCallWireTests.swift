import Endpoint
import Media
import Testing
@testable import Packets

/// Where feedback goes, on loopback.
@Suite(.timeLimit(.minutes(1))) struct UDPCallWireTests {
    private static func socket(_ host: String) throws -> DatagramSocket {
        try DatagramSocket(boundTo: try #require(SocketAddress.numeric(host: host, port: 0)), place: "test")
    }

    /// A sender's stream comes from one socket. Another one shows where feedback is read.
    /// - Parameters:
    ///   - latchHost: whose other socket it is.
    ///   - latch: what comes from there before the stream.
    /// - Returns: whether feedback comes to the other socket, and not to the stream's.
    private func feedbackFollows(latchHost: String, _ latch: [UInt8]) throws -> Bool {
        let address = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let own = try CallSocket.bound(to: address, controlPort: 0, place: "test")
        let port = own.stream.localPort
        let wire = UDPCallWire([RTPTrack([RTPFormat(.vp8, payloadType: 96)])], [own])
        let stream = try Self.socket("127.0.0.1")
        let other = try Self.socket(latchHost)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 16)
        defer { buffer.deallocate() }
        func receive(_ datagram: [UInt8], from number: Int32, at port: UInt16) -> Int {
            let destination = address.with(port: port)
            let sent = datagram.withUnsafeBytes { DatagramSocket.send($0, from: number, to: destination) }
            #expect(sent == .sent)
            while true {
                if let reading = wire.read(into: buffer) { return reading.byteCount }
                _ = wire.wait(until: .now() + .seconds(10))
            }
        }
        #expect(receive(latch, from: other.number, at: port + 1) == latch.count)
        #expect(receive([0x80, 96, 0, 1] + [UInt8](repeating: 7, count: 20), from: stream.number, at: port) == 24)
        wire.confirm()
        [UInt8](repeating: 1, count: 12).withUnsafeBytes { wire.sendFeedback($0, track: 0) }
        _ = waitForDatagrams([stream.number, other.number], or: Bell(), until: .now() + .seconds(10))
        let none = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        let (atStream, atOther) = (stream.receive(none, buffer) != nil, other.receive(none, buffer) != nil)
        #expect(atStream != atOther)
        return atOther
    }

    /// A flood at one socket does not keep the thread from the others.
    @Test func socketsTakeTurns() throws {
        let address = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let own = try (0..<2).map { _ in try CallSocket.bound(to: address, controlPort: nil, place: "test") }
        let wire = UDPCallWire(
            [RTPTrack([RTPFormat(.vp8, payloadType: 96)]), RTPTrack([RTPFormat(.opus, payloadType: 97)])], own)
        let sender = try Self.socket("127.0.0.1")
        for track in [0, 0, 0, 1] {
            let destination = address.with(port: own[track].stream.localPort)
            #expect([UInt8(7)].withUnsafeBytes { DatagramSocket.send($0, from: sender.number, to: destination) } == .sent)
        }
        for socket in own { _ = waitForDatagrams(socket.numbers, or: Bell(), until: .now() + .seconds(10)) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 16)
        defer { buffer.deallocate() }
        #expect((0..<2).map { _ in wire.read(into: buffer)?.track } == [0, 1])
    }

    /// Datagrams that were read, as if from sockets of their own for each track.
    private final class Script: RTPWire {
        let readings: Lock<[(track: Int, bytes: [UInt8], arrival: MonotonicTime)]>
        let call: RTPCall
        let keepsOrder = false
        let isAuthentic = false
        let callNumber = 0
        let peer = ""
        let place: ListeningPlace? = nil

        init(_ tracks: [RTPTrack], _ readings: [(track: Int, bytes: [UInt8], arrival: MonotonicTime)]) {
            call = RTPCall(number: 0, tracks: tracks)
            self.readings = Lock(readings)
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> RTPReading? {
            guard let next = readings.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return nil }
            buffer.copyBytes(from: next.bytes)
            return RTPReading(byteCount: next.bytes.count, arrival: next.arrival, track: next.track)
        }
        func wait(until limit: MonotonicTime) -> Bool { true }
        func confirm() {}
        func sendFeedback(_ packet: UnsafeRawBufferPointer, track: Int) {}
        func interrupt() {}
    }

    /// A packet that came in time waits in its socket while a later one is read from another.
    @Test func aPacketOfOneSocketDoesNotAgeThoseOfAnother() throws {
        let start = MonotonicTime.now() - .seconds(1)
        func packet(_ track: Int, _ sequence: UInt8, after milliseconds: Double) -> (Int, [UInt8], MonotonicTime) {
            (
                track, [0x80, UInt8(96 + track), 0, sequence, 0, 0, 0, 0, 0, 0, 0, 9, sequence],
                start + .milliseconds(milliseconds)
            )
        }
        let wire = Script(
            [RTPTrack([RTPFormat(.vp8, payloadType: 96)]), RTPTrack([RTPFormat(.opus, payloadType: 97)])],
            [packet(1, 1, after: 0), packet(1, 3, after: 10), packet(0, 1, after: 60), packet(1, 2, after: 12)])
        let source = MediaSource(wire, latency: nil)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 16)
        defer { buffer.deallocate() }
        var sound: [UInt8] = []
        loop: while true {
            switch source.receive(into: buffer, until: .now()) {
            case .message(let message): if message.packet?.track == 1 { sound.append(buffer[0]) }
            case .idle: break loop
            case .event, .end, .failed: break
            }
        }
        #expect(sound == [1, 2, 3] && source.statistics().packetsDropped == 0)
    }

    private static let latch: [UInt8] = [0x80] + [UInt8](repeating: 0, count: 11)

    /// What Janus sends when it begins to forward.
    @Test func anEmptyPacketShowsWhereFeedbackIsRead() throws {
        #expect(try feedbackFollows(latchHost: "127.0.0.1", Self.latch))
    }

    @Test func anotherHostGetsNoFeedback() throws {
        #expect(try !feedbackFollows(latchHost: "127.0.0.2", Self.latch))
    }

    @Test(arguments: [
        [0x80, 200] + [UInt8](repeating: 0, count: 10), [0x80] + [UInt8](repeating: 0, count: 12), [0x80, 0, 0],
        [UInt8](repeating: 0, count: 12),
    ]) func nothingElseDoes(_ datagram: [UInt8]) throws { #expect(try !feedbackFollows(latchHost: "127.0.0.1", datagram)) }
}
