import Container
import Endpoint
import Media
import Schedule
import Settings
import TestStreams
import TestSupport
import Testing
import Transport
@testable import Relay

/// Streams that begin with pictures that nothing can decode.
@Suite(.timeLimit(.minutes(2))) struct BadStartTests {
    /// HEVC from its second entry point on, which is an open group of pictures: those that lead it refer to pictures that never
    /// came. They are dropped as `no_keyframe`, and everything behind them comes out. In bypass they pass, too.
    @Test(arguments: [false, true]) func hevcWithAnOpenGroupAtTheStart(isBypassed: Bool) throws {
        let scratch = try Scratch()
        let all = TestStream.coded(in: try TestStream.golden("hevc-open.ts"))
        let second = try #require(all.indices.dropFirst().first { all[$0].isKeyframe })
        let units = all[second...]
        let leading = units.count { $0.presentation < units[second].presentation }
        #expect(leading > 0)
        let stream = try TestStream.multiplexed(units, as: .init(streamType: 0x24))
        let report = try relay(stream, scratch) {
            $0.settings.tier = .base
            if isBypassed { $0.settings.mode = .bypass }
        }
        let lost = isBypassed ? 0 : leading
        #expect(report.frames.droppedByReason["no_keyframe"] ?? 0 == UInt64(lost), "\(report.frames)")
        #expect(report.frames.dropped == UInt64(lost) && report.frames.originals == UInt64(units.count))
        #expect(TestStream.units(in: try scratch.read("out.ts")).count == units.count - lost)
        if isBypassed { #expect(TestStream.payloads(in: try scratch.read("out.ts")) == units.map(\.bytes)) }
    }

    /// AV1 as units with start codes.
    /// - Parameter isWhole: with its sequence headers.
    private func av1(isWhole: Bool) throws -> [TestStream.Coded] {
        AV1Stream.units(ofIVF: try TestStream.golden("av1.ivf")).enumerated().map { index, unit in
            var bytes = AV1Stream.withStartCodes(unit)
            if !isWhole { bytes = Self.withoutSequenceHeader(bytes) }
            let time = MediaTime(ticks: 900_000 + Int64(index) * 3_000)
            return TestStream.Coded(bytes, presentation: time, decode: time, isKeyframe: false)
        }
    }

    private static func withoutSequenceHeader(_ unit: [UInt8]) -> [UInt8] {
        let starts: [Int] = unit.indices.dropLast(3).filter { unit[$0...].starts(with: [0, 0, 1]) } + [unit.count]
        return zip(starts, starts.dropFirst()).flatMap { (start: Int, end: Int) -> ArraySlice<UInt8> in
            unit[start + 3] >> 3 & 15 == 1 ? [] : unit[start..<end]
        }
    }

    /// Nobody can decode it. A relay of a file says so and fails. In bypass it passes, for receivers that know more.
    @Test func av1WithoutASequenceHeader() throws {
        let scratch = try Scratch()
        let units = try av1(isWhole: false)
        let stream = try TestStream.multiplexed(units, as: TestStream.av1)
        let failure = #expect(throws: RelayFailure.self) { _ = try relay(stream, scratch) }
        #expect(
            failure.map { "\($0)" }?.contains("none of its 30 pictures could be decoded") == true,
            "\(String(describing: failure))")
        #expect(failure?.report?.frames.droppedByReason == ["no_keyframe": 30])
        let passed = try relay(stream, scratch) { $0.settings.mode = .bypass }
        #expect(passed.frames.bypassed == 30)
        #expect(TestStream.payloads(in: try scratch.read("out.ts")) == units.map(\.bytes))
    }

    /// After five seconds without anything to begin with, pictures pass. From the first entry point on they are enhanced.
    @Test func whatHasNoEntryPointPassesUntilThereIsOne() throws {
        let scratch = try Scratch()
        var units = Array(try av1(isWhole: false)[..<15] + av1(isWhole: true)[15...])
        for index in units.indices {
            units[index].presentation = MediaTime(ticks: 900_000 + Int64(index) * 45_000)
            units[index].decode = units[index].presentation
        }
        let stream = try TestStream.multiplexed(units, as: TestStream.av1)
        let (report, notes, output) = try relayPictureByPicture(stream, scratch)
        #expect(report.frames.droppedByReason == ["no_keyframe": 11], "\(report.frames)")
        #expect(report.frames.bypassed == 4 && report.frames.emitted == 15, "\(report.frames)")
        #expect(notes.count { $0.contains("nothing that a decoder can begin with") } == 1, "\(notes)")
        #expect(TestStream.payloads(in: output).prefix(4) == units[11..<15].map(\.bytes)[...])
    }

    /// A gradual refresh without parameter sets is no beginning, however often one comes: the pictures pass until there is another. Each
    /// line is said once.
    @Test func refreshesWithoutParameterSetsAreNoBeginning() throws {
        let scratch = try Scratch()
        // A recovery point message: 20 pictures until all is right.
        let refresh: [UInt8] = [0, 0, 1, 6, 6, 2, 0b0000_1010, 0b1100_0100, 0x80]
        // The first keyframe and its parameter sets have not come.
        var units = Array(TestStream.coded(in: try TestStream.video(frames: 40, keyframeEvery: 20)).dropFirst())
        let entry = try #require(units.firstIndex { $0.isKeyframe })
        for index in units.indices {
            units[index].presentation = MediaTime(ticks: 900_000 + Int64(index) * 45_000)
            units[index].decode = units[index].presentation
            if index < entry { units[index].bytes.insert(contentsOf: refresh, at: H264Stream.delimiter.count) }
        }
        let (report, notes, _) = try relayPictureByPicture(try TestStream.multiplexed(units), scratch)
        #expect(report.frames.emitted == UInt64(units.count - entry) && report.frames.bypassed > 5, "\(report.frames)")
        let lines = notes.filter { $0.contains("go out as they come") || $0.contains("enhanced again") }
        #expect(lines.count == 3 && lines.last == "pictures are enhanced again", "\(notes)")
    }

    /// With its sequence headers it is enhanced from its first picture on, and where a bypass ends from that entry point on.
    @Test func av1IsEnhancedFromItsEntryPointsOn() throws {
        let scratch = try Scratch()
        let stream = try TestStream.multiplexed(try av1(isWhole: true), as: TestStream.av1)
        let (report, _, _) = try relayPictureByPicture(stream, scratch, changes: [5: { $0.mode = .enhance }]) {
            $0.settings.mode = .bypass
        }
        #expect(report.frames.bypassed == 15 && report.frames.emitted == 15, "\(report.frames)")
    }

    /// One that begins between two entry points is enhanced from the next one on.
    @Test func av1FromTheMiddle() throws {
        let scratch = try Scratch()
        let stream = try TestStream.multiplexed(try av1(isWhole: true).dropFirst(4), as: TestStream.av1)
        let report = try relay(stream, scratch) { $0.settings.tier = .base }
        #expect(report.frames.droppedByReason == ["no_keyframe": 11], "\(report.frames)")
        #expect(report.frames.emitted == 15)
    }
}
