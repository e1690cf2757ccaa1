import Endpoint
import Media
import Packets
import Testing
@testable import Transport

@Suite(.serialized) struct CallingPortTests {
    /// libsrt ends a UDP socket under the lock that all sends take. So the calls of a leg share one, and a listener that was away is
    /// called from the same port.
    @Test func aLegCallsFromOnePortWheneverItCalls() throws {
        let first = try Reader("srt://127.0.0.1:0?mode=listener&latency=20")
        let port = first.source.localPort
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(port)?latency=20"))
        let before = try #require(first.awaitConnection())
        #expect(sink.awaitPeer())
        first.source.close()
        #expect(sink.wait(for: { if case .disconnected = $0 { true } else { false } }) != nil)
        let second = try Reader("srt://127.0.0.1:\(port)?mode=listener&latency=20")
        let after = try #require(second.awaitConnection())
        #expect(sink.awaitPeer())
        #expect(before.peer == after.peer)
        for number in 0..<20 { #expect(sink.send(numbered(number)) == .sent) }
        for number in 0..<20 { #expect(second.nextNumber() == number) }
    }
}
