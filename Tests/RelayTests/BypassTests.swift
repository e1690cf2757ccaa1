import Codec
import Container
import Endpoint
import Foundation
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import TestSupport
import Testing
import Transport
@testable import Relay

/// Pictures that go out as they came, and the changes between them and the encoder's.
@Suite(.timeLimit(.minutes(3))) struct BypassTests {
    /// Off and on again, with sound beside it: every picture and every unit of sound goes out once, and what is bypassed is what
    /// came, byte by byte.
    @Test(arguments: [1, 3]) func aCommandedChangeLosesNothing(every groups: Int) throws {
        let scratch = try Scratch()
        let stream = try TestStream.program(Array(repeating: .init(frames: 10, audioStreams: 1), count: 18))
        var changes: [Int: @Sendable (inout StreamSettings) -> Void] = [:]
        for (index, frame) in stride(from: 14, to: 180, by: groups * 10).enumerated() {
            changes[frame] = { $0.mode = index % 2 == 0 ? .bypass : .enhance }
        }
        let (report, notes, output) = try relayPictureByPicture(stream, scratch, changes: changes)
        #expect(report.frames.originals == 180 && report.frames.dropped == 0, "\(report.frames)")
        #expect(report.frames.bypassed >= 60 && report.frames.emitted + report.frames.bypassed == 180, "\(report.frames)")
        #expect(notes.count { $0.contains("as they come") } >= 16 / groups / 2, "\(notes)")
        #expect(TestStream.timesSinceFirst(in: output) == TestStream.timesSinceFirst(in: stream))
        let same = zip(TestStream.payloads(in: output), TestStream.payloads(in: stream)).count { $0 == $1 }
        #expect(same == Int(report.frames.bypassed))
        #expect(TestStream.passed(in: output).units == TestStream.passed(in: stream).units)
    }

    /// From the first picture on, without a decoder and without an encoder.
    @Test func aBypassedStreamNeedsNoCodec() throws {
        let scratch = try Scratch()
        let stream = try TestStream.program([.init(frames: 40, audioStreams: 2)])
        let (report, _, output) = try relayPictureByPicture(stream, scratch) {
            $0.settings.mode = .bypass
            $0.makeDecoder = { (_) throws(CodecError) in throw .injectedForGood }
            $0.makeEncoder = { (_) throws(CodecError) in throw .injectedForGood }
        }
        #expect(report.frames.bypassed == 40 && report.frames.originals == 40, "\(report.frames)")
        #expect(TestStream.payloads(in: output) == TestStream.payloads(in: stream))
        #expect(TestStream.passed(in: output).units == TestStream.passed(in: stream).units)
    }

    /// What is asked of pictures is absent then, and the event says so.
    @Test func whatABypassLeavesOutIsSaid() throws {
        let scratch = try Scratch()
        let stream = try TestStream.program([.init(frames: 20, audioStreams: 0)])
        let (report, notes, _) = try relayPictureByPicture(stream, scratch) {
            $0.settings.mode = .bypass
            $0.settings.steps.color.contrast = 1.5
            $0.settings.steps.crop = StepSettings.Crop("50%x50%")
        }
        #expect(report.frames.bypassed == 20)
        #expect(notes.contains { $0.contains("pictures go out as they come, without crop, color: mode is bypass") }, "\(notes)")
    }

    enum Failure: CaseIterable { case encoderForGood, encoderMissing, decoderBreaks, decoderDoesNotOpen }

    /// What the codecs cannot do passes from the next entry point on, and an event says so once.
    @Test(arguments: Failure.allCases) func aFailureLastsUntilTheNextEntryPoint(failure: Failure) throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 60, keyframeEvery: 10)
        let (report, notes, output) = try relayPictureByPicture(stream, scratch) {
            switch failure {
            case .encoderForGood: $0.makeEncoder = { (_) throws(CodecError) in throw .injectedForGood }
            case .encoderMissing:
                $0.makeEncoder = { (_) throws(CodecError) in
                    throw CodecError(.unsupportedCodec, operation: "test", message: "injected: none", place: "test")
                }
            case .decoderBreaks:
                $0.makeDecoder = { (configuration) throws(CodecError) in
                    try FailingDecoder(configuration) { $0 == 12 }
                }
            case .decoderDoesNotOpen: $0.makeDecoder = { (_) throws(CodecError) in throw .injectedForGood }
            }
        }
        let frames = report.frames
        let lost: UInt64 = failure == .decoderBreaks ? 8 : 10
        #expect(frames.dropped == lost && frames.emitted == (failure == .decoderBreaks ? 12 : 0), "\(frames)")
        #expect(frames.bypassed == 60 - lost - frames.emitted)
        #expect(notes.count { $0.contains("injected") } == 1, "\(notes)")
        #expect(TestStream.payloads(in: output).suffix(40) == TestStream.payloads(in: stream).suffix(40))
    }

    /// The decoder makes nothing of the stream from its 15th picture on: after 30 more they pass from the next entry point on.
    @Test func aStreamThatBecomesUndecodablePasses() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 90, keyframeEvery: 10)
        let (report, notes, output) = try relayPictureByPicture(stream, scratch) {
            $0.makeDecoder = { (configuration) throws(CodecError) in try BlindDecoder(configuration) { $0 >= 15 } }
        }
        #expect(report.frames.emitted == 15 && report.frames.droppedByReason == ["decode_error": 35], "\(report.frames)")
        #expect(report.frames.bypassed == 40, "\(report.frames)")
        #expect(notes.count { $0.contains("none of the last 30 pictures could be decoded") } == 1, "\(notes)")
        #expect(TestStream.payloads(in: output).suffix(40) == TestStream.payloads(in: stream).suffix(40))
    }

    /// Where pictures must not pass, one line says that they are dropped and what to do, however often the decoder fails.
    @Test(arguments: [0, 15] as [Int64]) func anUndecodableStreamThatMustNotPassIsReported(from first: Int64) throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 110, keyframeEvery: 10)
        let (report, notes, _) = try relayPictureByPicture(stream, scratch) {
            $0.options.keepSize = true
            $0.makeDecoder = { (configuration) throws(CodecError) in
                try BlindDecoder(configuration) { (first..<100).contains($0) }
            }
        }
        #expect(report.frames.droppedByReason == ["decode_error": UInt64(100 - first)], "\(report.frames)")
        #expect(report.frames.bypassed == 0 && report.frames.emitted == UInt64(10 + first), "\(report.frames)")
        let told = notes.filter { $0.contains("could be decoded") }
        #expect(told.count == 1 && told[0].contains("Leave out keep-size, or send H.264"), "\(notes)")
    }

    /// A keyframe that was lost makes the pictures up to the next one undecodable. That is no reason to give up.
    @Test func aLostKeyframeIsNoUndecodableStream() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 120, keyframeEvery: 40)
        let (report, _, _) = try relayPictureByPicture(stream, scratch) {
            $0.makeDecoder = { (configuration) throws(CodecError) in
                try BlindDecoder(configuration) { (15..<80).contains($0) }
            }
        }
        #expect(report.frames.emitted == 55 && report.frames.bypassed == 0, "\(report.frames)")
    }

    /// An encoder that fails again after a second attempt is bypassed again.
    @Test func anEncoderMayFailAgain() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 120, keyframeEvery: 10)
        let (report, _, _) = try relayPictureByPicture(
            stream, scratch, changes: [64: { $0.mode = .bypass }, 74: { $0.mode = .enhance }]
        ) {
            $0.makeEncoder = { (configuration) throws(CodecError) in try FailingEncoder(configuration) { _ in .refusal } }
        }
        #expect(report.frames.dropped == 20 && report.frames.bypassed == 100, "\(report.frames)")
    }

    /// A size that the encoder refused is tried again in the next run.
    @Test func anEncoderThatRefusedASizeIsTriedAgain() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 60, keyframeEvery: 10)
        let opened = Count()
        let (report, _, _) = try relayPictureByPicture(
            stream, scratch, changes: [14: { $0.mode = .bypass }, 24: { $0.mode = .enhance }]
        ) {
            $0.makeEncoder = { (configuration) throws(CodecError) in
                if opened.next() == 0 { throw .injectedForGood }
                return try VideoEncoder(configuration)
            }
        }
        #expect(report.frames.dropped == 10 && report.frames.bypassed == 20 && report.frames.emitted == 30, "\(report.frames)")
    }

    /// Parameter sets that came elsewhere than in entry points reach whoever begins there: the receivers where a bypass begins,
    /// the decoder where it ends.
    @Test(arguments: [StreamSettings.Mode.enhance, .bypass]) func parameterSetsOutsideOfEntryPoints(
        from mode: StreamSettings.Mode
    )
        throws
    {
        let scratch = try Scratch()
        var units = TestStream.coded(in: try TestStream.video(frames: 40, keyframeEvery: 10))
        for index in units.indices.dropFirst() { units[index].bytes = Self.withoutParameterSets(units[index].bytes) }
        // Another picture parameter set comes with a picture that is no entry point.
        var w = BitWriter()
        w.bits(0x68, 8)
        for code in [1, 0] { w.unsigned(code) }
        w.bits(0, 2)
        for _ in 0..<3 { w.unsigned(0) }
        w.bits(0, 3)
        for _ in 0..<3 { w.signed(0) }
        w.bits(0, 3)
        let other = [0, 0, 0, 1] + w.finished
        units[15].bytes = other + units[15].bytes
        let (report, _, output) = try relayPictureByPicture(
            try TestStream.multiplexed(units), scratch, changes: [17: { $0.mode = mode == .bypass ? .enhance : .bypass }]
        ) { $0.settings.mode = mode }
        #expect(report.frames.bypassed == 20 && report.frames.emitted == 20 && report.frames.dropped == 0, "\(report.frames)")
        guard mode == .enhance else { return }
        let first = TestStream.payloads(in: output)[20]
        #expect(Self.kinds(of: first).starts(with: [7, 8, 8]) && Self.contains(other, in: first))
        #expect(first.suffix(units[20].bytes.count) == units[20].bytes[...])
    }

    private static func starts(of unit: [UInt8]) -> [Int] {
        unit.indices.dropLast(3).filter { unit[$0] == 0 && unit[$0 + 1] == 0 && unit[$0 + 2] == 1 }
    }

    private static func kinds(of unit: [UInt8]) -> [UInt8] { starts(of: unit).map { unit[$0 + 3] & 31 } }

    private static func contains(_ part: [UInt8], in unit: [UInt8]) -> Bool {
        unit.indices.contains { unit[$0...].starts(with: part) }
    }

    private static func withoutParameterSets(_ unit: [UInt8]) -> [UInt8] {
        let starts = starts(of: unit) + [unit.count]
        return zip(starts, starts.dropFirst()).flatMap { (start: Int, end: Int) -> ArraySlice<UInt8> in
            [7, 8].contains(unit[start + 3] & 31) ? [] : unit[start..<end]
        }
    }

    /// The operator asks for a second attempt before the next entry point, where the bypass would begin.
    @Test func aBrokenDecoderIsTriedAgain() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 60, keyframeEvery: 10)
        let (report, _, _) = try relayPictureByPicture(
            stream, scratch, changes: [14: { $0.mode = .bypass }, 16: { $0.mode = .enhance }]
        ) {
            $0.makeDecoder = { (configuration) throws(CodecError) in try FailingDecoder(configuration) { $0 == 12 } }
        }
        #expect(report.frames.dropped == 8 && report.frames.emitted == 52, "\(report.frames)")
    }

    /// A mode that is set before the stream begins holds for its first picture.
    @Test func theModeMayChangeBeforeTheStreamBegins() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 20, keyframeEvery: 10)
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.pacesFiles = false
        let relay = try Relay(configuration)
        var settings = relay.settings
        settings.mode = .bypass
        relay.change(settings)
        let report = try relay.run { _ in }
        #expect(report.frames.bypassed == 20, "\(report.frames)")
    }

    /// Decode times that no source can mean move neither this picture nor those after it.
    @Test func insaneDecodeTimesAreBounded() {
        let (stamp, mapped) = (MediaTime(ticks: 900_000), MediaTime(ticks: 5_000_000))
        let hours = 6 * 3600 * MediaTime.ticksPerSecond
        func decode(_ time: MediaTime?) -> MediaTime { DecodingOrder.decode(time, presentation: stamp, mapped: mapped) }
        #expect(decode(nil) == mapped && decode(stamp) == mapped && decode(stamp + -7_200) == mapped + -7_200)
        #expect(decode(stamp + hours) == mapped && decode(stamp + -hours) == mapped + -MediaTime.ticksPerSecond)
    }

    /// A second attempt is made when the operator asks for one.
    @Test func theOperatorMayTryAgain() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 80, keyframeEvery: 10)
        let opened = Count()
        let (report, _, _) = try relayPictureByPicture(
            stream, scratch, changes: [34: { $0.mode = .bypass }, 44: { $0.mode = .enhance }]
        ) {
            $0.makeDecoder = { (configuration) throws(CodecError) in
                if opened.next() == 0 { throw .injectedForGood }
                return try VideoDecoder(configuration)
            }
        }
        #expect(report.frames.dropped == 10 && report.frames.bypassed == 40 && report.frames.emitted == 30, "\(report.frames)")
    }

    /// Pictures of a size that no decoder takes pass whatever the operator sets. A second attempt costs none of them.
    @Test func whatIsTooLargeIsNotTriedAgain() throws {
        let scratch = try Scratch()
        // 16,384 by 16,384.
        var w = BitWriter()
        for byte in [0x67, 66, 0xC0, 51] { w.bits(byte, 8) }
        for code in [0, 0, 2, 1] { w.unsigned(code) }
        w.bits(0, 1)
        for _ in 0..<2 { w.unsigned(1023) }
        w.bits(0b1100, 4)
        let large = [0, 0, 0, 1] + w.finished
        var units = TestStream.coded(in: try TestStream.video(frames: 60, keyframeEvery: 10))
        for index in units.indices {
            let (unit, starts) = (units[index].bytes, Self.starts(of: units[index].bytes))
            guard let place = starts.firstIndex(where: { unit[$0 + 3] & 31 == 7 }) else { continue }
            units[index].bytes = unit[..<starts[place]] + large + unit[starts[place + 1]...]
        }
        let (report, notes, _) = try relayPictureByPicture(
            try TestStream.multiplexed(units), scratch, changes: [14: { $0.mode = .bypass }, 24: { $0.mode = .enhance }])
        #expect(report.frames.bypassed == 60 && report.frames.dropped == 0, "\(report.frames)")
        #expect(notes.count { $0.contains("too large to decode") } == 1, "\(notes)")
    }

    /// The operator changes their mind while leading pictures come: the bypass that begins behind them has the former reason.
    @Test func aBypassBehindLeadingPicturesSaysWhyItBegan() throws {
        let scratch = try Scratch()
        let stream = try TestStream.golden("hevc-open.ts")
        let units = TestStream.coded(in: stream)
        let second = try #require(units.indices.dropFirst().first { units[$0].isKeyframe })
        #expect(units[second + 1].presentation < units[second].presentation)
        var changes: [Int: @Sendable (inout StreamSettings) -> Void] = [:]
        changes[second - 1] = { $0.mode = .bypass }
        changes[second + 2] = { $0.mode = .enhance }
        let (report, notes, _) = try relayPictureByPicture(stream, scratch, changes: changes)
        #expect(report.frames.bypassed > 0 && report.frames.dropped == 0, "\(report.frames)")
        #expect(notes.filter { $0.contains("as they come") } == ["pictures go out as they come: mode is bypass"])
    }

    /// At a constant rate a bypassed picture keeps the source's own time, and nothing is repeated into the bypass.
    @Test func aConstantRate() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 120, keyframeEvery: 10)
        let (report, _, output) = try relayPictureByPicture(
            stream, scratch, changes: [34: { $0.mode = .bypass }, 74: { $0.mode = .enhance }]
        ) { $0.options.fps = Rational(60) }
        #expect(report.frames.bypassed == 40, "\(report.frames)")
        let units = TestStream.units(in: output)
        #expect(zip(units.dropFirst(), units).allSatisfy { $0.presentation > $1.presentation })
        let payloads = Set(TestStream.payloads(in: stream))
        let bypassed = zip(units, TestStream.payloads(in: output)).filter { payloads.contains($1) }.map { $0.0 }
        #expect(bypassed.count == 40)
        #expect(zip(bypassed.dropFirst(), bypassed).allSatisfy { $0.presentation - $1.presentation == 3_000 })
        // None of the encoder's lies between two of them.
        #expect(units.count { (bypassed[0].presentation...bypassed[39].presentation).contains($0.presentation) } == 40)
    }
}
