import Endpoint
import Media
import Testing

@testable import Transport

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
