import Codec
import Container
import Endpoint
import Foundation
import Glibc
import Measure
import Media
import Packets
import Schedule
import Settings
import Synchronization
import TestStreams
import Testing
import Transport
@testable import Relay

/// A relay between a sender and a receiver on loopback, with real sockets on ports that the system chose.
@Suite(.serialized, .timeLimit(.minutes(3))) struct SRTRelayTests {
    /// A relay that runs on a thread of its own until it is stopped.
    final class Running: Sendable {
        let relay: Relay
        private let thread: StageThread
        private let outcome: Outcome

        final class Outcome: Sendable {
            let report = Lock<RelayReport?>(nil)
            let events = Lock<[String]>([])
        }

        init(input: String, output: String, adjust: (inout RelayConfiguration) -> Void = { _ in }) throws {
            var configuration = RelayConfiguration(input: try StreamURL(input), output: try StreamURL(output))
            configuration.settings.budget = .seconds(60)
            configuration.options.keepOutput = false
            adjust(&configuration)
            let relay = try Relay(configuration)
            let outcome = Outcome()
            self.relay = relay
            self.outcome = outcome
            thread = StageThread(name: "relay") {
                let report = try? relay.run { observation in
                    if case .event(let event) = observation { outcome.events.withLock { $0.append("\(event)") } }
                }
                outcome.report.withLock { $0 = report }
            }
        }

        func stop() -> RelayReport? {
            relay.stop()
            thread.join()
            return outcome.report.withLock { $0 }
        }

        /// Waits until an event is reported that begins as asked.
        func await(_ isThere: (String) -> Bool) {
            while !events.contains(where: isThere) { (MonotonicTime.now() + .milliseconds(2)).sleep() }
        }

        var events: [String] { outcome.events.withLock { $0 } }
    }

    private func send(
        frames: Int64, rate: Int64 = 30, to port: UInt16, options: String = "", hasAudio: Bool = false
    ) throws -> TestSourceReport {
        let sink = try Sink(try StreamURL("srt://127.0.0.1:\(port)?latency=20\(options)"))
        try sink.awaitConnection(until: .now() + .seconds(20))
        var configuration = TestSourceConfiguration()
        configuration.size = PictureSize(width: 160, height: 96)
        configuration.frames = frames
        configuration.rate = Rational(rate)
        configuration.hasAudio = hasAudio
        let report = try LiveTestSource(configuration, to: sink).run(stopped: { false }, event: { _ in })
        sink.flush(until: .now() + .seconds(5))
        return report
    }

    /// Receives until the stream pauses for a while.
    private final class Receiver: Sendable {
        let source: Source
        private let thread: StageThread
        private let result: Box

        final class Box: Sendable {
            let report = Lock<ProbeReport?>(nil)
            let connected = Atomic<Bool>(false)
            let stopped = Atomic<Bool>(false)
        }

        convenience init(port: UInt16) throws { try self.init("srt://127.0.0.1:\(port)?latency=20") }

        init(_ url: String, ended: @escaping @Sendable (Int) -> Bool = { _ in false }) throws {
            let source = try Source(try StreamURL(url))
            let seen = Count()
            let box = Box()
            self.source = source
            result = box
            thread = StageThread(name: "receiver") {
                let probe = try? LiveProbe(
                    source, statistics: ProbeStatistics(warmUp: 0),
                    event: { if case .connected = $0 { box.connected.store(true, ordering: .releasing) } },
                    each: { _ in _ = seen.next() })
                let report = try? probe?.run(limit: nil, pictureTimeout: .seconds(60)) {
                    box.stopped.load(ordering: .acquiring) || ended(seen.calls)
                }
                box.report.withLock { $0 = report }
            }
        }

        func awaitConnection() {
            while !result.connected.load(ordering: .acquiring) { (MonotonicTime.now() + .milliseconds(2)).sleep() }
        }

        /// Waits until it has seen all that it was to see.
        func finish() -> ProbeReport? {
            thread.join()
            return result.report.withLock { $0 }
        }

        func stop() -> ProbeReport? {
            result.stopped.store(true, ordering: .releasing)
            source.interrupt()
            thread.join()
            return result.report.withLock { $0 }
        }
    }

    @Test func aStreamGoesThroughAndASecondSenderTakesOver() throws {
        let running = try Running(
            input: "srt://127.0.0.1:0?mode=listener&latency=20", output: "srt://127.0.0.1:0?mode=listener&latency=20")
        let receiver = try Receiver(port: running.relay.outputPort)
        receiver.awaitConnection()
        let first = try send(frames: 30, to: running.relay.inputPort)
        // A listener has one caller at a time; it says when the first has gone.
        running.await { $0.contains("input: disconnected") }
        let second = try send(frames: 30, to: running.relay.inputPort)
        let report = try #require(running.stop())
        let seen = try #require(receiver.stop())

        #expect(first.messagesRefused == 0 && second.messagesRefused == 0)
        #expect(report.frames.originals == 60)
        #expect(report.frames.balance && report.frames.inFlight == 0)
        #expect(report.frames.emitted == 60)
        #expect(report.counters["input_connections"] == 2)
        #expect(seen.received > 0 && seen.outOfOrder == 0)
        #expect(seen.width == 320 && seen.height == 192)
    }

    /// Without a constant rate the output goes on, too, when it has to: repeats at the source's rate, the slate, silence. The
    /// times of pictures and of sound go on without a gap and do not go back when the source returns.
    @Test(arguments: [1, 2]) func anOutputGoesOnWhileTheSourceIsGone(interpolate: Int) throws {
        let scratch = try Scratch()
        let running = try Running(input: "srt://127.0.0.1:0?mode=listener&latency=20", output: scratch.path("out.ts")) {
            $0.options.keepOutput = true
            $0.options.hold = .milliseconds(400)
            $0.settings.budget = .milliseconds(80)
            $0.settings.interpolate = interpolate
            $0.settings.tier = .base
        }
        func counter(_ name: String) -> UInt64 { running.relay.report(since: .now()).counters[name] ?? 0 }
        for round in 1...2 {
            _ = try send(frames: 45, to: running.relay.inputPort, hasAudio: true)
            running.await { $0.contains("input: disconnected") }
            let slates = counter("slates")
            while counter("slates") < slates + 40 { (MonotonicTime.now() + .milliseconds(2)).sleep() }
            #expect(counter("source_losses") == round)
        }
        _ = try send(frames: 45, to: running.relay.inputPort, hasAudio: true)
        running.await { $0.contains("pictures come again") }
        let report = try #require(running.stop())
        #expect(report.frames.originals == 135 && report.frames.balance && report.frames.inFlight == 0)
        #expect(report.frames.repeated >= 80 && report.counters["silent_units"] ?? 0 > 40, "\(report.counters)")
        #expect(running.events.count { $0.contains("the last one is repeated") } >= 2)

        let sent = try scratch.read("out.ts")
        let units = TestStream.units(in: sent)
        #expect(units.count == Int(report.frames.emitted))
        #expect(zip(units, units.dropFirst()).allSatisfy { $0.presentation < $1.presentation })
        #expect(units.count(where: \.isKeyframe) > 4)
        let audio = TestStream.passedTimes(in: sent)
        let silent = Int(report.counters["silent_units"] ?? 0)
        #expect(audio.count == Int(report.counters["passing_units_out"] ?? 0) + silent)
        #expect(zip(audio, audio.dropFirst()).allSatisfy { $0 < $1 })
    }

    /// At a constant rate every slot has a frame, whatever the source does: first its last frame again, then the slate, then
    /// what it sends when it is back. However slow the machine is, which of them a slot has is all that changes.
    @Test func aConstantRateGoesOnWhileTheSourceIsGone() throws {
        let scratch = try Scratch()
        let running = try Running(input: "srt://127.0.0.1:0?mode=listener&latency=20", output: scratch.path("out.ts")) {
            $0.options.fps = Rational(60)
            $0.options.hold = .milliseconds(400)
            $0.settings.budget = .milliseconds(80)
        }
        _ = try send(frames: 30, to: running.relay.inputPort, hasAudio: true)
        running.await { $0.contains("input: disconnected") }
        func slates() -> UInt64 { running.relay.report(since: .now()).counters["slates"] ?? 0 }
        while slates() < 150 { (MonotonicTime.now() + .milliseconds(2)).sleep() }
        _ = try send(frames: 30, to: running.relay.inputPort, hasAudio: true)
        let report = try #require(running.stop())

        #expect(report.frames.originals == 60 && report.frames.balance && report.frames.inFlight == 0)
        #expect(report.frames.repeated > slates() && report.counters["input_connections"] == 2)
        let sent = try scratch.read("out.ts")
        let units = TestStream.units(in: sent)
        #expect(units.count == Int(report.frames.emitted))
        let grid = SlotGrid(rate: Rational(60), start: Timeline.start)
        let slots = units.map { grid.slot(at: $0.presentation) }
        #expect(zip(units, slots).allSatisfy { $0.presentation == grid.time(of: $1) })
        #expect(zip(slots, slots.dropFirst()).allSatisfy { $0 < $1 })
        // None is without a frame that is not counted; on a machine with time for it, none at all.
        let empty = Int64(report.counters["slots_empty"] ?? 0)
        #expect(slots.last! - slots[0] + 1 == Int64(slots.count) + empty)
        // Whoever comes while there is no source finds a keyframe to begin with.
        let keyframes = zip(units, slots).filter { $0.0.isKeyframe }.map(\.1)
        let gaps = zip(keyframes, keyframes.dropFirst()).map { $1 - $0 }
        #expect(!gaps.isEmpty && gaps.allSatisfy { $0 <= 200 } || empty > 0, "\(keyframes)")
        // What passes through is not moved back.
        let audio = TestStream.passedTimes(in: sent)
        #expect(audio.count == Int(report.counters["passing_units_out"] ?? 0) && audio.count > 60)
        #expect(zip(audio, audio.dropFirst()).allSatisfy { $0 < $1 })
    }

    /// A stream that can be neither enhanced nor passed is one, however often its source calls.
    @Test func aStreamThatIsLeftOutIsToldAndCountedOnce() throws {
        var layout = TransportStreamLayout()
        layout.passedStreams = [.init(streamType: 0x05, streamID: 0xBD)]
        let encoder = try VideoEncoder(
            VideoEncoderConfiguration(size: PictureSize(width: 160, height: 96), frameRate: Rational(30)))
        let muxer = try TransportStreamMuxer(layout)
        let picture = Picture(size: PictureSize(width: 160, height: 96))
        let running = try Running(
            input: "srt://127.0.0.1:0?mode=listener&latency=20", output: "udp://127.0.0.1:9")
        for round in 0..<3 {
            // A listener has one caller at a time; it says when the first has gone.
            while running.events.count(where: { $0.contains("input: disconnected") }) < round {
                (MonotonicTime.now() + .milliseconds(2)).sleep()
            }
            let sink = try Sink(try StreamURL("srt://127.0.0.1:\(running.relay.inputPort)?latency=20"))
            try sink.awaitConnection(until: .now() + .seconds(20))
            muxer.restart()
            for index in (round * 10)..<(round * 10 + 10) {
                let time = MediaTime(ticks: 900_000 + Int64(index) * 3_000)
                try encoder.encode(picture.view, id: Int64(index), at: time, asKeyframe: index % 10 == 0) { unit in
                    muxer.writeVideo(
                        unit.bytes, presentationTime: unit.presentationTime, decodeTime: unit.decodeTime,
                        isKeyframe: unit.isKeyframe
                    ) { #expect(sink.send($0) == .sent) }
                }
                [UInt8](repeating: 1, count: 20).withUnsafeBytes {
                    muxer.writePassed(stream: 0, $0, presentationTime: time) { #expect(sink.send($0) == .sent) }
                }
            }
            sink.flush(until: .now() + .seconds(5))
            while running.relay.report(since: .now()).frames.originals < UInt64(10 * (round + 1)) {
                (MonotonicTime.now() + .milliseconds(2)).sleep()
            }
        }
        let report = try #require(running.stop())
        #expect(report.counters["input_connections"] == 3 && report.counters["streams_ignored"] == 1)
        #expect(running.events.count { $0.contains("is left out") } == 1)
        // Its packets are counted too.
        #expect(report.counters["input_packets_unused"] == 30, "\(report.counters)")
    }

    @Test func aWrongPassphraseIsRefusedInWordsAndTheListenerLivesOn() throws {
        // The port for what is to be thrown away: whether anybody is there is of no account.
        let running = try Running(
            input: "srt://127.0.0.1:0?mode=listener&latency=20&passphrase=right-horse-battery",
            output: "udp://127.0.0.1:9")
        #expect(throws: (any Error).self) {
            try send(frames: 2, to: running.relay.inputPort, options: "&passphrase=wrong-horse-battery")
        }
        _ = try send(frames: 10, to: running.relay.inputPort, options: "&passphrase=right-horse-battery")
        let report = try #require(running.stop())
        #expect(report.frames.originals == 10)
        #expect(report.frames.balance)
        #expect(!running.events.joined().contains("horse"))
    }

    @Test func anOutputThatNobodyTakesIsCountedNotQueued() throws {
        let running = try Running(
            input: "srt://127.0.0.1:0?mode=listener&latency=20", output: "srt://127.0.0.1:0?mode=listener&latency=20")
        _ = try send(frames: 20, to: running.relay.inputPort)
        let report = try #require(running.stop())
        #expect(report.frames.originals == 20)
        #expect(report.frames.droppedByReason["output_down"] == 20)
        #expect(report.frames.balance && report.frames.inFlight == 0)
    }

    @Test func anOutputThatRefusesAtTheStartIsAnError() throws {
        // Somebody who says nothing keeps the port, so that nobody else gets it.
        let silent = try Source(StreamURL("udp://127.0.0.1:0"))
        var configuration = RelayConfiguration(
            input: .standardStream, output: try StreamURL("srt://127.0.0.1:\(silent.localPort)?latency=20"))
        configuration.firstConnection = .milliseconds(300)
        let relay = try Relay(configuration)
        #expect(throws: RelayFailure.self) { _ = try relay.run { _ in } }
        withExtendedLifetime(silent) {}
    }

    /// The input's sound is in step to the microsecond; so is the output's, with synthesised frames between.
    @Test(arguments: [(1, nil, 30), (2, nil, 30), (1, 24, 24), (1, 25, 25), (1, 30, 30), (1, 50, 25), (1, 60, 30)])
    func soundStaysInStepWithThePicture(interpolate: Int, fps: Int64?, source: Int64) throws {
        let running = try Running(
            input: "srt://127.0.0.1:0?mode=listener&latency=20", output: "srt://127.0.0.1:0?mode=listener&latency=20"
        ) {
            $0.settings.interpolate = interpolate
            $0.options.fps = fps.map { Rational($0) }
        }
        let receiver = try Receiver(port: running.relay.outputPort)
        receiver.awaitConnection()
        _ = try send(frames: 75, rate: source, to: running.relay.inputPort, hasAudio: true)
        let report = try #require(running.stop())
        let seen = try #require(receiver.stop())
        #expect(report.counters["passing_units_out"] == report.counters["passing_units_in"])
        let offset = try #require(seen.audioOffset)
        #expect(offset.count > 60 && abs(offset.least) < 1 && abs(offset.greatest) < 1, "\(offset)")
    }

    /// Reads a leg until its first picture has come whole.
    private func firstPicture(from port: UInt16) throws -> (firstPackets: [UInt16], isKeyframe: Bool)? {
        let source = try Source(try StreamURL("srt://127.0.0.1:\(port)?latency=20"))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
        defer { buffer.deallocate() }
        var demuxer = TransportStreamDemuxer()
        var packets: [UInt16] = []
        var isKeyframe: Bool?
        let limit = MonotonicTime.now() + .seconds(60)
        while isKeyframe == nil, .now() < limit {
            guard case .message(let message) = source.receive(into: buffer, until: limit) else { continue }
            for at in stride(from: 0, to: message.byteCount - 3, by: 188) {
                packets.append(UInt16(buffer[at + 1] & 0x1F) << 8 | UInt16(buffer[at + 2]))
            }
            demuxer.push(
                UnsafeRawBufferPointer(rebasing: buffer[..<message.byteCount]), arrival: message.arrival,
                sourceTime: nil
            ) { event in
                if case .unit(let unit) = event, unit.isMainVideo { isKeyframe = isKeyframe ?? unit.isKeyframe }
            }
        }
        return isKeyframe.map { (Array(packets.prefix(2)), $0) }
    }

    /// The source has one keyframe at its start; a receiver that comes later, or comes back, gets one of its own.
    @Test func aReceiverThatReturnsGetsTablesAndAKeyframeFirst() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 900, size: PictureSize(width: 64, height: 64), keyframeEvery: 10_000)
        let running = try Running(
            input: try scratch.write(stream, to: "in.ts"), output: "srt://127.0.0.1:0?mode=listener&latency=20")
        for round in 0..<3 {
            let first = try #require(try firstPicture(from: running.relay.outputPort), "no picture in round \(round)")
            #expect(first.isKeyframe && first.firstPackets == [0, 0x1000], "round \(round): \(first)")
        }
        let report = try #require(running.stop())
        #expect(report.frames.balance && report.frames.inFlight == 0)
        #expect(report.counters["output_connections"] == 3)
        let reasons = Set(report.frames.droppedByReason.keys)
        #expect(reasons.isSubset(of: ["output_down"]), "\(report.frames)")
    }

    // MARK: UDP

    /// Sends bytes as datagrams of one size, at a pace that a socket's buffer bears.
    private func sendDatagrams(_ bytes: [UInt8], of size: Int, to port: UInt16) throws {
        let number = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(number) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(connected == 0)
        for start in stride(from: 0, to: bytes.count, by: size) {
            let part = bytes[start..<min(bytes.count, start + size)]
            try #require(part.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, 0) } == part.count)
            (MonotonicTime.now() + .microseconds(500)).sleep()
        }
    }

    /// Packets that go on in the next datagram, as with FFmpeg's default of 1472 bytes, and datagrams larger than ours.
    @Test(arguments: [188, 1000, 1316, 1472, 9212]) func datagramsOfAnySize(size: Int) throws {
        let scratch = try Scratch()
        let running = try Running(input: "udp://127.0.0.1:0", output: scratch.path("out.ts"))
        running.await { $0.contains("input: listening") }
        let stream = try TestStream.video(frames: 30, keyframeEvery: 10_000)
        try sendDatagrams(stream, of: size, to: running.relay.inputPort)
        while running.relay.report(since: .now()).frames.originals < 30 { (MonotonicTime.now() + .milliseconds(2)).sleep() }
        let report = try #require(running.stop())
        #expect(report.frames.emitted == 30 && report.frames.balance)
        #expect(report.counters["pictures_damaged"] == nil && report.counters["input_gaps"] == nil)
        #expect(TestStream.units(in: try scratch.read("out.ts")).count == 30)
    }

    /// A multiplex that stuffs the middle of a picture, after it has only ever stuffed ends.
    @Test func aPictureThatWasTornByItsMultiplexIsCounted() throws {
        let scratch = try Scratch()
        let running = try Running(input: "udp://127.0.0.1:0", output: scratch.path("out.ts"))
        running.await { $0.contains("input: listening") }
        let stream = Self.misleading(try TestStream.video(frames: 110, keyframeEvery: 1), picture: 95)
        try sendDatagrams(stream, of: 188, to: running.relay.inputPort)
        while running.relay.report(since: .now()).frames.originals < 108 { (MonotonicTime.now() + .milliseconds(2)).sleep() }
        let report = try #require(running.stop())
        #expect(report.counters["input_units_torn"] == 1, "\(report.counters)")
        #expect((report.counters["units_ended_by_stuffing"] ?? 0) > 20)
        #expect(report.text.contains("input units torn 1"))
        #expect(report.frames.balance)
    }

    /// Takes the lengths from the PES headers of the video, and puts stuffing into the middle of one picture.
    private static func misleading(_ stream: [UInt8], picture: Int) -> [UInt8] {
        var packets: [[UInt8]] = []
        var pictures = 0
        var isDone = false
        for at in stride(from: 0, to: stream.count, by: 188) {
            var packet = Array(stream[at..<at + 188])
            let isVideo = TestMultiplex.pid(in: packet, at: 0) == TransportStreamLayout().videoPID
            let starts = isVideo && packet[1] & 0x40 != 0
            if starts {
                let header = 4 + (packet[3] & 0x20 != 0 ? 1 + Int(packet[4]) : 0)
                packet[header + 4] = 0
                packet[header + 5] = 0
                pictures += 1
            }
            if isVideo, !starts, !isDone, pictures == picture + 1, packet[3] & 0x20 == 0 {
                isDone = true
                for part in [packet[4..<104], packet[104...]] {
                    packets.append(
                        Array(packet[..<3]) + [packet[3] | 0x30, UInt8(183 - part.count), 0]
                            + [UInt8](repeating: 0xFF, count: 182 - part.count) + Array(part))
                }
            } else {
                packets.append(packet)
            }
        }
        var continuity: UInt8 = 0
        for index in packets.indices
        where UInt16(packets[index][1] & 0x1F) << 8 | UInt16(packets[index][2]) == TransportStreamLayout().videoPID
            && packets[index][3] & 0x10 != 0
        {
            packets[index][3] = packets[index][3] & 0xF0 | continuity & 15
            continuity &+= 1
        }
        return packets.flatMap { $0 }
    }

    /// Every paced frame leaves, and arrives where there is no window to even anything out.
    @Test func aThousandPacedFramesArrive() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(
            frames: 1000, size: PictureSize(width: 64, height: 64), rate: 200, keyframeEvery: 100)
        let receiver = try Receiver("udp://127.0.0.1:0") { $0 == 1000 }
        let running = try Running(
            input: try scratch.write(stream, to: "in.ts"), output: "udp://127.0.0.1:\(receiver.source.localPort)"
        ) {
            $0.settings.pacing = .paced
            // However little of the machine the other tests leave, within a budget of a minute none need be dropped.
            $0.weights.swamped = .infinity
        }
        let seen = try #require(receiver.finish())
        let report = try #require(running.stop())
        #expect(report.frames.emitted == 1000 && report.frames.dropped == 0 && report.frames.balance, "\(report.frames)")
        #expect(seen.received == 1000 && seen.outOfOrder == 0)
    }
}
