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
@testable import Packets
@testable import Relay
@testable import Transport

/// Keyframes that a call's publisher is asked for on behalf of those behind the relay. Publisher, relay and viewer exchange RTP and
/// RTCP packets in memory, as a WebRTC transport carries them.
@Suite(.timeLimit(.minutes(2))) struct CallKeyframeTests {
    /// Sends coded pictures to the relay, and hears what it asks for.
    final class Publisher {
        let inbox = CallInbox()
        private let viewers = RTPViewers(capacity: 1)
        private let own: RTPViewer
        private let sink: Sink
        let pictures: [TestStream.Coded]
        private let sent = Atomic<Int>(0)
        private let keepsTime: Bool
        private let begin = MonotonicTime.now()
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

        /// - Parameters:
        ///   - hasSound: it sends a second track, of Opus.
        ///   - keepsTime: its time stamps go with the clock. Otherwise each picture is 33 ms after the one before.
        ///   - keyframeEvery: every so manieth picture is a keyframe; the first one alone otherwise.
        init(hasSound: Bool = false, keepsTime: Bool = false, keyframeEvery: Int = 1_000) throws {
            self.keepsTime = keepsTime
            pictures = TestStream.coded(in: try TestStream.video(frames: 40, keyframeEvery: keyframeEvery))
            let track = RTPTrack([RTPFormat(.h264, payloadType: 96)])
            let tracks = hasSound ? [track, RTPTrack([RTPFormat(.opus, payloadType: 111, channels: 2)])] : [track]
            own = try #require(viewers.add(tracks, Forward(inbox), peer: "relay"))
            sink = Sink(try StreamURL("rtp://127.0.0.1:9"), viewers: viewers)
            back.publisher.withLock { $0 = own }
            inbox.begin(tracks, peer: "publisher", feedback: back)
        }

        /// Sends a packet of silence, and time for the next one passes.
        func sendSound() {
            guard let connection = sink.connection(at: 0) else { return }
            let time = MediaTime(ticks: Int64(soundsSent.add(1, ordering: .relaxed).newValue) * 1_800)
            ([0xf8, 0xff, 0xfe] as [UInt8]).withUnsafeBytes { body in
                _ = sink.viewers!.viewer(of: connection)!.send(
                    UnsafeRawBufferPointer(start: nil, count: 0), body, .sound, presentation: time, sourceTime: .now(),
                    isMarked: false)
            }
            (MonotonicTime.now() + .milliseconds(20)).sleep()
        }

        private let soundsSent = Atomic<Int>(0)

        /// Sends a picture, 33 ms after the one before by its time stamp.
        func send(_ index: Int, adjust: (inout [UInt8]) -> Void = { _ in }) throws {
            let connection = try #require(sink.connection(at: 0))
            var bytes = pictures[index].bytes
            adjust(&bytes)
            let next = Int64(sent.add(1, ordering: .relaxed).newValue) * 3_000
            let time = MediaTime(ticks: keepsTime ? MediaTime.ticks(in: .now() - begin) : next)
            var payloads = MediaPayloads()
            bytes.withUnsafeBytes { bytes in
                payloads.forEach(of: MediaUnit(kind: .video, bytes: bytes, presentation: time)) { head, body, time, isMarked in
                    _ = sink.viewers!.viewer(of: connection)!.send(
                        head, body, .video, presentation: time, sourceTime: .now(), isMarked: isMarked)
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

        /// - Parameter joins: false for one that comes later (``join()``).
        init(joins: Bool = true) throws {
            state = Lock(State(session: RTPReceiveSession([Self.track])))
            if joins { try join() }
        }

        private static var track: RTPTrack {
            var track = RTPTrack([RTPFormat(.h264, payloadType: 100)])
            track.feedback = .pictureLoss
            return track
        }

        func join() throws {
            state.withLock { $0.session = RTPReceiveSession([Self.track]) }
            let viewer = try #require(viewers.add([Self.track], self, peer: "viewer"))
            own.withLock { $0 = viewer }
        }

        func leave() { if let viewer = own.withLock({ $0 }) { viewers.remove(viewer) } }

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
                state.session.keyframeWish = .milliseconds(250)
                state.session.nextFeedback(at: .now()) { packet, _ in packets.append(Array(packet)) }
                state.session.keyframeWish = nil
            }
            for packet in packets { packet.withUnsafeBytes { own.withLock { $0 }?.receive($0, at: .now()) } }
        }
    }

    private func relay(
        _ publisher: Publisher, to viewer: Viewer, _ mode: StreamSettings.Mode,
        _ adjust: @escaping (inout RelayConfiguration) -> Void = { _ in }
    ) throws -> SRTRelayTests.Running {
        let running = try SRTRelayTests.Running(input: "rtp://127.0.0.1:0", output: "rtp://127.0.0.1:9") {
            guard let url = try? StreamURL("rtp://127.0.0.1:9") else { return }
            $0.inputCall = Source($0.input, over: publisher.inbox)
            $0.outputCalls = [0: Sink(url, viewers: viewer.viewers)]
            $0.settings.mode = mode
            adjust(&$0)
        }
        wait { running.relay.channels.connection.receiversSoFar == viewer.viewers.viewers.count }
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
        let keyframes = running.relay.channels.keyframes
        #expect(running.relay.channels.path.isBypassed && !keyframes.sourceOwesOne)
        // The keyframe has come whole, and two pictures behind it: nothing is asked for any more.
        let before = publisher.requests
        viewer.askForAKeyframe()
        wait { publisher.requests > before }
        #expect(keyframes.sourceOwesOne)
        try publisher.send(0)
        wait { viewer.pictures == 4 }
        try publisher.send(1)
        wait { viewer.pictures == 5 }
        #expect(!keyframes.sourceOwesOne)
        let report = try #require(running.stop())
        #expect(report.frames.bypassed == 5 && report.frames.balance, "\(report.text)")
    }

    /// Pictures as fast as they can be made, and none between them.
    private func plainly(_ configuration: inout RelayConfiguration) {
        configuration.settings.tier = .base
        configuration.settings.interpolate = 1
    }

    /// The source sends sound alone for a while, as a shared screen that stands still, and the output need not go on meanwhile. Whoever
    /// asks for a keyframe gets the last picture, and the source's next picture follows it.
    @Test func whoJoinsInAPauseGetsTheLastPicture() throws {
        let (publisher, viewer) = (try Publisher(hasSound: true, keepsTime: true), try Viewer())
        let running = try relay(publisher, to: viewer, .enhance) {
            plainly(&$0)
            $0.settings.budget = .seconds(60)
            $0.options.keepOutput = false
        }
        for index in 0..<4 { try publisher.send(index) }
        wait { viewer.pictures == 4 }
        for number in 1...2 {
            wait {
                publisher.sendSound()
                viewer.askForAKeyframe()
                return viewer.pictures >= 4 + number
            }
        }
        try publisher.send(4)
        let ledger = running.relay.channels.books.ledger
        wait { ledger.books.originals == 5 && ledger.inFlight == 0 }
        let report = try #require(running.stop())
        #expect(report.frames.repeated >= 2 && report.frames.emitted == 5 + report.frames.repeated, "\(report.text)")
        #expect(report.frames.balance && report.counters["slates"] ?? 0 == 0 && report.counters["source_losses"] ?? 0 == 0)
    }

    enum Output: CaseIterable { case asTheSource, goesOn, constant }

    /// Nobody watches when the source's pictures come. Who joins in a pause gets the newest of them, through the enhancement, and the
    /// source's next picture follows it. The same for who joins when others have left, who saw an older one.
    @Test(arguments: Output.allCases) func theFirstWhoJoinsInAPauseGetsTheNewestPicture(output: Output) throws {
        let (publisher, viewer) = (try Publisher(hasSound: true, keepsTime: true), try Viewer(joins: false))
        let running = try relay(publisher, to: viewer, .enhance) {
            plainly(&$0)
            $0.settings.budget = .seconds(60)
            $0.options.keepOutput = output == .goesOn
            $0.options.fps = output == .constant ? Rational(30) : nil
        }
        let channels = running.relay.channels
        let ledger = channels.books.ledger
        var cursor: UInt64 = 0
        var shown = 0
        for (number, first) in [0, 4].enumerated() {
            for index in first..<first + 3 { try publisher.send(index) }
            wait { ledger.books[.outputDown] == UInt64(3 * number + 3) && ledger.inFlight == 0 }
            #expect(channels.connection.picturesUnseen == 3 * number + 3)
            try viewer.join()
            let before = viewer.pictures
            wait {
                publisher.sendSound()
                return viewer.pictures > before
            }
            wait { ledger.inFlight == 0 }
            _ = ledger.read(since: &cursor) { record, fate in
                guard record.kind == .repeated, fate == .emitted else { return }
                shown += 1
                #expect(record[.enhanceOut] != nil, "that is the picture of before")
            }
            #expect(shown == number + 1)
            try publisher.send(first + 3)
            wait { viewer.pictures > before + 1 && ledger.books.originals == 4 * number + 4 && ledger.inFlight == 0 }
            _ = ledger.read(since: &cursor) { _, _ in }
            viewer.leave()
            wait { !channels.connection.isConnected }
        }
        let report = try #require(running.stop())
        #expect(report.frames.originals == 8 && report.frames.balance, "\(report.text)")
        // At a constant rate pictures are repeated in the slots before the next one, too.
        #expect(output == .constant || report.frames.repeated == 2 && report.frames.dropped == 6, "\(report.text)")
    }

    /// Its sound says that the source is there: the last picture is repeated, and never the grey one.
    @Test func thePictureStaysWhileSoundComes() throws {
        let (publisher, viewer) = (try Publisher(hasSound: true), try Viewer())
        let running = try relay(publisher, to: viewer, .enhance) {
            plainly(&$0)
            $0.settings.budget = .milliseconds(500)
            $0.options.keepOutput = true
            $0.options.hold = .seconds(2)
        }
        let books = running.relay.channels.books
        for index in 0..<4 { try publisher.send(index) }
        // More than three seconds at 30 a second.
        wait {
            publisher.sendSound()
            return books.ledger.books.repeated >= 100
        }
        let last = try #require(running.stop())
        #expect(last.counters["slates"] ?? 0 == 0 && last.counters["source_losses"] == 1, "\(last.counters)")
        #expect(running.events.count { $0.contains("the last one is repeated") } == 1)
    }

    /// Browsers send a keyframe only when they are asked: a change of the mode asks, in both directions, also while no picture comes.
    @Test func aChangeOfTheModeAsksForTheKeyframeThatItNeeds() throws {
        let (publisher, viewer) = (try Publisher(), try Viewer())
        let running = try relay(publisher, to: viewer, .enhance)
        let channels = running.relay.channels
        func change(to mode: StreamSettings.Mode) throws {
            let before = publisher.requests
            var settings = running.relay.settings
            settings.mode = mode
            running.relay.change(settings)
            wait { publisher.requests > before }
            #expect(channels.path.isBypassed == (mode == .enhance))
            try publisher.send(0)
            wait { channels.path.isBypassed == (mode == .bypass) }
        }
        for index in 0..<4 { try publisher.send(index) }
        wait { channels.books.ledger.books.originals == 4 }
        try change(to: .bypass)
        try publisher.send(1)
        try change(to: .enhance)
        try publisher.send(1)
        wait { channels.books.ledger.books.originals == 8 }
        let report = try #require(running.stop())
        #expect(report.frames.originals == 8 && report.frames.bypassed == 2 && report.frames.balance, "\(report.text)")
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
        #expect(channels.keyframes.undecodable == nil)
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
        #expect(channels.keyframes.undecodable != nil && channels.books.counters[.inputGaps] == 0)
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
