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

@testable import Relay
@testable import Transport

/// When a decoder that finds damage asks for a keyframe, in virtual time.
struct KeyframeWishTests {
    private func at(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

    @Test func damageAsksAtOnceUntilAKeyframeHasCome() {
        var wish = KeyframeWish()
        wish.keyframeCame(10, at: at(0))
        var asks = [wish.isDue(for: nil, isAsked: false, at: at(0))]
        // What the keyframe has repaired asks for nothing, however late it is found.
        asks.append(wish.isDue(for: 9, isAsked: false, at: at(10)))
        asks.append(wish.isDue(for: 12, isAsked: false, at: at(20)))
        asks.append(wish.isDue(for: 12, isAsked: false, at: at(200)))
        wish.keyframeCame(16, at: at(300))
        asks.append(wish.isDue(for: 15, isAsked: false, at: at(310)))
        #expect(asks == [false, false, true, true, false])
    }

    /// The sender is asked for the same keyframe already.
    @Test func damageByMissingPacketsAsksNoSecondTime() {
        var wish = KeyframeWish()
        wish.keyframeCame(0, at: at(0))
        var asks = [wish.isDue(for: 3, isAsked: true, at: at(10)), wish.isDue(for: 4, isAsked: true, at: at(20))]
        wish.keyframeCame(6, at: at(30))
        asks.append(wish.isDue(for: 5, isAsked: false, at: at(40)))
        // It does not count as damage in a row either.
        asks.append(wish.isDue(for: 7, isAsked: false, at: at(50)))
        #expect(asks == [false, false, false, true])
    }

    /// A stream that is damaged whatever comes gets a keyframe after 0, 2, 4, 8, 16 and 16 seconds, not twice a second for ever.
    @Test func aStreamThatNothingRepairsAsksLessAndLess() {
        var wish = KeyframeWish()
        var asked: [Int64] = []
        for milliseconds in stride(from: Int64(0), to: 60_000, by: 100) {
            let frame = UInt64(milliseconds / 100)
            guard wish.isDue(for: frame, isAsked: false, at: at(milliseconds)) else { continue }
            asked.append(milliseconds)
            wish.keyframeCame(frame + 1, at: at(milliseconds))
        }
        #expect(asked == [0, 2_100, 6_200, 14_300, 30_400, 46_500])
    }
}

/// Keyframes that a call's publisher is asked for on behalf of those behind the relay. Publisher, relay and viewer exchange RTP and
/// RTCP packets in memory, as a WebRTC transport carries them.
@Suite(.timeLimit(.minutes(2))) struct CallKeyframeTests {
    /// Sends coded pictures to the relay, and hears what it asks for.
    private final class Publisher {
        let inbox = CallInbox()
        private let viewers = RTPViewers(capacity: 1)
        private let own: RTPViewer
        private let sink: Sink
        private let pictures: [TestStream.Coded]
        private let sent = Atomic<Int>(0)
        private let back = Back()

        /// What the relay's feedback comes back on.
        private final class Back: RTPSendWire {
            let publisher = Lock<RTPViewer?>(nil)
            let goodbyes = Atomic<Int>(0)

            func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
                if hasGoodbye(packet) { goodbyes.add(1, ordering: .relaxed) }
                publisher.withLock { $0 }?.receive(packet, at: .now())
                return .sent
            }
        }

        private final class Forward: RTPSendWire {
            let inbox: CallInbox
            init(_ inbox: CallInbox) { self.inbox = inbox }

            func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
                inbox.push(packet, arrival: .now())
                return .sent
            }
        }

        init() throws {
            // The first picture is the only keyframe.
            pictures = TestStream.coded(in: try TestStream.video(frames: 40, keyframeEvery: 1_000))
            let track = RTPTrack([RTPFormat(.h264, payloadType: 96)])
            own = try #require(viewers.add([track], Forward(inbox), peer: "relay"))
            sink = Sink(try StreamURL("rtp://127.0.0.1:9"), viewers: viewers)
            back.publisher.withLock { $0 = own }
            inbox.begin([track], peer: "publisher", feedback: back)
        }

