import CSRT
import Endpoint
import Media
import Packets
import Testing
@testable import SRT
@testable import Transport

/// When a connection is ended because it accepts nothing, in virtual time.
@Suite struct SendStallTests {
    private func at(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

    @Test func aFullBufferEndsItAfterFiveSeconds() {
        var stall = SendStall()
        for milliseconds in stride(from: Int64(0), to: 5_000, by: 100) {
            let isOver = stall.refused(1_316, isFull: true, at: at(milliseconds))
            #expect(!isOver)
        }
        let isOver = stall.refused(1_316, isFull: true, at: at(5_000))
        #expect(isOver)
    }

    /// Any message that is accepted shows that there is room.
    @Test func aBufferThatHasRoomAtTimesEndsNothing() {
        var stall = SendStall()
        for second in Int64(0)..<60 {
            let isOver = stall.refused(1_316, isFull: true, at: at(second * 1_000))
            #expect(!isOver)
            stall.accepted(188)
        }
    }

    /// A peer that asked for tiny packets: small messages of sound pass, and no picture ever does.
    @Test func smallMessagesDoNotSaveOneThatTakesNoLargeOnes() {
        var stall = SendStall()
        var over: [Int64] = []
        for milliseconds in stride(from: Int64(0), through: 6_000, by: 100) {
            stall.accepted(188)
            if stall.refused(1_316, isFull: false, at: at(milliseconds)) { over.append(milliseconds) }
        }
        #expect(over.first == 5_000)
        stall.accepted(1_316)
        let isOver = stall.refused(1_316, isFull: false, at: at(7_000))
        #expect(!isOver)
    }
}

@Suite(.serialized) struct SmallPacketTests {
    /// It would cost a packet for every few bytes, and is refused.
    @Test func aReaderThatAsksForTinyPacketsGetsNoPlace() throws {
        let sink = try Sink(StreamURL("srt://127.0.0.1:0?mode=listener&latency=20"), readers: 2)
        var endpoint = SRTEndpoint(mode: .caller, host: "127.0.0.1", port: sink.localPort, latency: .milliseconds(20))
        endpoint.packetSize = 200
        let tiny = try Source(.srt(endpoint))
        let refused = sink.wait(for: { if case .refused = $0 { true } else { false } })
        guard case .refused(let reason) = refused else {
            Issue.record("not refused")
            return
        }
        #expect(reason.contains("asks for packets of 200 bytes") && !sink.isConnected)
        tiny.close()
        // The others have their places.
        let reader = try Reader("srt://127.0.0.1:\(sink.localPort)?latency=20")
        #expect(reader.awaitConnection() != nil && sink.awaitPeer())
    }
}
