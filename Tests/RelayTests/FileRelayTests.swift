import Container
import Endpoint
import Foundation
import Media
import Schedule
import Settings
import Simulation
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// The whole frame path, from a file to a file, so that neither the network nor the machine's speed plays a part: with a
/// budget of a minute nothing is ever late. What is made beside the originals is counted where each frame waits for the
/// one before, and the schedule takes whatever it costs.
@Suite struct FileRelayTests {
    private func relay(
        _ stream: [UInt8], _ scratch: Scratch, adjust: (inout RelayConfiguration) -> Void = { _ in }
    ) throws -> RelayReport {
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.pacesFiles = false
        configuration.watchesMachine = false
        adjust(&configuration)
        return try Relay(configuration).run { _ in }
    }

    /// Has the schedule synthesise from the first pair on, however slow the machine is.
    private func withoutHaste(_ configuration: inout RelayConfiguration) {
        configuration.readsFramesOneByOne = true
        configuration.settings.tier = .base
        configuration.weights.keep = 1e9
        configuration.weights.climb = 1e9
        configuration.weights.dwell = .zero
    }

    @Test func everyFrameComesOutAtTwiceTheSize() throws {
        let scratch = try Scratch()
        let report = try relay(try TestStream.video(frames: 40), scratch)
        #expect(report.frames.originals == 40)
        #expect(report.frames.emitted == 40)
        #expect(report.frames.balance && report.frames.inFlight == 0)

        let sent = try scratch.read("out.ts")
        let units = TestStream.units(in: sent)
        #expect(units.count == 40)
        // Keyframes are where the source had them, one a second at most.
        #expect(units.map(\.isKeyframe).enumerated().filter(\.element).map(\.offset) == [0, 30])
        // The differences of the time stamps stay as they came.
        #expect(zip(units.dropFirst(), units).allSatisfy { $0.presentation - $1.presentation == 3000 })
        #expect(TestStream.size(of: sent) == PictureSize(width: 320, height: 192))
    }

    @Test func synthesisedFramesLieHalfwayAndTheBooksBalance() throws {
        let scratch = try Scratch()
        let report = try relay(try TestStream.video(frames: 60), scratch) {
            $0.settings.interpolate = 2
            withoutHaste(&$0)
        }
        #expect(report.frames.originals == 60)
        #expect(report.frames.balance && report.frames.inFlight == 0)
        let originals = report.frames.emitted - report.frames.synthesised
        #expect(originals == 60 && report.frames.dropped == 0, "\(report.frames)")
        let units = TestStream.units(in: try scratch.read("out.ts"))
        #expect(units.count == Int(report.frames.emitted))
        let steps = zip(units.dropFirst(), units).map { $0.presentation - $1.presentation }
        #expect(steps.allSatisfy { $0 == 1500 } && report.frames.synthesised == 59)
    }

