import Codec
import Container
import Endpoint
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// When sound leaves, for calls and for receivers of a multiplex. The send stage's own thread does not run here.
struct CallSoundOrderTests {
    private let scratch: Scratch
    private let channels: StreamChannels
    private let passing = PassingStreams()
    private let call = HeardCall(joins: false)
    private let output: SendStage

    init() throws {
        scratch = try Scratch()
        let configuration = RelayConfiguration(input: .standardStream, output: .file(path: scratch.path("out.ts")))
        channels = StreamChannels(configuration)
        passing.layout = Self.layout([.opus])
        let sinks = [try Sink(configuration.outputs[0]), Sink(try StreamURL("rtp://127.0.0.1:9"), viewers: call.viewers)]
        output = SendStage(sinks: sinks, passing: passing, channels: channels)
        call.join()
        output.followConnection()
    }

    private static func layout(_ streams: [TransportStreamLayout.PassedStream]) -> TransportStreamLayout {
        var layout = TransportStreamLayout()
        layout.passedStreams = streams
        return layout
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
                ticket: ticket, picture: picture, color: ColorDescription(), interval: .milliseconds(33), turn: .now(),
                original: nil))
        finished.close()
        encode.join()
    }

    /// A packet of Opus with its control header and a number, beside a picture that comes only later.
    private func offerSound(_ number: UInt8 = 1, stream: Int = 0, provisionalEpoch: UInt32? = nil) {
        let unit: [UInt8] = [0x7f, 0xe0, 3, 0xfc, number, 2]
        let taken = unit.withUnsafeBytes {
            passing.offer(
                $0, stream: stream, presentation: Timeline.start + 9000 + Int64(number) * 1_800,
                provisionalEpoch: provisionalEpoch, arrival: .now(), sourceTime: nil, emitBy: .now() + .seconds(3600))
        }
        #expect(taken)
    }

    @Test func callsGetSoundAtOnceAndAMultiplexGetsItBesideItsPicture() {
        sendPicture()
        offerSound()
        output.skipPicture(at: Timeline.start)
        #expect(call.soundPackets == 1 && channels.books.counters[.passingOut] == 0)
        output.skipPicture(at: Timeline.start + 18_000)
        #expect(call.soundPackets == 1 && channels.books.counters[.passingOut] == 1)
        #expect(channels.books.counters[.passingDropped] == 0)
    }

    /// Its time may still move with the first picture's, or its program map has not gone out. Calls need neither.
    @Test(arguments: [true, false]) func soundWithoutASettledPlaceWaitsForAMultiplexAlone(hasPicture: Bool) {
        if hasPicture { sendPicture() }
        offerSound(provisionalEpoch: hasPicture ? 7 : nil)
        output.skipPicture(at: Timeline.start)
        #expect(call.soundPackets == 1 && channels.books.counters[.passingOut] == 0)
        if !hasPicture { sendPicture() }
        output.skipPicture(at: Timeline.start + 18_000)
        #expect(call.soundPackets == 1 && channels.books.counters[.passingOut] == 1)
    }

    /// Sound whose place is settled comes behind sound that waits for its place: calls get it in its order, and each packet once.
    @Test func callsGetSoundInItsOrder() {
        sendPicture()
        offerSound(1)
        offerSound(2, provisionalEpoch: 7)
        offerSound(3)
        output.skipPicture(at: Timeline.start)
        #expect(call.numbers == [1, 2, 3] && channels.books.counters[.passingOut] == 0)
        output.skipPicture(at: Timeline.start + 18_000)
        #expect(call.numbers == [1, 2, 3] && channels.books.counters[.passingOut] == 3)
    }

    /// At a change of layout the stream goes on at another place. What came under the former layout leaves first, also where
    /// nobody has looked at it before the change.
    @Test func aChangeOfLayoutKeepsTheOrder() {
        sendPicture()
        offerSound(1)
        passing.layout = Self.layout([.aac, .opus])
        offerSound(9, stream: 0)
        offerSound(2, stream: 1)
        passing.layout = Self.layout([.opus, .aac])
        offerSound(3, stream: 0)
        offerSound(9, stream: 1)
        output.skipPicture(at: Timeline.start)
        #expect(call.numbers == [1, 2, 3])
        sendPicture()
        output.skipPicture(at: Timeline.start + 90_000)
        #expect(call.numbers == [1, 2, 3])
        let counters = channels.books.counters
        #expect(counters[.passingOut] + counters[.passingDropped] == 5)
    }

    /// The source is lost, and pictures are repeated: viewers get the silence that stands for its sound, also where it is transcoded.
    @Test(arguments: [TransportStreamLayout.PassedStream.opus, .aac])
    func callsGetSilenceForALostSource(stream: TransportStreamLayout.PassedStream) throws {
        passing.layout = Self.layout([stream])
        sendPicture()
        // It came a second ago, and nothing behind it.
        let aac = try TestSound.aac(frames: 3, start: Timeline.start).dropFirst()
        let units = stream == .aac ? aac.map(\.bytes) : [[0x7f, 0xe0, 3, 0xfc, 1, 2]]
        for (number, unit) in units.enumerated() {
            let taken = unit.withUnsafeBytes {
                passing.offer(
                    $0, stream: 0, presentation: Timeline.start + Int64(number) * 1_920, arrival: .now() - .seconds(1),
                    sourceTime: nil, emitBy: .now() + .seconds(3600))
            }
            #expect(taken)
        }
        output.skipPicture(at: Timeline.start + 9_000)
        let counters = channels.books.counters
        #expect(counters[.passingOut] == UInt64(units.count) && counters[.silentUnits] == 0)
        // The silence is made on another thread. Each picture asks again.
        let time = Timeline.start + 12_000
        while counters[.silentUnits] == 0 {
            let ticket = channels.books.ledger.open(.repeated, presentation: time)
            let picture: [UInt8] = [0, 0, 1, 0x41, 1, 2]
            let facts = CodedUnit(presentation: time, decode: time, isKeyframe: false)
            output.deliver(picture.span.bytes, facts, ticket, encoded: .now(), .repeated(.now()))
        }
        output.finish()
        output.run()
        let silent = Int(counters[.silentUnits])
        if stream == .aac {
            #expect(counters[.callSoundIn] == UInt64(units.count + silent))
            #expect(counters[.callSoundTranscoded] == counters[.callSoundIn] && counters[.callPacketsDropped] == 0)
            #expect(call.soundPackets == Int(counters[.callPacketsOut]) && call.soundPackets >= 2 * (units.count + silent))
        } else {
            #expect(call.soundPackets == 1 + silent)
        }
    }

    /// Sound that came before a viewer has no use for it: newer sound goes to it at once.
    @Test func aViewerWhoComesGetsNoSoundFromBefore() {
        sendPicture()
        call.leave()
        output.followConnection()
        offerSound(1)
        output.skipPicture(at: Timeline.start)
        call.join()
        output.followConnection()
        offerSound(2)
        output.skipPicture(at: Timeline.start)
        output.skipPicture(at: Timeline.start + 18_000)
        #expect(call.numbers == [2] && channels.books.counters[.passingOut] == 2)
    }
}

extension TransportStreamLayout.PassedStream {
    /// The registration of Opus, and two channels.
    static let opus = Self(streamType: 6, descriptors: [5, 4] + Array("Opus".utf8) + [0x7f, 2, 0x80, 2], streamID: 0xbd)
}
