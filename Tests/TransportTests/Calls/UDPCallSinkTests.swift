import Endpoint
import Media
import Testing
@testable import Packets

struct UDPCallSinkTests {
    private static func address(_ host: String, _ port: UInt16) throws -> SocketAddress {
        try #require(SocketAddress.numeric(host: host, port: port))
    }

    /// Reports of another host are counted and not read; those of the receiver's host are, by whatever port.
    @Test(.timeLimit(.minutes(1))) func onlyTheReceiverReports() throws {
        var track = RTPTrack([RTPFormat(.h264, payloadType: 96)])
        track.source = 5
        let own = try CallSocket.bound(to: try Self.address("127.0.0.1", 0), controlPort: nil, place: "test")
        let destination = try Self.address("127.0.0.1", own.stream.localPort)
        own.peer.withLock { $0 = (try? Self.address("127.0.0.1", 9), nil) }
        let sink = UDPCallSink([track], [own], peer: "test")
        defer { sink.close() }
        let another = try DatagramSocket(boundTo: try Self.address("127.0.0.2", 0), place: "test")
        let receiver = try DatagramSocket(boundTo: try Self.address("127.0.0.1", 0), place: "test")
        var writer = RTCPWriter()
        writer.pictureLoss(from: 1, media: 5)
        let viewer = try #require(sink.viewers.viewers.first)
        // In the order in which they are sent, because they come to one socket.
        writer.bytes.withUnsafeBytes { bytes in
            for number in [another.number, receiver.number] {
                #expect(DatagramSocket.send(bytes, from: number, to: destination) == .sent)
            }
        }
        while viewer.feedback.keyframeRequests == 0 { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        #expect(viewer.feedback.keyframeRequests == 1 && viewer.statistics().packetsUnexpected == 1)
    }

    @Test func aGroupsMembersHaveAddressesOfTheirOwn() throws {
        let own = try CallSocket.bound(to: try Self.address("127.0.0.1", 0), controlPort: nil, place: "test")
        let other = try Self.address("192.0.2.7", 5005)
        #expect(!own.mayBePeer(other))
        own.peer.withLock { $0 = (try? Self.address("239.1.2.3", 5004), try? Self.address("239.1.2.3", 5005)) }
        #expect(own.mayBePeer(other))
        own.peer.withLock { $0 = (try? Self.address("192.0.2.8", 5004), try? Self.address("192.0.2.7", 5005)) }
        #expect(own.mayBePeer(other))
    }
}