    /// Pictures that are shown in another order than they are sent come out in the order that they are shown in.
    /// At their pace too: that they stay in the decoder until their turn is no work, and sheds none of them.
    @Test(arguments: [false, true]) func streamsWithReorderingComeOutInOrder(pacesFiles: Bool) throws {
        let golden = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "GoldenStreams/ffmpeg-bframes.ts")
        let scratch = try Scratch()
        let report = try relay([UInt8](try Data(contentsOf: golden)), scratch) { $0.pacesFiles = pacesFiles }
        #expect(report.frames.balance && report.frames.inFlight == 0)
        #expect(report.frames.droppedByReason["overload"] == nil, "\(report.frames)")
        let units = TestStream.units(in: try scratch.read("out.ts"))
        #expect(units.count == Int(report.frames.emitted) && units.count > 10)
        #expect(zip(units.dropFirst(), units).allSatisfy { $0.presentation > $1.presentation })
    }

    /// All units of a stream with reordering come a fixed time before their turns, one interval apart: what is shown
    /// later than it is sent has so much longer until its deadline.
    @Test func reorderingTakesNothingFromTheBudget() throws {
        let golden = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "GoldenStreams/ffmpeg-bframes.ts")
        var turns: [(decode: Int64, turn: Int64, presentation: Int64)] = []
        func receive(_ event: ContainerEvent) {
            guard case .unit(let unit) = event, unit.isMainVideo, let time = unit.presentation else { return }
            let decode = unit.decode ?? time
            let wait = DecodingOrder.wait(presentation: time, decode: unit.decode)
            turns.append((decode.ticks, decode.ticks + MediaTime.ticks(in: wait), time.ticks))
        }
        var demuxer = TransportStreamDemuxer()
        try Data(contentsOf: golden).withUnsafeBytes {
            demuxer.push($0, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: receive)
        }
        demuxer.finish(handler: receive)
        #expect(turns.contains { $0.presentation - $0.decode > 3600 })
        #expect(turns.allSatisfy { abs($0.turn - $0.presentation) <= 1 })
        // A stamp that makes no sense gives no deadline in the far future or the past.
        let zero = MediaTime(ticks: 0)
        #expect(DecodingOrder.wait(presentation: zero, decode: MediaTime(ticks: 9000)) == .zero)
        #expect(DecodingOrder.wait(presentation: MediaTime(ticks: 1 << 32), decode: zero) == .seconds(1))
        #expect(DecodingOrder.wait(presentation: zero, decode: nil) == .zero)
    }

    @Test func extrapolatedFramesLieHalfAnIntervalBeyondTheirOriginals() throws {
        let scratch = try Scratch()
        let report = try relay(try TestStream.video(frames: 60), scratch) {
            $0.settings.interpolate = 2
            $0.options.lookahead = 0
            withoutHaste(&$0)
        }
        #expect(report.frames.balance && report.frames.dropped == 0, "\(report.frames)")
        let units = TestStream.units(in: try scratch.read("out.ts"))
        #expect(units.count == Int(report.frames.emitted))
        let steps = zip(units.dropFirst(), units).map { $0.presentation - $1.presentation }
        #expect(steps.allSatisfy { $0 == 1500 || $0 == 3000 })
        #expect(report.frames.synthesised == 59)
    }

    /// A rate that the input does not have: every time stamp of the output is exactly its slot's.
    @Test(arguments: [
        (Rational(60), 24, 1), (Rational(24), 60, 1), (Rational(50), 30, 1), (Rational(30_000, 1_001), 25, 1),
        (Rational(60), 30, 0),
    ])
    func aConstantRateHasAFrameInEverySlot(target: Rational, source: Int64, lookahead: Int) throws {
        let scratch = try Scratch()
        let report = try relay(try TestStream.video(frames: Int(2 * source), rate: source), scratch) {
            $0.options.fps = target
            $0.options.lookahead = lookahead
            $0.pacesFiles = true
        }
        #expect(report.frames.originals == UInt64(2 * source))
        #expect(report.frames.balance && report.frames.inFlight == 0, "\(report.frames)")
        #expect(report.frames.droppedByReason.keys.allSatisfy { $0 == "cadence" }, "\(report.frames)")
        let units = TestStream.units(in: try scratch.read("out.ts"))
        #expect(units.count == Int(report.frames.emitted))
        let grid = SlotGrid(rate: target, start: Timeline.start)
        #expect(units.enumerated().allSatisfy { $1.presentation == grid.time(of: Int64($0)) })
        #expect(abs(Double(units.count) - 2 * target.value) <= 3)
        // Of more than the input has, some are made and the rest repeated; of fewer, none is.
        let made = report.frames.synthesised + report.frames.repeated
        #expect(target.value > Double(source) ? made > 10 : made == 0)
        #expect((report.frames.droppedByReason["cadence"] ?? 0) > 20 || target.value != 24)
        #expect(abs(report.targetRate! - target.value) < 1e-9)
    }

    /// The source's second keyframe is one of five frames, of which two go out.
    @Test(arguments: 61...65) func aKeyframeThatIsLeftOutIsMadeUpFor(place: Int) throws {
        let scratch = try Scratch()
        let report = try relay(try TestStream.video(frames: 120, rate: 60, keyframeEvery: place), scratch) {
            $0.options.fps = Rational(24)
        }
        #expect(report.frames.emitted == 48 && report.frames.droppedByReason["cadence"] == 72, "\(report.frames)")
        // Where it is left out, the next frame is a keyframe in its place.
        let units = TestStream.units(in: try scratch.read("out.ts"))
        #expect(units.count(where: \.isKeyframe) == 2)
    }

    @Test(arguments: [PictureSize(width: 96, height: 160), PictureSize(width: 130, height: 98)])
    func portraitAndUnusualSizes(size: PictureSize) throws {
        let scratch = try Scratch()
        let report = try relay(try TestStream.video(frames: 4, size: size), scratch)
        #expect(report.frames.emitted == 4)
        #expect(TestStream.size(of: try scratch.read("out.ts")) == size.scaled(by: 2))
    }

    @Test func aPictureThatWouldGrowBeyondTheLimitPassesAtItsOwnSize() throws {
        let scratch = try Scratch()
        let report = try relay(try TestStream.video(frames: 3), scratch) {
            $0.options.largestOutput = PictureSize(width: 239, height: 144)
        }
        #expect(report.frames.emitted == 3)
        #expect(TestStream.size(of: try scratch.read("out.ts")) == PictureSize(width: 160, height: 96))
    }

    /// Stamps that wrap at 33 bits, jump back and jump ahead: the output's slots follow each other.
    @Test func aConstantRateSurvivesWhatTheClockDoes() throws {
        let scratch = try Scratch()
        let wrapping = try TestStream.video(frames: 20, start: 95_443.4)
        let stream = try wrapping + TestStream.video(frames: 20, start: 20) + TestStream.video(frames: 20, start: 22.1)
        let report = try relay(stream, scratch) { $0.options.fps = Rational(60) }
        #expect(report.frames.originals == 60 && report.frames.balance && report.frames.inFlight == 0)
        #expect(report.frames.dropped == 0 && report.counters["timeline_jumps"] == 1, "\(report.frames)")
        let units = TestStream.units(in: try scratch.read("out.ts"))
        let grid = SlotGrid(rate: Rational(60), start: Timeline.start)
        #expect(units.enumerated().allSatisfy { $1.presentation == grid.time(of: Int64($0)) })
        // Three times 20 frames of a thirtieth of a second, and a gap of 1.4 s.
        #expect(abs(units.count - 3 * 40 - 86) <= 3)
    }

    /// Every way of damaging the input leaves books that balance, and no crash.
    @Test(arguments: 0..<24) func damagedInputIsAccountedFor(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var stream = try TestStream.video(frames: 12, keyframeEvery: 6)
        TestStream.damage(&stream, seed % 4, &random)
        let scratch = try Scratch()
        let report: RelayReport
        do {
            report = try relay(stream, scratch) {
                if seed < 12 { $0.settings.interpolate = 2 } else { $0.options.fps = Rational(60) }
            }
        } catch let failure as RelayFailure {
            // Nothing that could be decoded was left: no fault of the relay's.
            guard case .input = failure.reason else { throw failure }
            report = try #require(failure.report)
        }
        #expect(report.frames.balance && report.frames.inFlight == 0)
    }

    /// What `--trace` records is what `burnish replay` reads, and nothing of it is missing.
    @Test func aRecordedTraceCanBeReplayed() throws {
        let scratch = try Scratch()
        let report = try relay(try TestStream.video(frames: 60), scratch) {
            $0.settings.interpolate = 2
            $0.pacesFiles = true
            $0.tracePath = scratch.path("trace.csv")
        }
        let records = try Trace.read(String(decoding: try scratch.read("trace.csv"), as: UTF8.self))
        let originals = records.filter { $0.kind == .original }
        #expect(originals.count == 60)
        #expect(records.count == 60 + Int(report.frames.synthesised))
        #expect(originals.allSatisfy { $0.decode != nil && $0.base != nil })
        #expect(originals.allSatisfy { $0.encode != nil && $0.sent != nil })
        #expect(report.counters["trace_records_missed"] == nil)
        // The rungs of the report are those of the trace.
        let changes = zip(originals.dropFirst(), originals).filter { $0.rung != $1.rung }.count
        #expect(report.schedule.rungChanges == changes)
        #expect(report.schedule.secondsOnRung.values.reduce(0, +) > 1)
        #expect(report.schedule.rung != nil && report.schedule.coresLeast! > 0)

        let configuration = Planner.Configuration(
            input: PictureSize(width: 160, height: 96), output: PictureSize(width: 320, height: 192),
            interval: .milliseconds(33.3))
        let replayed = ReplayPolicy.planner.run(records, name: "trace", configuration: configuration, order: .beforeOriginal)
        #expect(replayed.originals == 60 && replayed.emitted == 60 && replayed.balances)
        #expect(Trace.timeline(records).count == 60)
    }

    /// Pictures that do not change leave the networks nothing to do; the next one that does is theirs again.
    @Test func networksGoOnAfterAStill() throws {
        let scratch = try Scratch()
        let report = try relay(try TestStream.stills([3, 40, 90], frames: 75), scratch) {
            $0.pacesFiles = true
            $0.tracePath = scratch.path("trace.csv")
        }
        let originals = try Trace.read(String(decoding: try scratch.read("trace.csv"), as: UTF8.self))
        #expect(originals.count == 225)
        #expect(report.counters["tiles_reused", default: 0] > 0)
        let still = originals[..<75].filter { $0.tilesWanted == 1 && $0.tiles == 0 }
        #expect(still.contains { $0.tier > .base }, "nothing stood still")
        #expect(originals[75..<150].contains { $0.tiles > 0 })
        #expect(originals[150...].contains { $0.tiles > 0 })
    }

    /// A picture that others are shown before waits in the decoder; that is no work. What no other refers to is told.
    @Test func aTraceOfAReorderedStreamHasTheWorkOfDecoding() throws {
        let scratch = try Scratch()
        let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "GoldenStreams/ffmpeg-bframes.ts")
        _ = try relay([UInt8](Data(contentsOf: path)), scratch) {
            $0.pacesFiles = true
            $0.tracePath = scratch.path("trace.csv")
        }
        let originals = try Trace.read(String(decoding: try scratch.read("trace.csv"), as: UTF8.self))
        #expect(originals.contains { !$0.isReference } && originals.contains { $0.isReference })
        #expect(originals.allSatisfy { $0.decode != nil })
    }

    @Test func aTraceThatCannotBeWrittenOnIsCountedAndSaid() throws {
        let ledger = Ledger(keeping: 4)
        let full = TraceFile(try #require(FileHandle(forWritingAtPath: "/dev/full")), ledger: ledger)
        #expect(full.write() == 0 && full.failure == nil)
        for number in 0..<3 {
            ledger.close(ledger.open(.original, presentation: MediaTime(ticks: Int64(number))), as: .emitted)
        }
        #expect(full.write() == 3 && full.failure != nil)
        ledger.close(ledger.open(.original, presentation: MediaTime(ticks: 9)), as: .emitted)
        #expect(full.write() == 1)

        // Six records in a ring of four: two are gone before they are read.
        let scratch = try Scratch()
        let busy = Ledger(keeping: 4)
        let late = try TraceFile(path: scratch.path("late.csv"), ledger: busy)
        for number in 0..<6 {
            busy.close(busy.open(.original, presentation: MediaTime(ticks: Int64(number))), as: .emitted)
        }
        #expect(late.write() == 2)
        #expect(try Trace.read(String(decoding: try scratch.read("late.csv"), as: UTF8.self)).count == 4)
    }

    @Test func nonsenseIsRefusedWithAReason() throws {
        var random = SplitMix64(seed: 1)
        let nonsense = (0..<50_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        let scratch = try Scratch()
        #expect(throws: RelayFailure.self) { try relay(nonsense, scratch) }
    }

    @Test func aJumpOfTheSourcesClockDoesNotReachTheOutput() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 8, start: 5000) + TestStream.video(frames: 8, start: 20)
        let report = try relay(stream, scratch)
        #expect(report.frames.emitted == 16)
        #expect(report.counters["timeline_jumps"] == 1)
        let units = TestStream.units(in: try scratch.read("out.ts"))
        let steps = zip(units.dropFirst(), units).map { $0.presentation - $1.presentation }
        #expect(steps.allSatisfy { $0 > 0 && $0 < 90_000 })
    }
}
