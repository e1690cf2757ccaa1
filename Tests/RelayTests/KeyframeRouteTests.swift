import Container
import Endpoint
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
@testable import Relay
@testable import Transport

/// Whom a call's sender is asked for: the output's receivers while its pictures pass, the decoder and its queue otherwise.
struct KeyframeRouteTests {
    @Test func receiversCountWhileTheSourcesPicturesPass() throws {
        let scratch = try Scratch()
        let configuration = RelayConfiguration(input: .standardStream, output: .file(path: scratch.path("out.ts")))
        let channels = StreamChannels(configuration)
        let sink = try Sink(configuration.outputs[0])
        let output = SendStage(sinks: [sink], passing: PassingStreams(), channels: channels)
        let queue = UnitQueue(capacity: 2, books: channels.books)
        let router = PictureRouter(queue: queue, output: output, mode: .enhance, mayWait: false, channels: channels)
        channels.keyframes.want()
        #expect(router.keyframeWish(isAsked: false, at: .now()) == nil, "the encoder makes it")
        channels.path.beginBypass()
        #expect(router.keyframeWish(isAsked: false, at: .now()) != nil)
        channels.keyframes.hasGoneOut()
        channels.keyframes.cannotDecode(3)
        #expect(router.keyframeWish(isAsked: false, at: .now()) == nil, "nothing is decoded")
        channels.path.beginRun()
        #expect(router.keyframeWish(isAsked: false, at: .now()) != nil)
    }

    /// Pictures go on meanwhile, so once a second is enough.
    @Test func aChangeOfTheWayIsAskedForWithoutHaste() throws {
        let scratch = try Scratch()
        let configuration = RelayConfiguration(input: .standardStream, output: .file(path: scratch.path("out.ts")))
        let channels = StreamChannels(configuration)
        let output = SendStage(sinks: [try Sink(configuration.outputs[0])], passing: PassingStreams(), channels: channels)
        let queue = UnitQueue(capacity: 8, books: channels.books)
        let router = PictureRouter(queue: queue, output: output, mode: .enhance, mayWait: false, channels: channels)
        router.change(.bypass)
        #expect(router.keyframeWish(isAsked: false, at: .now()) == nil, "no picture has come that could change its way")
        router.change(.enhance)
        var demuxer = TransportStreamDemuxer()
        var changes: [PathSwitch.Step] = []
        func handle(_ event: ContainerEvent) {
            switch event {
            case .program(let program): if let video = program.mainVideo { router.beginStream(video) }
            case .format(let parameters): router.beginFormat(parameters)
            case .unit(let unit): changes.append(router.decide(unit, at: Timeline.start, isTimed: true).step)
            case .fault, .multiplex, .packets: break
            }
        }
        let stream = try TestStream.video(frames: 2, keyframeEvery: 1_000)
        stream.withUnsafeBytes { demuxer.push($0, arrival: .now(), sourceTime: nil, handler: handle) }
        #expect(!changes.isEmpty && router.keyframeWish(isAsked: false, at: .now()) == nil)
        router.change(.bypass)
        #expect(router.keyframeWish(isAsked: false, at: .now()) == .seconds(1))
        channels.keyframes.cannotDecode(3)
        #expect(router.keyframeWish(isAsked: false, at: .now()) == .milliseconds(250), "nothing is shown meanwhile")
    }

    /// The queue was full, so units are dropped up to the next keyframe.
    @Test func aQueueThatWasFullAsksUntilAKeyframeComes() throws {
        let scratch = try Scratch()
        let configuration = RelayConfiguration(input: .standardStream, output: .file(path: scratch.path("out.ts")))
        let channels = StreamChannels(configuration)
        let sink = try Sink(configuration.outputs[0])
        let output = SendStage(sinks: [sink], passing: PassingStreams(), channels: channels)
        let queue = UnitQueue(capacity: 2, books: channels.books)
        let router = PictureRouter(queue: queue, output: output, mode: .enhance, mayWait: false, channels: channels)
        var wishes: [Bool] = []
        for number in 0..<4 {
            var ticket: FrameTicket? = channels.books.ledger.open(
                .original, presentation: Timeline.start + Int64(number) * 3_000)
            [UInt8(number)].withUnsafeBytes {
                queue.add(ticket.take()!, $0, flags: [], isKeyframe: number == 0 || number == 3, mayWait: false)
            }
            wishes.append(router.keyframeWish(isAsked: false, at: .now()) != nil)
        }
        #expect(wishes == [false, false, true, false])
        queue.close()
        while let unit = queue.pop() {
            if let buffer = unit.buffer { queue.recycle(buffer) }
            if let ticket = unit.intoTicket() { channels.books.drop(ticket, .shutdown) }
        }
    }
}
