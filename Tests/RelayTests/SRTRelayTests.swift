import Codec
import Foundation
import Measure
import Media
import Schedule
import Synchronization
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
            let report = Mutex<RelayReport?>(nil)
            let events = Mutex<[String]>([])
        }

        init(input: String, output: String, adjust: (inout RelayConfiguration) -> Void = { _ in }) throws {
            var configuration = RelayConfiguration(input: try StreamURL(input), output: try StreamURL(output))
            configuration.budget = .seconds(60)
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
        frames: Int64, to port: UInt16, options: String = "", withAudio: Bool = false
    ) throws -> TestSourceReport {
        let sink = try Sink(try StreamURL("srt://127.0.0.1:\(port)?latency=20\(options)"))
        try sink.awaitConnection(until: .now() + .seconds(20))
        var configuration = TestSourceConfiguration()
        configuration.size = PictureSize(width: 160, height: 96)
        configuration.frames = frames
        configuration.hasAudio = withAudio
        let report = try LiveTestSource(configuration, to: sink).run(stopped: { false }, event: { _ in })
        sink.flush(until: .now() + .seconds(5))
        return report
    }

    /// Receives until the stream pauses for a while.
    private final class Receiver: Sendable {
        let source: Source
        let connected = Atomic<Bool>(false)
        private let thread: StageThread
        private let result: Box

        final class Box: Sendable {
            let report = Mutex<ProbeReport?>(nil)
            let connected = Atomic<Bool>(false)
            let stopped = Atomic<Bool>(false)
        }

        init(port: UInt16) throws {
            let source = try Source(try StreamURL("srt://127.0.0.1:\(port)?latency=20"))
            let box = Box()
            self.source = source
            result = box
            thread = StageThread(name: "receiver") {
                let probe = try? LiveProbe(source, statistics: ProbeStatistics(warmUp: 0)) { event in
                    if case .connected = event { box.connected.store(true, ordering: .releasing) }
                }
                let report = try? probe?.run(limit: nil, patience: .seconds(60)) {
                    box.stopped.load(ordering: .acquiring)
                }
                box.report.withLock { $0 = report }
            }
        }

        func awaitConnection() {
            while !result.connected.load(ordering: .acquiring) { (MonotonicTime.now() + .milliseconds(2)).sleep() }
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

    /// At a constant rate every slot has a frame, whatever the source does: first its last frame again, then the slate, then
    /// what it sends when it is back. However slow the machine is, which of them a slot has is all that changes.
    @Test func aConstantRateGoesOnWhileTheSourceIsGone() throws {
        let scratch = try Scratch()
        let running = try Running(input: "srt://127.0.0.1:0?mode=listener&latency=20", output: scratch.path("out.ts")) {
            $0.fps = Rational(60)
            $0.hold = .milliseconds(400)
            $0.budget = .milliseconds(80)
        }
        _ = try send(frames: 30, to: running.relay.inputPort, withAudio: true)
        running.await { $0.contains("input: disconnected") }
        func slates() -> UInt64 { running.relay.report(since: .now()).counters["slates"] ?? 0 }
        while slates() < 150 { (MonotonicTime.now() + .milliseconds(2)).sleep() }
        _ = try send(frames: 30, to: running.relay.inputPort, withAudio: true)
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
        #expect(keyframes.count > 2 || empty > 0)
        // What passes through is neither lost nor moved back.
        let audio = TestStream.passedTimes(in: sent)
        #expect(report.counters["passing_units_dropped"] ?? 0 == 0)
        #expect(audio.count == Int(report.counters["passing_units_in"] ?? 0) && audio.count > 60)
        #expect(zip(audio, audio.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func aWrongPassphraseIsRefusedInWordsAndTheListenerLivesOn() throws {
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
        var configuration = RelayConfiguration(
            input: .standardStream, output: try StreamURL("srt://127.0.0.1:9?latency=20"))
        configuration.firstConnection = .milliseconds(300)
        let relay = try Relay(configuration)
        #expect(throws: RelayError.self) { _ = try relay.run { _ in } }
    }
}
