import Foundation
import Media
import Schedule
import Testing
@testable import Telemetry

@Suite struct RecordRingTests {
    @Test func everyFieldOfARecordArrives() throws {
        let map = try TestMap()
        let writer = try map.writer()
        let fates = [FrameFate.emitted, .bypassed] + DropReason.allCases.map(FrameFate.dropped)
        for n in 0..<60 {
            writer.close(numberedRecord(UInt64(n), kind: FrameKind.allCases[n % 3]), as: fates[n % fates.count])
        }
        let (frames, torn) = try map.reader().records()
        #expect(torn == 0 && frames.count == 60)
        for (n, frame) in frames.enumerated() {
            #expect(text(frame.record) == text(numberedRecord(UInt64(n), kind: FrameKind.allCases[n % 3])))
            #expect(frame.fate == fates[n % fates.count])
            #expect(isWhole(frame.record))
        }
    }

    @Test func theRingKeepsTheLast() throws {
        let map = try TestMap()
        let writer = try map.writer()
        for n in 0..<2_500 { writer.close(numberedRecord(UInt64(n)), as: .emitted) }
        let reader = try map.reader()
        #expect(reader.records().frames.map(\.record.id) == Array(700..<2_500))
        #expect(reader.records(last: 3).frames.map(\.record.id) == [2_497, 2_498, 2_499])
        #expect(reader.records(last: 0).frames.isEmpty && reader.records(last: -1).frames.isEmpty)
        // A record's newest stamp is 1 µs after that of the record before.
        #expect(reader.records(lastSeconds: 10e-6).frames.count == 11)
        #expect(reader.records(lastSeconds: .nan).frames.count <= 1_800)
        #expect(reader.records(lastSeconds: 1e300).frames.count == 1_800)
    }

    /// A record that is written while it is read is left out and counted.
    @Test func tornRecordsAreSkipped() throws {
        let map = try TestMap()
        let writer = try map.writer()
        for n in 0..<5 { writer.close(numberedRecord(UInt64(n)), as: .emitted) }
        func ring() -> [UInt64] {
            let count = TelemetryLayout.recordCount * TelemetryLayout.recordStride
            return TelemetryMap.read(map.descriptor, TelemetryLayout.records..<TelemetryLayout.records + count)
        }
        let before = ring()
        var after = before
        after[2 * TelemetryLayout.recordStride] += 1
        var found = RingWords(before, after).records(last: 10)
        #expect(found.torn == 1 && found.frames.map(\.record.id) == [0, 1, 3, 4])
        // A worker that was killed leaves one half written; its successor overwrites it.
        let start = TelemetryLayout.records + 5 * TelemetryLayout.recordStride
        map.write(11, at: start)
        found = try map.reader().records()
        #expect(found.torn == 1 && found.frames.count == 5)
        try map.writer().close(numberedRecord(5), as: .emitted)
        found = try map.reader().records()
        #expect(found.torn == 0 && found.frames.map(\.record.id) == [0, 1, 2, 3, 4, 5])
    }

    /// Readers in other threads see whole records only, while one thread writes as fast as it can.
    @Test func readersNeverSeeHalfARecord() async throws {
        let map = try TestMap()
        let (writer, reader) = (try map.writer(), try map.reader())
        await withTaskGroup(of: Int.self) { group in
            group.addTask {
                for n in 0..<6_000 { writer.close(numberedRecord(UInt64(n)), as: .emitted) }
                return 0
            }
            for _ in 0..<2 {
                group.addTask {
                    var newest: UInt64 = 0
                    var turns = 0
                    while newest < 5_999 {
                        let (frames, torn) = reader.records()
                        for frame in frames {
                            precondition(isWhole(frame.record), "half a record")
                        }
                        precondition(frames.count + torn <= TelemetryLayout.recordCount)
                        newest = frames.last?.record.id ?? 0
                        turns += 1
                    }
                    return turns
                }
            }
            for await _ in group {}
        }
        #expect(reader.records().frames.count == TelemetryLayout.recordCount)
        #expect(reader.snapshot().recordsWritten == 6_000)
    }
}

@Suite struct HostileMapTests {
    /// Whatever a worker writes, a reader gives values that can be computed with.
    @Test(arguments: 0..<30) func readersSurviveAnything(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let map = try TestMap()
        let ledger = Ledger(map: try map.writer())
        for _ in 0..<50 { ledger.close(ledger.open(.original, presentation: MediaTime(ticks: 0)), as: .emitted) }
        let edges: [UInt64] = [0, 1, 2, .max, .max - 1, 1 << 63, 1 << 62, 1 << 53, 0x7FFF_FFFF, 0xFFFF_FFFF, 0x7FF8 << 48]
        for _ in 0..<(seed % 2 == 0 ? 50_000 : 500) {
            let value = random.next() % 2 == 0 ? random.next() : edges[Int(random.next() % UInt64(edges.count))]
            map.write(value, at: 16 + Int(random.next() % UInt64(TelemetryLayout.wordCount - 16)))
        }
        let reader = try map.reader()
        try exercise(reader)
        _ = try map.writer()
        try exercise(reader)
    }

    @Test(arguments: [UInt64](arrayLiteral: 0, 1, .max, 1 << 63, (1 << 63) - 1, 1 << 53)) func everyWordTheSame(word: UInt64)
        throws
    {
        let map = try TestMap()
        for index in 16..<TelemetryLayout.wordCount { map.write(word, at: index) }
        try exercise(try map.reader())
    }

    @Test func valuesThatNoWorkerWritesAreCounted() throws {
        let map = try TestMap()
        _ = try map.writer()
        for index in [TelemetryLayout.opened, TelemetryLayout.counters, TelemetryLayout.gauges, TelemetryLayout.gauges + 1] {
            map.write(.max, at: index)
        }
        let snapshot = try map.reader().snapshot()
        #expect(snapshot.faults == 4 && snapshot.books.originals == 0 && snapshot.gauges.rung == nil)
        #expect(snapshot.counters[.inputGaps] == 0 && snapshot.gauges.coresLeast == 0)
    }

    private func exercise(_ reader: TelemetryMap.Reader) throws {
        let snapshot = reader.snapshot()
        _ = snapshot.books.balance
        _ = snapshot.books.description
        _ = snapshot.output.balance
        for series in Latency.Series.allCases { _ = Quantiles(snapshot.latency[series]) }
        _ = reader.resumePoint()
        let (frames, torn) = reader.records()
        #expect(frames.count + torn <= TelemetryLayout.recordCount)
        for frame in frames { _ = Trace.line(TraceRecord(frame.record, frame.fate)) }
        _ = reader.records(lastSeconds: 5)
    }
}
