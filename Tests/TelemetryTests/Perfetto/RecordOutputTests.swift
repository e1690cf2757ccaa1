import Media
import Schedule
import Testing
@testable import Telemetry

@Suite struct RecordTableTests {
    @Test func aFrameIsALine() {
        var record = FrameRecord(id: 7, kind: .original, presentation: MediaTime(ticks: 3_000))
        record.deadline = MonotonicTime(nanoseconds: 99)
        record.isKeyframe = true
        record.tier = 2
        record.tilesWanted = 5
        record.decodeTime = Nanoseconds(11)
        record[.firstPacket] = MonotonicTime(nanoseconds: 1)
        record[.sent] = MonotonicTime(nanoseconds: 42)
        #expect(
            RecordTable.text(of: [ClosedFrame(record: record, fate: .dropped(.outputDown))]) == """
                frame,kind,fate,presentation_ticks,epoch,source_clock,source_time_ns,deadline_ns,late_unit,keyframe,reference,\
                damaged,tier,rung,tiles_wanted,tiles_computed,tiles_reused,synthesised_requested,decode_ns,base_ns,tiles_ns,\
                first_packet_ns,last_packet_ns,complete_ns,decode_in_ns,decode_out_ns,planned_ns,enhance_in_ns,enhance_out_ns,\
                encode_in_ns,encode_out_ns,sent_ns
                7,original,output_down,3000,0,0,,99,0,1,1,0,neural-m,0,5,0,0,0,11,,,1,,,,,,,,,,42

                """)
    }
}

@Suite struct PerfettoTests {
    /// The examples of the encoding's own page.
    @Test func messagesAreEncodedAsProtobufSays() {
        var message = ProtobufMessage()
        message.add(1, 150)
        message.add(2, "testing")
        message.add(3) { $0.add(1, 150) }
        #expect(
            message.bytes == [
                0x08, 0x96, 0x01, 0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6E, 0x67, 0x1A, 0x03, 0x08, 0x96, 0x01,
            ])
        message = ProtobufMessage()
        message.add(4, signed: -2)
        message.add(47, fixed: 0x0102)
        message.add(16, UInt64.max)
        #expect(
            message.bytes == [0x20, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]
                + [0xF9, 0x02, 0x02, 0x01, 0, 0, 0, 0, 0, 0]
                + [0x80, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01])
    }

    /// Slices of one lane never overlap, begin before they end, and every frame is in each stage that it passed.
    @Test(arguments: 0..<20) func slicesOfALaneFollowEachOther(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let frames = (0..<200).map { n in
            var record = FrameRecord(id: UInt64(n), kind: .original, presentation: MediaTime(ticks: 0))
            var time = Int64(n) * 10_000 + Int64(random.next() % 30_000) - 20_000
            for stamp in Stamp.allCases where random.next() % 10 > 0 {
                time += Int64(random.next() % 20_000) - (random.next() % 20 == 0 ? 30_000 : 0)
                record[stamp] = MonotonicTime(nanoseconds: time)
            }
            return ClosedFrame(record: record, fate: random.next() % 10 == 0 ? .dropped(.late) : .emitted)
        }
        let events = TraceEvents(frames)
        var open: [String: Int] = [:]
        var begun = 0
        var last: Int64 = 0
        for event in events.events {
            #expect(event.time >= last && event.time >= 0 && event.lane < events.lanes[event.track.rawValue])
            last = event.time
            let lane = "\(event.track) \(event.lane)"
            switch event.kind {
            case .begin:
                #expect(open[lane] == nil)
                open[lane] = 1
                begun += 1
            case .end:
                #expect(open[lane] == 1)
                open[lane] = nil
            case .dropped, .value: break
            }
        }
        #expect(open.isEmpty && begun > 500)
        let dropped = frames.count { $0.fate != .emitted && ($0.record.newestStamp?.nanoseconds ?? -1) >= 0 }
        #expect(events.events.count { if case .dropped = $0.kind { true } else { false } } == dropped)
        #expect(PerfettoTrace.bytes(of: frames, name: "random").count > 10_000)
    }

    /// The same frames give the same bytes, which `tools/check/perfetto` reads with Perfetto's own definitions.
    @Test func anEmptyTraceHasItsTracksOnly() {
        let bytes = PerfettoTrace.bytes(of: [], name: "empty", process: 3, wallOffset: .seconds(-5))
        #expect(bytes.first == 0x0A && TraceEvents([]).events.isEmpty)
        #expect(TraceEvents([]).lanes.allSatisfy { $0 == 0 })
    }
}
