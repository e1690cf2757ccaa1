import Endpoint
import Media
import Testing
@testable import Packets
@testable import Relay
@testable import Transport

/// The send stage looks at the viewers of a call as soon as one has come or wants a keyframe, and not when it looks next anyway.
@Suite(.timeLimit(.minutes(2))) struct ViewerNewsTests {
    private final class Nowhere: RTPSendWire {
        func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent { .sent }
    }

    @Test func aViewerWakesTheSendStage() throws {
        let viewers = RTPViewers(capacity: 1)
        let url = try StreamURL("rtp://127.0.0.1:9")
        let channels = StreamChannels(RelayConfiguration(input: .standardStream, output: url))
        let passing = PassingStreams()
        let output = SendStage(sinks: [Sink(url, viewers: viewers)], passing: passing, channels: channels)
        /// The time is over only where nobody wakes the stage.
        func isWoken() -> Bool {
            let limit = MonotonicTime.now() + .seconds(20)
            passing.wake.wait(until: limit)
            return .now() < limit
        }
        var track = RTPTrack([RTPFormat(.h264, payloadType: 100)])
        (track.source, track.feedback) = (5, .pictureLoss)
        let viewer = try #require(viewers.add([track], Nowhere(), peer: "viewer"))
        #expect(isWoken())
        output.followConnection()
        #expect(channels.keyframes.claim())
        var writer = RTCPWriter()
        writer.pictureLoss(from: 1, media: 5)
        for _ in 0..<2 { writer.bytes.withUnsafeBytes { viewer.receive($0, at: .now()) } }
        #expect(isWoken())
        #expect(viewers.add([track], Nowhere(), peer: "nobody") == nil)
        output.followConnection()
        #expect(channels.keyframes.claim())
    }
}
