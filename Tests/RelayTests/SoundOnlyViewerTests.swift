import Endpoint
import Media
import Telemetry
import Testing
@testable import Packets
@testable import Relay
@testable import Transport

/// A viewer of a call who can show no format of ours, and gets sound alone.
struct SoundOnlyViewerTests {
    private final class Nowhere: RTPSendWire {
        func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent { .sent }
    }

    private static let sound = RTPTrack([RTPFormat(.opus, payloadType: 111, channels: 2)])
    private static let picture = RTPTrack([RTPFormat(.h264, payloadType: 100)])

    private static func send(_ outputs: inout FanOut) -> FanOut.Outcome {
        outputs.countOffered()
        let picture: [UInt8] = [0, 0, 0, 1, 0x65, 1, 2, 3]
        return picture.withUnsafeBytes { bytes in
            outputs.sendVideo(
                isKeyframe: true, stamp: .now(), media: MediaUnit(kind: .video, bytes: bytes, presentation: MediaTime(ticks: 0))
            ) { _ in }
        }
    }

    /// No keyframe is made for them, no unit of video is due to them, and they are not the reason to make pictures.
    @Test func theyAreNoReceiverOfPictures() throws {
        let viewers = RTPViewers(capacity: 2)
        var outputs = FanOut([Sink(try StreamURL("rtp://127.0.0.1:9"), viewers: viewers)], map: nil)
        _ = try #require(viewers.add([Self.sound], Nowhere(), peer: "sound"))
        var come = outputs.follow { _, _ in }
        var wants = outputs.claimKeyframe()
        var (isThere, takesPictures) = (outputs.hasReceivers, outputs.hasPictureReceivers)
        #expect(come == 1 && !wants && isThere && !takesPictures)
        var outcome = Self.send(&outputs)
        var books = outputs.books[0]
        #expect(outcome.receivers == 0 && books[.notConnected] == 1 && books.balance)

        _ = try #require(viewers.add([Self.picture, Self.sound], Nowhere(), peer: "picture"))
        come = outputs.follow { _, _ in }
        wants = outputs.claimKeyframe()
        (isThere, takesPictures) = (outputs.hasReceivers, outputs.hasPictureReceivers)
        #expect(come == 1 && wants && isThere && takesPictures)
        outcome = Self.send(&outputs)
        books = outputs.books[0]
        #expect(outcome.whole == 1 && books.sent == 1 && books.balance)
    }
}
