import Codec
import Endpoint
import Foundation
import Measure
import Media
import Packets
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// A relay with RTP at one end, on loopback, with real sockets on ports that the system chose.
@Suite(.serialized, .timeLimit(.minutes(3))) struct RTPRelayTests {
    private typealias Running = SRTRelayTests.Running

    private func send(frames: Int64, to port: UInt16) throws {
        let sink = try Sink(try StreamURL("rtp://127.0.0.1:\(port)"))
        var configuration = TestSourceConfiguration()
        configuration.size = PictureSize(width: 160, height: 96)
        configuration.frames = frames
        configuration.hasAudio = true
        _ = try LiveTestSource(configuration, to: sink).run(stopped: { false }, event: { _ in })
    }

    /// Source time plus window plus budget, once timestamps are known to tell the time; until then from the arrival.
    @Test func deadlinesCountFromTheSendersTime() throws {
        let scratch = try Scratch()
        let running = try Running(input: "rtp://127.0.0.1:0?latency=30", output: scratch.path("out.ts")) {
            $0.tracePath = scratch.path("trace.csv")
        }
        try send(frames: 120, to: running.relay.inputPort)
        // A sender that ends says so, and another one may come.
        running.await { $0 == "input: disconnected: the sender said goodbye" }
        try send(frames: 30, to: running.relay.inputPort)
        running.await { _ in running.events.count { $0.contains("said goodbye") } == 2 }
        let report = try #require(running.stop())
        #expect(report.frames.originals == 150 && report.frames.emitted == 150 && report.frames.balance)
        #expect(report.counters["input_connections"] == 2 && report.counters["input_gaps"] == nil)
        #expect(report.input.window == .zero && !report.input.isConnected && report.input.reports >= 4)

        let trace = try Trace.read(String(decoding: scratch.read("trace.csv"), as: UTF8.self))
        let budget = running.relay.configuration.settings.budget
        let origins = trace.sorted { $0.id < $1.id }.compactMap { record in record.origin.map { (record, $0) } }
        #expect(origins.count == 150)
        var onTime = 0
        for (record, origin) in origins {
            let window = origin.kind == .source ? Nanoseconds.milliseconds(30) : .zero
            let due = origin.time + window + budget
            // Where the sender was held up, the frames behind it came together. They are early, so they are due later.
            #expect(record.emitBy >= due, "frame \(record.id)")
            if record.emitBy == due { onTime += 1 }
        }
        #expect(onTime > 75, "\(onTime)")
        #expect(origins[0].1.kind == .arrival && origins.contains { $0.1.kind == .source })
    }

    /// Loss, jitter and reordering on the way: what never came is told, and the books balance.
    @Test func aBadNetworkLeavesTheBooksInOrder() throws {
        let scratch = try Scratch()
        let running = try Running(input: "rtp://127.0.0.1:0?latency=100", output: scratch.path("out.ts"))
        var settings = ImpairmentSettings()
        settings.loss = 0.02
        settings.jitter = .milliseconds(3)
        settings.reorder = 0.03
        settings.reorderBy = .milliseconds(5)
        settings.seed = 6
        let (proxy, reports) = try impairedPair(to: running.relay.inputPort, settings)
        try send(frames: 120, to: proxy.localPort)
        // It says goodbye, or that gets lost.
        running.await { $0.contains("input: disconnected") }
        let report = try #require(running.stop())
        #expect(report.frames.originals > 90 && report.frames.balance && report.frames.inFlight == 0)
        #expect((report.counters["input_messages_lost"] ?? 0) > 0)
        #expect(report.counters["input_messages_lost"] == UInt64(report.input.packetsDropped))
        // The leg tells of all: continuity counters find nothing more.
        #expect(report.counters["input_packets_lost"] == nil)
        #expect(proxy.counts.lost >= report.input.packetsDropped && reports.counts.forwarded >= 1)
    }

    /// Two proxies on neighbouring ports, for a stream and its reports.
    private func impairedPair(
        to port: UInt16, _ settings: ImpairmentSettings
    ) throws -> (stream: ImpairmentProxy, reports: ImpairmentProxy) {
        while true {
            let stream = try ImpairmentProxy(to: UDPEndpoint(host: "127.0.0.1", port: port), settings: settings)
            guard stream.localPort < .max,
                let reports = try? ImpairmentProxy(
                    port: stream.localPort + 1, to: UDPEndpoint(host: "127.0.0.1", port: port + 1), settings: settings)
            else { continue }
            return (stream, reports)
        }
    }

    @Test func anOutputIsReadByAnInput() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 60, keyframeEvery: 20)
        let source = try Source(try StreamURL("rtp://127.0.0.1:0"))
        let running = try Running(
            input: try scratch.write(stream, to: "in.ts"), output: "rtp://127.0.0.1:\(source.localPort)")
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
        defer { buffer.deallocate() }
        var received: [UInt8] = []
        let limit = MonotonicTime.now() + .seconds(60)
        while TestStream.units(in: received).count < 60, .now() < limit {
            if case .message(let message) = source.receive(into: buffer, until: .now() + .milliseconds(100)) {
                received += buffer[..<message.byteCount]
            }
        }
        let report = try #require(running.stop())
        #expect(TestStream.units(in: received).count == 60)
        #expect(report.frames.emitted == 60 && report.frames.balance)
        #expect(report.output.packetsSent == source.statistics().packetsReceived && report.output.reports >= 1)
    }
}
