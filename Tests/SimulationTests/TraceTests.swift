import Media
import Schedule
import Simulation
import Telemetry
import Testing

@Suite struct TraceTests {
    func record(_ id: UInt64) -> TraceRecord {
        let arrival = MonotonicTime(nanoseconds: Int64(id + 1) * 33_333_333)
        var record = TraceRecord(
            id: id, kind: .original, presentation: MediaTime(ticks: Int64(id) * 3_000), arrival: arrival,
            emitBy: arrival + .milliseconds(80))
        record.origin = Origin(.source, arrival - .milliseconds(20))
        record.isKeyframe = id % 60 == 0
        record.asked = 1
        record.tilesWanted = 60
        record.tiles = 40
        record.tier = .neuralM
        record.rung = 1
        record.decode = .milliseconds(2)
        record.base = .milliseconds(2.5)
        record.tileTime = .milliseconds(10)
        record.encode = .milliseconds(8)
        record.sent = arrival + .milliseconds(35)
        return record
    }

    @Test func readsWhatItWrites() throws {
        var records = (0..<50).map { record(UInt64($0)) }
        records[3].fate = .dropped(.overload)
        records[3].encode = nil
        records[3].sent = nil
        records[4].origin = nil
        records[5].kind = .synthesised
        let text = Trace.write(records)
        #expect(try Trace.read(text) == records)
    }

    @Test func anErrorNamesItsLine() throws {
        let good = Trace.write([record(1)])
        let line = Trace.line(record(1))
        let bad: [(String, Int)] = [
            ("", 1), ("id,kind\n", 1), (good + "1,2,3\n", 3),
            (good + line.replacing("original", with: "orignal"), 3),
            (good + line.replacing("neural-m", with: "neural-x"), 3),
            (good + line.replacing("2000000", with: "-2000000"), 3),
            (good + line.replacing("emitted", with: "lost"), 3),
            (good + line.replacing("66666666", with: "99999999999999999999"), 3),
        ]
        for (text, number) in bad {
            let error = #expect(throws: TraceError.self) { try Trace.read(text) }
            #expect(error?.line == number, "\(text)")
        }
    }

    @Test func randomTextIsRefusedAndNoMore() {
        var random = SplitMix64(seed: 5)
        let good = Array(Trace.write((0..<3).map { record(UInt64($0)) }).utf8)
        for _ in 0..<300 {
            var bytes = good
            for _ in 0..<3 { bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(random.next() & 0x7F) }
            guard let records = try? Trace.read(String(decoding: bytes, as: UTF8.self)) else { continue }
            let policy = EverythingPolicy(Load.usual("x").configuration)
            let outcome = Simulation.replay(Trace.loads(records), policy: policy)
            #expect(outcome.balances)
        }
    }

    @Test func aReplayFindsWhatWasRecorded() {
        let records = (0..<600).map { record(UInt64($0)) }
        let frames = Trace.loads(records)
        #expect(frames.count == 600 && frames[10].tileM == 0.25e6)
        let configuration = Load.usual("trace").configuration
        let report = ReplayPolicy.planner.run(
            records, name: "trace", configuration: configuration, order: .beforeOriginal)
        #expect(report.emitted == 600 && report.late == 0 && report.balances)
        #expect(report.tiers["neural-m"]! > 0.9)
        #expect(report.cells.count == ReplayReport.heads.count)
    }

    @Test(arguments: [SynthesisOrder.beforeOriginal, .afterOriginal]) func theOrderOfSynthesisIsFound(
        order: SynthesisOrder
    ) {
        let records = (0..<20).flatMap { number in
            let original = record(UInt64(number))
            var made = original
            made.kind = .synthesised
            made.presentation = original.presentation + (order == .afterOriginal ? 1_500 : -1_500)
            return [original, made]
        }
        #expect(Trace.order(records) == order)
    }

    @Test func policiesCanBeCompared() throws {
        var load = Load.usual("short", seconds: 5)
        load.disturbances = [Disturbance(.costs(from: 3, to: 3), from: .seconds(1), to: .seconds(4))]
        let reports = ReplayPolicy.allCases.map { $0.run(load)[0] }
        #expect(reports[0].late + reports[0].dropped.values.reduce(0, +) <= 8)
        #expect(reports[3].late > 50)
    }

    @Test func settingsCanBeSwept() throws {
        let records = (0..<300).map { record(UInt64($0)) }
        func run(_ key: SweepKey, _ value: Substring) throws -> ReplayReport {
            ReplayPolicy.planner.run(
                records, name: "trace", configuration: Load.usual("trace").configuration, order: .beforeOriginal,
                try #require(SweepPoint().with(key, value)))
        }
        let base = try run(.tier, "base")
        #expect(base.tiers["base"] == 1 && base.policy == "planner tier=base")
        // The origin of each record is 20 ms before its arrival. So nothing can be in time with a budget of 20 ms.
        let hurried = try run(.budget, "20")
        #expect(hurried.late + hurried.dropped.values.reduce(0, +) == 300)
        #expect(try run(.budget, "100").late == 0)
        #expect(SweepPoint().with(.cores, "1.5") == nil && SweepPoint().with(.keep, "2") == nil)
        #expect(SweepPoint().with(.tier, "neural-x") == nil)
        let both = try #require(SweepPoint().with(.keep, "0.9")?.with(.cores, "4"))
        #expect(both.name == "cores=4 keep=0.9")
    }

    @Test func aRecordingCanBeDrawn() {
        var records = (0..<90).map { record(UInt64($0)) }
        records[40].fate = .dropped(.late)
        records[40].sent = nil
        let timeline = Trace.timeline(records)
        #expect(timeline.count == 90 && timeline[0].arrival == MonotonicTime(nanoseconds: 0))
        #expect(timeline[40].latency == nil && timeline[41].latency == .milliseconds(35))
        #expect(timeline.allSatisfy { $0.rung == 1 && $0.tiles == 40 })
        let svg = TimelinePlot.svg(title: "t", timeline, budget: .milliseconds(80), rungs: 5)
        // The dropped frame has one mark.
        #expect(svg.split(separator: "\n").filter { $0.contains("y2=\"385\"") }.count == 1)
    }
}
