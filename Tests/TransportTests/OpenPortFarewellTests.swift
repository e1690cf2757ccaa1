import Endpoint
import Media
import Packets
import Testing
@testable import SRT
@testable import Transport

@Suite(.serialized) struct OpenPortFarewellTests {
    /// A worker with several streams on one port: the first one has bound it when the others say goodbye for their predecessors.
    @Test(arguments: ["127.0.0.1", "[::1]"]) func aGoodbyeLeavesByAPortThatIsOpenHere(host: String) throws {
        let reader = try Reader("srt://\(host):0?mode=listener&latency=20")
        let sink = try Sink(StreamURL("srt://\(host):\(reader.source.localPort)?latency=20"))
        #expect(reader.awaitConnection() != nil && sink.awaitPeer())
        let farewell = try #require(reader.source.peers.first?.farewell)
        #expect(SRTFarewell.send([farewell]) == 1)
        // Otherwise it would notice after five seconds without a packet, and there is no such time.
        let gone = sink.wait(for: { if case .disconnected = $0 { true } else { false } })
        #expect(gone == .disconnected(reason: "the peer has gone"))
    }

    @Test func nobodyIsToldFromAPortThatIsNotOursToUse() throws {
        let other = try Reader("udp://127.0.0.1:0")
        #expect(other.wait(for: { if case .listening = $0 { true } else { false } }) != nil)
        let port = other.source.localPort
        let farewell = SRTFarewell(peer: "127.0.0.1:9", socket: 1, local: "127.0.0.1:\(port)")
        #expect(SRTFarewell.send([farewell]) == 0)
    }
}
