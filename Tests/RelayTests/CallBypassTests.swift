import Container
import Endpoint
import Media
import Settings
import TestStreams
import TestSupport
import Testing
@testable import Bitstream
@testable import Packets
@testable import Relay
@testable import Transport

/// Which pictures go out as they came where viewers of calls get them, too: those that they can show.
struct CallBypassTests {
    enum Format { case h264, reordered, mpeg2, mpeg4 }

    /// The way that a stream's first picture takes, and what is said about it.
    private func first(
        _ format: Format, _ mode: StreamSettings.Mode, forCalls: Bool = true, ladder: Bool = false
    ) throws -> (step: PathSwitch.Step?, notes: [String]) {
        let url = try StreamURL("rtp://127.0.0.1:9")
        var configuration = RelayConfiguration(input: .standardStream, output: url)
        configuration.settings.mode = mode
        let channels = StreamChannels(configuration)
        channels.path.ladderWantsBypass = ladder
        let sink = forCalls ? Sink(url, viewers: RTPViewers(capacity: 1)) : try Sink(url)
        let output = SendStage(sinks: [sink], passing: PassingStreams(), channels: channels)
        let router = PictureRouter(
            queue: UnitQueue(books: channels.books), output: output, mode: mode, mayWait: false, channels: channels)
        var step: PathSwitch.Step?
        var demuxer = TransportStreamDemuxer()
        func handle(_ event: ContainerEvent) {
            switch event {
            case .program(let program): if let video = program.mainVideo { router.beginStream(video) }
            case .format(var parameters):
                if format == .reordered { parameters.reordering = 2 }
                router.beginFormat(parameters)
            case .unit(let unit): step = step ?? router.decide(unit, at: Timeline.start, isTimed: true).step
            case .fault, .multiplex, .packets: break
            }
        }
        try stream(format).withUnsafeBytes {
            demuxer.push($0, arrival: .now(), sourceTime: nil, handler: handle)
        }
        demuxer.finish(handler: handle)
        var notes: [String] = []
        while case .message(let text) = channels.control.events.pop(until: .now()) { notes.append(text) }
        return (step, notes.filter { $0.contains("calls") })
    }

    private func stream(_ format: Format) throws -> [UInt8] {
        var layout = TransportStreamLayout()
        let picture: [UInt8]
        switch format {
        case .h264, .reordered: picture = TestStream.coded(in: try TestStream.video(frames: 1, keyframeEvery: 1))[0].bytes
        case .mpeg2:
            layout.video = .init(streamType: 0x02)
            picture =
                MPEG2Stream.sequence(isLowDelay: true) + MPEG2Stream.group(isClosed: true)
                + MPEG2Stream.picture(place: 0, kind: 1)
        case .mpeg4:
            layout.video = .init(streamType: 0x10)
            picture = [0, 0, 1, 0xb6] + [UInt8](repeating: 7, count: 40)
        }
        let muxer = try TransportStreamMuxer(layout)
        var stream: [UInt8] = []
        for number in 0..<2 as Range<Int64> {
            let time = MediaTime(ticks: 900_000 + number * 3_000)
            picture.withUnsafeBytes {
                muxer.writeVideo($0, presentationTime: time, decodeTime: time, isKeyframe: true) {
                    stream.append(contentsOf: $0)
                }
            }
        }
        return stream
    }

    @Test(arguments: [Format.h264, .reordered, .mpeg2]) func whatViewersCannotShowIsEnhanced(format: Format) throws {
        let isShown = format == .h264
        let byMode = try first(format, .bypass)
        #expect(byMode.step == (isShown ? .bypass : .enhance) && byMode.notes.count == (isShown ? 0 : 1), "\(byMode)")
        let byLadder = try first(format, .enhance, ladder: true)
        #expect(byLadder.step == (isShown ? .bypass : .enhance) && byLadder.notes.isEmpty, "\(byLadder)")
        // Others can.
        let withoutCalls = try first(format, .bypass, forCalls: false)
        #expect(withoutCalls.step == .bypass && withoutCalls.notes.isEmpty, "\(withoutCalls)")
    }

    /// Nothing can be made of it for them.
    @Test(arguments: [true, false]) func whatCannotBeEnhancedIsMissedAndThatIsSaid(forCalls: Bool) throws {
        let forced = try first(.mpeg4, .enhance, forCalls: forCalls)
        #expect(forced.step == .bypass && forced.notes.count == (forCalls ? 1 : 0), "\(forced)")
        #expect(forced.notes.allSatisfy { $0.hasPrefix("viewers of calls get no picture") })
    }
}