        /// Sends a picture, 33 ms after the one before by its time stamp.
        func send(_ index: Int, adjust: (inout [UInt8]) -> Void = { _ in }) throws {
            let connection = try #require(sink.connection(at: 0))
            var bytes = pictures[index].bytes
            adjust(&bytes)
            let time = MediaTime(ticks: Int64(sent.add(1, ordering: .relaxed).newValue) * 3_000)
            var payloads = MediaPayloads()
            bytes.withUnsafeBytes { bytes in
                payloads.forEach(of: MediaUnit(kind: .video, bytes: bytes, presentation: time)) { head, body, time, isMarked in
                    _ = sink.sendMedia(
                        head, body, .video, presentation: time, sourceTime: .now(), isMarked: isMarked, to: connection)
                }
            }
        }

        var goodbyes: Int { back.goodbyes.load(ordering: .relaxed) }

        /// How often it was asked for a keyframe.
        var requests: Int64 { own.feedback.keyframeRequests }
    }

    /// Gets what the relay sends, and asks for keyframes.
    private final class Viewer: RTPSendWire {
        private struct State: ~Copyable {
            var session: RTPReceiveSession
            var pictures = 0
            var goodbyes = 0
        }

        private let state: Lock<State>
        private let own = Lock<RTPViewer?>(nil)
        let viewers = RTPViewers(capacity: 1)

        init() throws {
            var track = RTPTrack([RTPFormat(.h264, payloadType: 100)])
            track.feedback = .pictureLoss
            state = Lock(State(session: RTPReceiveSession([track])))
            let viewer = try #require(viewers.add([track], self, peer: "viewer"))
            own.withLock { $0 = viewer }
        }

        func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
            let bytes = Array(packet)
            state.withLock { state in
                if isControl, hasGoodbye(packet) { state.goodbyes += 1 }
                _ = bytes.withUnsafeBytes { state.session.receive($0, arrival: .now()) }
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_048, alignment: 16)
                defer { buffer.deallocate() }
                while let (arrival, _) = state.session.next(at: .now(), into: buffer) {
                    if arrival.isMarked { state.pictures += 1 }
                }
            }
            return .sent
        }

        var goodbyes: Int { state.withLock { $0.goodbyes } }

        /// How many pictures have come.
        var pictures: Int { state.withLock { $0.pictures } }

        func askForAKeyframe() {
            var packets: [[UInt8]] = []
            state.withLock { state in
                state.session.wantsKeyframe = true
                state.session.nextFeedback(at: .now()) { packet, _ in packets.append(Array(packet)) }
                state.session.wantsKeyframe = false
            }
            for packet in packets { packet.withUnsafeBytes { own.withLock { $0 }?.receive($0, at: .now()) } }
        }
    }

    private func relay(
        _ publisher: Publisher, to viewer: Viewer, _ mode: StreamSettings.Mode
    ) throws -> SRTRelayTests.Running {
        let running = try SRTRelayTests.Running(input: "rtp://127.0.0.1:0", output: "rtp://127.0.0.1:9") {
            guard let url = try? StreamURL("rtp://127.0.0.1:9") else { return }
            $0.inputCall = Source($0.input, over: publisher.inbox)
            $0.outputCalls = [0: Sink(url, viewers: viewer.viewers)]
            $0.settings.mode = mode
        }
        wait { running.relay.channels.connection.receiversSoFar == 1 }
        return running
    }

    private func wait(until isThere: () -> Bool) {
        while !isThere() { (MonotonicTime.now() + .milliseconds(1)).sleep() }
    }

    /// The viewer's request reaches the publisher, although the relay makes no pictures and the publisher sends nothing more. The
    /// keyframe that comes ends it.
    @Test func aViewersRequestReachesThePublisherOfABypassedStream() throws {
        let (publisher, viewer) = (try Publisher(), try Viewer())
        let running = try relay(publisher, to: viewer, .bypass)
        for index in 0..<3 { try publisher.send(index) }
        wait { viewer.pictures == 3 }
        let keyframes = running.relay.channels.sourceKeyframes
        #expect(running.relay.channels.path.isBypassed && !keyframes.isWanted)
        // The keyframe has come whole, and two pictures behind it: nothing is asked for any more.
        let before = publisher.requests
        viewer.askForAKeyframe()
        wait { publisher.requests > before }
        #expect(keyframes.isWanted)
        try publisher.send(0)
        wait { viewer.pictures == 4 }
        try publisher.send(1)
        wait { viewer.pictures == 5 }
        #expect(!keyframes.isWanted)
        let report = try #require(running.stop())
        #expect(report.frames.bypassed == 5 && report.frames.balance, "\(report.text)")
    }

    /// The relay ends, and neither end has to find out by silence.
    @Test func bothEndsHearAGoodbye() throws {
        let (publisher, viewer) = (try Publisher(), try Viewer())
        let running = try relay(publisher, to: viewer, .bypass)
        for index in 0..<3 { try publisher.send(index) }
        wait { viewer.pictures == 3 }
        #expect(publisher.goodbyes == 0 && viewer.goodbyes == 0)
        _ = try #require(running.stop())
        #expect(publisher.goodbyes == 1 && viewer.goodbyes == 1)
        // Whoever carries the packets removes the viewer later.
        for each in viewer.viewers.viewers { viewer.viewers.remove(each) }
        #expect(viewer.goodbyes == 1)
    }

    enum Damage: CaseIterable { case missingReference, corruptSlice }

    /// No packet is missing, but the decoder finds damage: a picture was left out before it was sent, or its bytes are wrong.
    @Test(arguments: Damage.allCases) func damageThatOnlyTheDecoderFindsReachesThePublisher(damage: Damage) throws {
        let (publisher, viewer) = (try Publisher(), try Viewer())
        let running = try relay(publisher, to: viewer, .enhance)
        let channels = running.relay.channels
        for index in 0..<4 { try publisher.send(index) }
        wait { channels.books.ledger.books.originals == 4 }
        let before = publisher.requests
        #expect(channels.sourceKeyframes.undecodable == nil)
        switch damage {
        case .missingReference: for index in 5..<8 { try publisher.send(index) }
        case .corruptSlice:
            for index in 4..<8 {
                try publisher.send(index) { bytes in
                    // Behind the header of the slice.
                    for at in bytes.indices.dropFirst(bytes.count / 3) { bytes[at] = UInt8(truncatingIfNeeded: at &* 37) | 1 }
                }
            }
        }
        wait { publisher.requests > before }
        #expect(channels.sourceKeyframes.undecodable != nil && channels.books.counters[.inputGaps] == 0)
        let report = try #require(running.stop())
        #expect(report.frames.balance, "\(report.text)")
    }
}

