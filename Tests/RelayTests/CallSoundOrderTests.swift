import Codec
import Container
import Endpoint
import Media
import Schedule
import Settings
import Synchronization
import Telemetry
import TestStreams
import Testing
import Transport

@testable import Relay

/// When sound leaves, for calls and for receivers of a multiplex. The send stage's own thread does not run here.
struct CallSoundOrderTests {
    /// Counts the packets that a viewer gets.
    private final class Wire: RTPSendWire {
        private let packets = Mutex([0, 0])

        func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
            if !isControl { packets.withLock { $0[track] += 1 } }
            return .sent
        }

        var soundPackets: Int { packets.withLock { $0[1] } }
    }

    private let scratch: Scratch
    private let channels: StreamChannels
    private let passing = PassingStreams()
    private let viewers = RTPViewers(capacity: 1)
    private let wire = Wire()
    private let output: SendStage

    init() throws {
        scratch = try Scratch()
        let configuration = RelayConfiguration(input: .standardStream, output: .file(path: scratch.path("out.ts")))
        channels = StreamChannels(configuration)
        var layout = TransportStreamLayout()
        // The registration of Opus, and two channels.
        layout.passedStreams = [
            .init(streamType: 6, descriptors: [5, 4] + Array("Opus".utf8) + [0x7f, 2, 0x80, 2], streamID: 0xbd)
        ]
        passing.layout = layout
        let video = RTPTrack([RTPFormat(.h264, payloadType: 96)])
        let sound = RTPTrack([RTPFormat(.opus, payloadType: 111, channels: 2)])
        _ = viewers.add([video, sound], wire, peer: "viewer")
        let sinks = [try Sink(configuration.outputs[0]), Sink(try StreamURL("rtp://127.0.0.1:9"), viewers: viewers)]
        output = SendStage(sinks: sinks, passing: passing, channels: channels)
        output.followConnection()
    }

    /// Encodes and sends the first picture, and with it the program's layout.
    private func sendPicture() {
        let finished = BoundedQueue<FinishedFrame>(capacity: 1)
        let encode = StageThread(name: "encode") { [output, channels] in
            EncodeStage(finished: finished, output: output, channels: channels).run()
        }
        let pool = PicturePool(size: PictureSize(width: 160, height: 96), count: 1)
        guard let picture = pool.lease() else { return }
        let ticket = channels.books.ledger.open(.original, presentation: Timeline.start)
        _ = finished.push(
            FinishedFrame(
                ticket: ticket, picture: picture, color: ColorDescription(), interval: .milliseconds(33), turn: .now()))
        finished.close()
        encode.join()
    }

    /// A packet of Opus with its control header, beside a picture that comes only later.
    private func offerSound(provisionalEpoch: UInt32? = nil) {
        let unit: [UInt8] = [0x7f, 0xe0, 3, 0xfc, 1, 2]
        let taken = unit.withUnsafeBytes {
            passing.offer(
                $0, stream: 0, presentation: Timeline.start + 9000, provisionalEpoch: provisionalEpoch, arrival: .now(),
                sourceTime: nil, emitBy: .now() + .seconds(3600))
        }
        #expect(taken)
    }

    @Test func callsGetSoundAtOnceAndAMultiplexGetsItBesideItsPicture() {
        sendPicture()
        offerSound()
        output.skipPicture(at: Timeline.start)
        #expect(wire.soundPackets == 1 && channels.books.counters[.passingOut] == 0)
        output.skipPicture(at: Timeline.start + 9000)
        #expect(wire.soundPackets == 1 && channels.books.counters[.passingOut] == 1)
        #expect(channels.books.counters[.passingDropped] == 0)
    }

    /// Its time may still move with the first picture's, or its program map has not gone out.
    @Test(arguments: [true, false]) func soundWithoutASettledPlaceWaitsForAll(hasPicture: Bool) {
        if hasPicture { sendPicture() }
        offerSound(provisionalEpoch: hasPicture ? 7 : nil)
        output.skipPicture(at: Timeline.start)
        #expect(wire.soundPackets == 0 && channels.books.counters[.passingOut] == 0)
        if !hasPicture { sendPicture() }
        output.skipPicture(at: Timeline.start + 9000)
        #expect(wire.soundPackets == 1 && channels.books.counters[.passingOut] == 1)
    }
}
