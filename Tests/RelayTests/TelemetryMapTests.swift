import Endpoint
import Foundation
import Media
import Schedule
import Settings
import Telemetry
import Testing
import TestStreams
@testable import Relay

/// What a relay writes into its telemetry map, for other processes.
@Suite struct TelemetryMapTests {
    private func relay(_ map: TelemetryMap.Writer, _ scratch: Scratch, frames: Int) throws -> RelayReport {
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(try TestStream.video(frames: frames), to: "in.ts")),
            output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.pacesFiles = false
        configuration.watchesMachine = false
        configuration.telemetry = map
        return try Relay(configuration).run { _ in }
    }

    @Test func theMapSaysWhatTheReportSays() throws {
        let scratch = try Scratch()
        let descriptor = try TelemetryMap.create()
        defer { close(descriptor) }
        let reader = try TelemetryMap.Reader(descriptor)
        let report = try relay(try TelemetryMap.Writer(descriptor), scratch, frames: 30)
        var snapshot = reader.snapshot()
        #expect(snapshot.faults == 0 && snapshot.books.balance && snapshot.books.inFlight == 0)
        #expect(snapshot.books.originals == 30 && snapshot.books.emitted == report.frames.emitted)
        #expect(snapshot.output.offered == report.output.units?.offered && snapshot.output.balance)
        #expect(snapshot.output.sent == 30)
        for (counter, count) in snapshot.counters { #expect(report.counters[counter.name] ?? 0 == count) }
        #expect(snapshot.inputLeg.bytesReceived == report.input.bytesReceived && snapshot.inputLeg.bytesReceived > 0)
        #expect(snapshot.outputLeg.bytesSent == report.output.bytesSent && snapshot.outputLeg.bytesSent > 0)
        #expect(snapshot.gauges.outputSize == PictureSize(width: 320, height: 192) && snapshot.gauges.rung != nil)
        let latency = snapshot.latency[.original]
        #expect(latency.count == report.latencyOriginal.count && Quantiles(latency).p99 == report.latencyOriginal.p99)
        let (frames, torn) = reader.records()
        #expect(torn == 0 && frames.count == 30)
        #expect(frames.allSatisfy { frame in Stamp.allCases.allSatisfy { frame.record[$0] != nil } })

        // The next relay goes on in the same map.
        _ = try relay(try TelemetryMap.Writer(descriptor), scratch, frames: 10)
        snapshot = reader.snapshot()
        #expect(snapshot.books.originals == 40 && snapshot.books.balance && snapshot.writers == 2)
        #expect(reader.records().frames.map(\.record.id) == Array(0..<40))
    }
}
