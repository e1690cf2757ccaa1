import Codec
import Container
import Endpoint
import Media
import Packets
import Settings
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// A program's sound reaches the viewers of a call, through the whole relay.
@Suite(.timeLimit(.minutes(2))) struct CallSoundRelayTests {
    /// Pictures at 30 a second and AAC beside them, with a click at every ninth picture.
    private static func program(seconds: Int) throws -> [UInt8] {
        let start = MediaTime(ticks: 900_000)
        let frames = seconds * 30
        var layout = TransportStreamLayout()
        layout.passedStreams = [.aac]
        let muxer = try TransportStreamMuxer(layout)
        let encoder = try VideoEncoder(
            VideoEncoderConfiguration(size: PictureSize(width: 160, height: 96), frameRate: Rational(30)))
        let picture = Picture(size: PictureSize(width: 160, height: 96))
        var sound = try TestSound.aac(frames: seconds * 47, start: start) { $0 % 14_400 == 4_800 }[...]
        var stream: [UInt8] = []
        for index in 0..<frames {
            let time = start + Int64(index) * 3_000
            try encoder.encode(picture.view, id: Int64(index), at: time, asKeyframe: index == 0) { unit in
                muxer.writeVideo(
                    unit.bytes, presentationTime: unit.presentationTime, decodeTime: unit.decodeTime,
                    isKeyframe: unit.isKeyframe
                ) { stream.append(contentsOf: $0) }
            }
            while let unit = sound.first, unit.time < time + 3_000 {
                sound.removeFirst()
                unit.bytes.withUnsafeBytes {
                    muxer.writePassed(stream: 0, $0, presentationTime: unit.time) { stream.append(contentsOf: $0) }
                }
            }
        }
        return stream
    }

    /// AAC in, Opus out: a click is heard with its picture.
    @Test func aClickOfAACIsHeardWithItsPicture() throws {
        let scratch = try Scratch()
        let input = try scratch.write(try Self.program(seconds: 3), to: "source.ts")
        let call = HeardCall()
        let url = try StreamURL("rtp://127.0.0.1:9")
        var configuration = RelayConfiguration(input: .file(path: input), output: url)
        configuration.settings.mode = .bypass
        configuration.settings.budget = .seconds(60)
        configuration.pacesFiles = true
        configuration.outputCalls = [0: Sink(url, viewers: call.viewers)]
        var events: [String] = []
        let relay = try Relay(configuration)
        let report = try relay.run { if case .event(let event) = $0 { events.append("\(event)") } }
        call.leave()
        let pictures = try call.pictures()
        let clicks = try call.clicks(scratch)
        #expect(pictures.count == 90 && clicks.count == 10, "\(clicks)")
        for (number, click) in clicks.enumerated() where 3 + number * 9 < pictures.count {
            let offset = click - pictures[3 + number * 9]
            #expect(abs(offset) < 0.02, "click \(number): \(offset * 1000) ms")
        }
        #expect(events.count { $0.contains("AAC is transcoded to Opus for calls") } == 1, "\(events)")
        func count(_ name: String) -> UInt64 { report.counters[name] ?? 0 }
        let fates = ["transcoded", "broken", "late", "overrun", "failed"].map { count("call_sound_units_\($0)") }
        #expect(count("call_sound_units_in") == fates.reduce(0, +) && fates[0] > 135, "\(report.counters)")
        #expect(count("call_sound_packets_out") == UInt64(call.soundPackets) && count("call_sound_packets_dropped") == 0)
        #expect(
            count("passing_units_in") == count("passing_units_out") + count("passing_units_dropped")
                && count("passing_units_dropped") == 0, "\(report.counters)")
    }

    /// Nobody watches: nothing is transcoded, and no thread is made for it.
    @Test func nothingIsTranscodedForNobody() throws {
        let scratch = try Scratch()
        let input = try scratch.write(try Self.program(seconds: 1), to: "source.ts")
        let call = HeardCall(joins: false)
        let url = try StreamURL("rtp://127.0.0.1:9")
        var configuration = RelayConfiguration(input: .file(path: input), outputs: [.file(path: scratch.path("out.ts")), url])
        configuration.settings.mode = .bypass
        configuration.settings.budget = .seconds(60)
        configuration.outputCalls = [1: Sink(url, viewers: call.viewers)]
        let report = try Relay(configuration).run { _ in }
        #expect(report.counters["call_sound_units_in"] == nil, "\(report.counters)")
        #expect(
            TestStream.passed(in: try scratch.read("out.ts")).units
                == TestStream.passed(in: try scratch.read("source.ts")).units)
    }

    /// Sends packets of Opus to the relay, as a call's publisher does.
    private final class Publisher {
        private final class Forward: RTPSendWire {
            let inbox: CallInbox
            init(_ inbox: CallInbox) { self.inbox = inbox }

            func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
                inbox.push(packet, arrival: .now())
                return .sent
            }
        }

        /// Nothing comes back.
        private final class Back: RTPSendWire {
            func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent { .sent }
        }

        let inbox = CallInbox()
        private let viewers = RTPViewers(capacity: 1)
        private let sink: Sink
        private var sent: Int64 = 0

        /// - Parameter hasVideo: the call may have pictures. None is sent.
        init(hasVideo: Bool) throws {
            let video = RTPTrack([RTPFormat(.h264, payloadType: 96)])
            let sound = RTPTrack([RTPFormat(.opus, payloadType: 111, channels: 2)])
            let tracks = hasVideo ? [video, sound] : [sound]
            _ = try #require(viewers.add(tracks, Forward(inbox), peer: "relay"))
            sink = Sink(try StreamURL("rtp://127.0.0.1:9"), viewers: viewers)
            inbox.begin(tracks, peer: "publisher", feedback: Back())
        }

        /// Sends 20 ms of sound with a number.
        func send(_ number: UInt8) throws {
            let connection = try #require(sink.connection(at: 0))
            let time = MediaTime(ticks: sent * 1_800)
            sent += 1
            [0xfc, number, 1].withUnsafeBytes { packet in
                let none = UnsafeRawBufferPointer(start: nil, count: 0)
                _ = sink.viewers!.viewer(of: connection)!.send(
                    packet, none, .sound, presentation: time, sourceTime: .now(), isMarked: false)
            }
        }
    }

    /// Nobody sends a picture, whether or not the call may have some: a viewer hears the sound at once.
    @Test(arguments: [true, false]) func aPublisherWithoutPicturesIsHeard(hasVideo: Bool) throws {
        let publisher = try Publisher(hasVideo: hasVideo)
        let call = HeardCall()
        let url = try StreamURL("rtp://127.0.0.1:9")
        let running = try SRTRelayTests.Running(input: "rtp://127.0.0.1:0", output: "rtp://127.0.0.1:9") {
            $0.inputCall = Source($0.input, over: publisher.inbox)
            $0.outputCalls = [0: Sink(url, viewers: call.viewers)]
        }
        func wait(until isThere: () -> Bool) {
            while !isThere() { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        }
        wait { running.relay.channels.connection.receiversSoFar == 1 }
        // The budget is a minute: nothing leaves because its time is over.
        for number in 1...20 as ClosedRange<UInt8> { try publisher.send(number) }
        wait { call.soundPackets == 20 }
        #expect(call.numbers == Array(1...20))
        let report = try #require(running.stop())
        #expect(report.counters["passing_units_in"] == 20 && report.counters["passing_units_out"] == 20, "\(report.counters)")
        #expect(report.counters["passing_units_dropped"] == nil)
    }
}
