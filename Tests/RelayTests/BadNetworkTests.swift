import Container
import Endpoint
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

/// A relay between two SRT legs that lose, delay and jumble what they carry, with the budget that it has by default: how
/// many frames are late depends on the machine, that each is accounted for does not.
@Suite(.serialized, .timeLimit(.minutes(3))) struct BadNetworkTests {
    /// What both legs do.
    private var settings: ImpairmentSettings {
        var settings = ImpairmentSettings()
        settings.loss = 0.03
        settings.delay = .milliseconds(20)
        settings.jitter = .milliseconds(4)
        settings.reorder = 0.02
        settings.seed = 5
        return settings
    }

    /// With a window in which what is lost is sent again, and with one in which it cannot be.
    @Test(arguments: [(400, 1), (25, 2)]) func everyFrameIsAccountedForOnABadNetwork(
        latency: Int, interpolate: Int
    ) throws {
        let scratch = try Scratch()
        let frames: Int64 = 90
        let outcome = try relay(scratch, frames: frames, latency: latency, interpolate: interpolate)
        let report = outcome.report
        let books = report.frames
        #expect(books.balance && books.inFlight == 0, "\(books)")

        // Each frame that was sent came, or lies in what is counted as lost: of each, a message at least. The last ones are not
        // asked for again, as nothing comes behind them.
        let sent = outcome.sent
        let lost = Int64(report.counters["input_messages_lost"] ?? 0) + sent.packetsDropped + sent.packetsBuffered
        let missing = frames - Int64(books.originals)
        #expect(missing >= 0 && missing <= lost, "\(missing) frames missing, \(lost) messages lost")
        #expect(report.input.packetsLost > 0 && (latency > 100 || lost > 0), "\(report.input)")

        // Each that came has one record: it went out, or there is a reason why not.
        let trace = try Trace.read(String(decoding: scratch.read("trace.csv"), as: UTF8.self))
        #expect(trace.count { $0.kind == .original } == Int(books.originals))
        #expect(trace.count { $0.kind == .synthesised } == Int(books.synthesised))
        let dropped = trace.filter { $0.fate != .emitted }
        let reasons = Dictionary(grouping: dropped) { $0.fate }.mapValues { UInt64($0.count) }
        #expect(
            reasons
                == Dictionary(
                    uniqueKeysWithValues: DropReason.allCases.compactMap { reason in
                        books.droppedByReason[reason.name].map { (FrameFate.dropped(reason), $0) }
                    }))
        #expect(books.emitted + UInt64(dropped.count) == books.originals + books.synthesised)

        // Each that went out was received, or lies in what the receiver was told of; up to the last received, for the same
        // reason.
        let emitted = trace.filter { $0.fate == .emitted }.map(\.presentation)
        let (units, told) = outcome.receiver.finish()
        #expect(Set(units).count == units.count && Set(units).isSubset(of: emitted))
        let last = try #require(units.max())
        let gone = told + report.output.packetsDropped
        #expect(emitted.count { $0 <= last } - units.count <= gone, "\(units.count) received, \(gone) lost")
        #expect(emitted.count { $0 > last } < emitted.count / 2)

        let counters = report.counters
        // Sound is counted beside the frames.
        #expect(
            counters["passing_units_in"]
                == (counters["passing_units_out"] ?? 0) + (counters["passing_units_dropped"] ?? 0))
    }

    private struct Outcome {
        var report: RelayReport
        /// The sender's figures.
        var sent: LegFigures
        var receiver: Receiver
        var networks: [ImpairmentProxy]
    }

    /// The relay is gone when this returns, and its output closed.
    private func relay(_ scratch: Scratch, frames: Int64, latency: Int, interpolate: Int) throws -> Outcome {
        let listener = "srt://127.0.0.1:0?mode=listener&latency=\(latency)"
        let running = try SRTRelayTests.Running(input: listener, output: listener) {
            $0.settings.budget = StreamSettings().budget
            $0.settings.interpolate = interpolate
            $0.tracePath = scratch.path("trace.csv")
        }
        let networks = try [running.relay.inputPort, running.relay.outputPort].map { port in
            try ImpairmentProxy(to: UDPEndpoint(host: "127.0.0.1", port: port), settings: settings)
        }
        let receiver = try Receiver("srt://127.0.0.1:\(networks[1].localPort)?latency=\(latency)")
        running.await { $0.contains("output: connected") }
        let sent = try send(frames, to: "srt://127.0.0.1:\(networks[0].localPort)?latency=\(latency)")
        running.await { $0.contains("input: disconnected") }
        let report = try #require(running.stop())
        // However many losses there were: one line when they begin, and one that sums them up.
        #expect(running.events.count { $0.contains("missing") } <= 2, "\(running.events)")
        return Outcome(report: report, sent: sent, receiver: receiver, networks: networks)
    }

    /// Sends, and hangs up when the relay has everything, or has had time for it.
    private func send(_ frames: Int64, to url: String) throws -> LegFigures {
        let sink = try Sink(StreamURL(url))
        try sink.awaitConnection(until: .now() + .seconds(20))
        var configuration = TestSourceConfiguration()
        configuration.size = PictureSize(width: 160, height: 96)
        configuration.frames = frames
        configuration.hasAudio = true
        let report = try LiveTestSource(configuration, to: sink).run(stopped: { false }, event: { _ in })
        #expect(report.messagesRefused == 0 && report.messagesUnconnected == 0)
        sink.flush(until: .now() + .seconds(2))
        return sink.statistics()
    }

    /// Takes an output apart on a thread of its own, until it is closed.
    private final class Receiver: Sendable {
        private let thread: StageThread
        private let result = Result()

        private final class Result: Sendable {
            let seen = Lock<(units: [MediaTime], messagesLost: Int64)>(([], 0))
        }

        init(_ url: String) throws {
            let source = try Source(StreamURL(url))
            thread = StageThread(name: "receiver") { [result] in
                var demuxer = TransportStreamDemuxer()
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
                defer { buffer.deallocate() }
                func receive(_ event: ContainerEvent) {
                    guard case .unit(let unit) = event, unit.isMainVideo, let time = unit.presentation else { return }
                    result.seen.withLock { $0.units.append(time) }
                }
                while true {
                    switch source.receive(into: buffer, until: .now() + .milliseconds(100)) {
                    case .message(let message):
                        demuxer.push(
                            UnsafeRawBufferPointer(rebasing: buffer[..<message.byteCount]), arrival: message.arrival,
                            sourceTime: nil, handler: receive)
                    case .event(.gap(let messages)):
                        result.seen.withLock { $0.messagesLost += messages }
                        demuxer.recordLoss()
                    case .event(.disconnected): return demuxer.finish(handler: receive)
                    default: break
                    }
                }
            }
        }

        /// The pictures' presentation times, and how many messages never came.
        func finish() -> (units: [MediaTime], messagesLost: Int64) {
            thread.join()
            return result.seen.withLock { $0 }
        }
    }
}
