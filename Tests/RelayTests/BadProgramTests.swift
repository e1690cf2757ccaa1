import Bitstream
import Container
import Endpoint
import Media
import Schedule
import Settings
import TestStreams
import Testing
import Transport
@testable import Relay

/// What a program says of itself, and is not true.
@Suite(.timeLimit(.minutes(2))) struct BadProgramTests {
    enum Clock: CaseIterable {
        case missing, random, jumpingByHours, backwards, standingStill

        /// The reference in place of the one with a number, in ticks of 90 kHz.
        func reference(_ number: Int, _ random: inout SplitMix64) -> Int64? {
            switch self {
            case .missing: nil
            case .random: Int64.random(in: 0..<(1 << 33), using: &random)
            case .jumpingByHours: Int64(number % 2) * 5 * 3_600 * 90_000 + Int64(number) * 3_000
            case .backwards: 80_000_000 - Int64(number) * 90_000
            case .standingStill: 900_000
            }
        }
    }

    /// The input's clock references are not read. The output has its own.
    @Test(arguments: Clock.allCases, StreamSettings.Mode.allCases)
    func clockReferencesMayBeMissingOrWrong(clock: Clock, mode: StreamSettings.Mode) throws {
        let good = try TestStream.program([.init(frames: 30, audioStreams: 1)])
        var bad = good
        var random = SplitMix64(seed: 7)
        var found = 0
        for at in stride(from: 0, to: bad.count, by: 188)
        where bad[at + 3] & 0x20 != 0 && bad[at + 4] >= 7 && bad[at + 5] & 0x10 != 0 {
            if let ticks = clock.reference(found, &random) {
                for n in 0..<4 { bad[at + 6 + n] = UInt8(truncatingIfNeeded: ticks >> (25 - 8 * n)) }
                bad[at + 10] = UInt8(ticks & 1) << 7 | 0x7E
                bad[at + 11] = 0
            } else {
                // What was the reference becomes stuffing.
                bad[at + 5] &= ~0x10
                for n in 6..<12 { bad[at + n] = 0xFF }
            }
            found += 1
        }
        #expect(found >= 30 && bad != good)
        let outputs = try [good, bad].map { stream in
            let scratch = try Scratch()
            let report = try relay(stream, scratch) {
                $0.settings.mode = mode
                $0.settings.tier = .base
            }
            #expect(report.frames.originals == 30 && report.frames.dropped == 0, "\(report.frames)")
            #expect(report.counters["timeline_jumps"] == nil)
            return try scratch.read("out.ts")
        }
        #expect(TestStream.payloads(in: outputs[1]).count == 30)
        if mode == .bypass { #expect(TestStream.payloads(in: outputs[0]) == TestStream.payloads(in: outputs[1])) }
        #expect(TestStream.units(in: outputs[0]).map(\.presentation) == TestStream.units(in: outputs[1]).map(\.presentation))
        #expect(TestStream.passed(in: outputs[0]).units == TestStream.passed(in: outputs[1]).units)
    }

    enum BrokenHeader: CaseIterable { case none, sync, tooLong, noLength, otherRate, cutShort, random }

    /// AAC whose headers are damaged passes as it is, also where its headers would be needed to keep the sound going. The
    /// pictures beside it are those of a stream with good headers.
    @Test(arguments: BrokenHeader.allCases, StreamSettings.Mode.allCases)
    func soundWithBrokenHeadersPassesAsItIs(header: BrokenHeader, mode: StreamSettings.Mode) throws {
        let scratch = try Scratch()
        let good = try TestStream.program([.init(frames: 60, audioStreams: 2, audioPadding: 300)])
        var stream = good
        var random = SplitMix64(seed: 11)
        let marker = Array("stream ".utf8)
        for at in 2..<stream.count - marker.count where stream[at...].starts(with: marker) {
            let (stated, isSynchronous, rate): (Int, Bool, UInt8) =
                switch header {
                case .none, .random: (320, true, 3)
                case .sync: (320, false, 3)
                case .tooLong: (8_191, true, 3)
                case .noLength: (0, true, 3)
                case .otherRate: (320, true, 11)
                // As a frame of which the end is missing.
                case .cutShort: (331, true, 3)
                }
            var bytes: [UInt8] = [isSynchronous ? 0xFF : 0x00, 0xF1, 0x40 | rate << 2, 0x80 | UInt8(stated >> 11)]
            bytes += [UInt8(stated >> 3 & 255), UInt8(stated & 7) << 5 | 0x1F, 0xFC]
            if header == .random { bytes = bytes.map { _ in .random(in: 0...255, using: &random) } }
            for (n, byte) in bytes.enumerated() { stream[at - 2 + n] = byte }
        }
        let sent = TestStream.passed(in: stream).units
        #expect(sent.count == 120 && stream != good)
        let report = try relay(stream, scratch) {
            $0.options.keepOutput = true
            $0.settings.mode = mode
            $0.settings.tier = .base
        }
        let output = try scratch.read("out.ts")
        #expect(TestStream.passed(in: output).units == sent)
        #expect(report.counters["passing_units_out"] == 120)
        #expect(report.frames.originals == 60 && report.frames.dropped == 0, "\(report.frames)")
        #expect(TestStream.timesSinceFirst(in: output) == TestStream.timesSinceFirst(in: good))
        if mode == .bypass { #expect(TestStream.payloads(in: output) == TestStream.payloads(in: good)) }
    }

    /// One header that lies shortly before the sound stops: silence goes on as the sound was.
    @Test func aHeaderThatLiesDoesNotChangeTheSilence() throws {
        var keeper = try #require(SoundKeeper(.aac))
        func frame(rate: UInt8) -> [UInt8] {
            [0xFF, 0xF1, 0x40 | rate << 2, 0x80, 40, 0x1F, 0xFC] + [UInt8](repeating: 0, count: 313)
        }
        let start = MonotonicTime(nanoseconds: 0)
        for number in 0..<4 {
            keeper.observe(frame(rate: number < 3 ? 3 : 11).span, at: MediaTime(ticks: Int64(number) * 1_920), arrival: start)
        }
        func silence(upTo ticks: Int64) -> SoundFrame? {
            while keeper.next(upTo: MediaTime(ticks: ticks), now: start + .seconds(1)) == nil {
                (MonotonicTime.now() + .milliseconds(1)).sleep()
            }
            return SoundFrame(keeper.frame.span, .aac)
        }
        #expect(silence(upTo: 90_000)?.format.sampleRate == 48_000)
        // Two in a row say so: the sound has changed.
        for number in 100..<102 {
            keeper.observe(frame(rate: 11).span, at: MediaTime(ticks: Int64(number) * 11_520), arrival: start)
        }
        #expect(silence(upTo: 1_250_000)?.format.sampleRate == 8_000)
    }
}
