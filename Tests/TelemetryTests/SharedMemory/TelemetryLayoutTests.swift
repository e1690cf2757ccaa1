import Foundation
import Media
import Schedule
import Testing
@testable import Telemetry

/// The layout is a contract with readers of other builds. Where a test here fails, the layout has changed: give it a new
/// version, and change the page.
@Suite struct TelemetryLayoutTests {
    static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/design/telemetry-map.md")

    @Test func thePageHasTheOffsets() throws {
        var offsets: [String: (Int, Int)] = [:]
        for line in try String(contentsOf: Self.page, encoding: .utf8).split(separator: "\n") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
            if cells.count == 4, let offset = Int(cells[0]), let bytes = Int(cells[1]) { offsets[cells[2]] = (offset, bytes) }
        }
        typealias Layout = TelemetryLayout
        let expected: [String: (Int, Int)] = [
            "magic": (Layout.magicWord, 1), "version": (Layout.versionWord, 1), "byteCount": (Layout.byteCountWord, 1),
            "writers": (Layout.writersWord, 1), "process": (Layout.processWord, 1), "started": (Layout.startedWord, 1),
            "wallOffset": (Layout.wallOffsetWord, 1), "opened": (Layout.opened, Layout.kinds),
            "emitted": (Layout.emitted, Layout.kinds), "bypassed": (Layout.bypassed, Layout.kinds),
            "dropped": (Layout.dropped, Layout.kinds * Layout.dropReasonCapacity),
            "inFlight": (Layout.inFlight, 1), "recordsWritten": (Layout.recordsWritten, 1), "misses": (Layout.misses, 1),
            "output": (Layout.output, Layout.outputWords), "counters": (Layout.counters, Layout.counterCapacity),
            "gauges": (Layout.gauges, Layout.gaugeWords), "legs": (Layout.legs, 2 * Layout.legStride),
            "positions": (Layout.positions, 2 * Layout.positionStride),
            "continuity": (Layout.continuity, Layout.continuityCount),
            "outputs": (Layout.outputs, Layout.mostOutputs * Layout.outputStride),
            "peers": (Layout.peers, 4 * Layout.peersStride), "steps": (Layout.steps, 2 * StepKind.capacity),
            "histograms": (Layout.histograms, Latency.Series.allCases.count * Layout.histogramStride),
            "records": (Layout.records, Layout.recordCount * Layout.recordStride),
        ]
        #expect(Set(offsets.keys) == Set(expected.keys))
        for (name, place) in expected {
            #expect(offsets[name]! == (place.0 * 8, place.1 * 8), "\(name)")
        }
        // In order, without overlap, within the map.
        var end = 0
        for (offset, bytes) in offsets.values.sorted(by: { $0.0 < $1.0 }) {
            #expect(offset >= end)
            end = offset + bytes
        }
        #expect(end <= TelemetryMap.byteCount && TelemetryMap.byteCount % 4096 == 0)
    }

    /// What lies in the map in the order of an enumeration.
    @Test func theEnumerationsAreThoseOfThisVersion() {
        #expect(TelemetryLayout.version & 0xFFFF_FFFF == 11)
        #expect(
            EncoderPreset.allCases.map(\.rawValue) == [
                "ultrafast", "quick", "superfast", "careful", "veryfast", "faster", "medium", "slow",
            ])
        #expect(FrameKind.allCases.map(\.name) == ["original", "synthesised", "repeated"])
        #expect(
            DropReason.allCases.map(\.name) == [
                "late", "overload", "cadence", "no_keyframe", "decode_error", "encode_error", "discontinuity", "output_down",
                "shutdown", "masked", "other_layer",
            ])
        #expect(Stamp.allCases.count == FrameRecord.stampCount && FrameRecord.stampCount == 11)
        #expect(
            Latency.Series.allCases.map(\.name) == [
                "original", "synthesised", "slack", "receive", "complete", "wait_for_decoder", "wire_to_decoder", "decode",
                "wait_for_enhancement", "enhance", "wait_for_encoder", "encode", "send",
            ])
        #expect(Histogram.bucketCount + 2 <= TelemetryLayout.histogramStride)
        #expect(DropReason.allCases.count <= TelemetryLayout.dropReasonCapacity)
        #expect(OutputWords.legWords <= TelemetryLayout.legStride)
        #expect(
            LegFigureTable.rows.map(\.snakeCase) == [
                "connections", "packets_sent", "packets_received", "packets_lost", "packets_retransmitted", "packets_carried",
                "packets_dropped", "packets_belated", "packets_unexpected", "packets_of_other_layers", "pictures_refused",
                "reports",
                "reports_rejected", "messages_unstamped", "bytes_sent", "bytes_received", "handshakes_dropped",
                "packets_buffered", "round_trip_time", "window",
            ])
        #expect(OutputWords.leg + OutputWords.legWords <= TelemetryLayout.outputStride)
        #expect(OutputWords.dropped + OutputDropReason.allCases.count <= OutputWords.leg)
        #expect(
            OutputDropReason.allCases.map(\.name) == ["not_connected", "refused", "awaits_keyframe", "shutdown"])
        #expect(2 + TelemetryLayout.peersOfALeg * TelemetryLayout.peerWords <= TelemetryLayout.peersStride)
        // New counters go to the end, within the capacity: older readers do not know them, newer ones find zero.
        #expect(StreamCounters.Counter.allCases.count <= TelemetryLayout.counterCapacity)
        #expect(
            StreamCounters.Counter.allCases.prefix(36).map(\.name) == [
                "input_gaps", "input_messages_lost", "input_packets_lost", "input_packets_broken", "input_packets_scrambled",
                "input_units_oversized", "input_units_torn", "input_packets_unused", "input_connections", "output_connections",
                "output_messages_refused", "units_ended_by_length", "units_ended_by_stuffing", "units_ended_by_next_start",
                "units_ended_by_delimiter", "units_ended_by_flush", "units_ended_by_timer", "pictures_damaged",
                "timeline_jumps", "passing_units_in", "passing_units_out", "passing_units_dropped", "passing_units_damaged",
                "streams_ignored", "synthesis_skipped", "keyframes_forced", "shed_by_plan", "shed_before_decoder",
                "skipped_by_decoder", "trace_records_missed", "tiles_neural_s", "tiles_neural_m", "tiles_reused", "tiles_left",
                "slates", "slots_empty",
            ])
    }

    /// One record, byte by byte.
    @Test func aRecordLooksAsThePageSays() throws {
        let map = try TestMap()
        var record = FrameRecord(id: 0x1122_3344, kind: .synthesised, presentation: MediaTime(ticks: -2))
        record.epoch = 5
        record.sourceClock = 6
        record.deadline = MonotonicTime(nanoseconds: 7)
        record.isKeyframe = true
        record.isReference = false
        record.tier = 2
        record.rung = 3
        record.tilesComputed = 8
        record.tilesReused = 9
        record.tilesWanted = 10
        record.synthesisedRequested = 11
        record.tileTime = Nanoseconds(12)
        record[.sent] = MonotonicTime(nanoseconds: 13)
        try map.writer().close(record, as: .dropped(.outputDown))
        let none: UInt64 = 1 << 63
        let expected: [UInt64] =
            [
                2, 0x1122_3344, 0x2_0302_0801, .max - 1, 0x6_0000_0005, none, 7, none, 0x9_0000_0008, 0xB_0000_000A, none, none,
                12,
            ] + Array(repeating: none, count: 10) + [13]
        #expect(TelemetryMap.read(map.descriptor, 8320..<8344) == expected)
        let magic = withUnsafeBytes(of: map.word(0).littleEndian) { String(decoding: $0, as: UTF8.self) }
        #expect(magic == "BRNSHMAP" && map.word(1) == TelemetryLayout.version && map.word(2) == 413_696)
        #expect(map.word(TelemetryLayout.dropWord(.synthesised, .outputDown)) == 1)
        #expect(TelemetryLayout.dropWord(.synthesised, .outputDown) == 8064 + 7 * 3 + 1)
    }
}
