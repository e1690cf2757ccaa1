import Container
import Endpoint
import Measure
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// A sender that begins with half a second at once and stays ahead by that.
@Suite(.serialized, .timeLimit(.minutes(3))) struct BurstTests {
    @Test(arguments: [StreamSettings.Pacing.eager, .paced])
    func framesThatComeAtOnceAreEarlyAndNotLate(pacing: StreamSettings.Pacing) throws {
        let scratch = try Scratch()
        let burst: Int64 = 15
        let running = try SRTRelayTests.Running(
            input: "srt://127.0.0.1:0?mode=listener&latency=20", output: scratch.path("out.ts")
        ) {
            $0.settings.pacing = pacing
            $0.settings.tier = .base
            $0.settings.budget = .seconds(5)
            $0.tracePath = scratch.path("trace.csv")
        }
        try send(burst: burst, to: running.relay.inputPort)
        running.await { $0.contains("input: disconnected") }
        let report = try #require(running.stop())
        #expect(report.frames.originals == 60 && report.frames.emitted == 60 && report.frames.balance)

        let trace = try Trace.read(String(decoding: scratch.read("trace.csv"), as: UTF8.self))
        let frames = trace.filter { $0.kind == .original }.sorted { $0.presentation < $1.presentation }
        let first = frames[0]
        let last = frames[Int(burst) - 1]
        // Meanwhile deadlines may move towards the early frames by half of the time that the pictures show.
        let ahead = (last.presentation - first.presentation) * 1_000_000_000 / MediaTime.ticksPerSecond
        let (from, to) = (try #require(first.origin).time, try #require(last.origin).time)
        let sending = (to - from).count
        let later = (last.emitBy - first.emitBy).count - sending
        #expect(later >= ahead / 2 - sending, "due \(later) ns later than by its own time")
        #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.emitBy <= $1.emitBy })
    }

    private func send(burst: Int64, to port: UInt16) throws {
        let sink = try Sink(try StreamURL("srt://127.0.0.1:\(port)?latency=20"))
        try sink.awaitConnection(until: .now() + .seconds(20))
        var configuration = TestSourceConfiguration()
        configuration.size = PictureSize(width: 160, height: 96)
        configuration.frames = 60
        configuration.burst = burst
        _ = try LiveTestSource(configuration, to: sink).run(stopped: { false }, event: { _ in })
        sink.flush(until: .now() + .seconds(5))
    }
}