/// Whether an RTCP datagram says goodbye.
private func hasGoodbye(_ packet: UnsafeRawBufferPointer) -> Bool {
    let bytes = unsafe Span<UInt8>(_unsafeElements: packet.assumingMemoryBound(to: UInt8.self))
    var reader = RTCPReader(bytes)
    while let packet = reader.next() { if case .goodbye = packet { return true } }
    return false
}

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
        channels.sourceKeyframes.want()
        #expect(!router.wantsKeyframe(isAsked: false, at: .now()), "the encoder makes it")
        channels.path.beginBypass()
        #expect(router.wantsKeyframe(isAsked: false, at: .now()))
        channels.sourceKeyframes.keyframeCame()
        channels.sourceKeyframes.cannotDecode(3)
        #expect(!router.wantsKeyframe(isAsked: false, at: .now()), "nothing is decoded")
        channels.path.beginRun()
        #expect(router.wantsKeyframe(isAsked: false, at: .now()))
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
            wishes.append(router.wantsKeyframe(isAsked: false, at: .now()))
        }
        #expect(wishes == [false, false, true, false])
        queue.close()
        while let unit = queue.pop() {
            if let buffer = unit.buffer { queue.recycle(buffer) }
            if let ticket = unit.intoTicket() { channels.books.drop(ticket, .shutdown) }
        }
    }
}
