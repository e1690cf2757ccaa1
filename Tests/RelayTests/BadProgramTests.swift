import Container
import Endpoint
import Media
import Settings
import TestStreams
import Testing
import Transport
@testable import Relay

/// What a program says of itself, and is not true.
@Suite(.timeLimit(.minutes(2))) struct BadProgramTests {
    enum Clock: CaseIterable { case missing, insane }

    /// The input's clock references are not read. The output has its own.
    @Test(arguments: Clock.allCases) func clockReferencesMayBeMissingOrWrong(clock: Clock) throws {
        let good = try TestStream.program([.init(frames: 30, audioStreams: 1)])
        var bad = good
        var random = SplitMix64(seed: 7)
        var found = 0
        for at in stride(from: 0, to: bad.count, by: 188)
        where bad[at + 3] & 0x20 != 0 && bad[at + 4] >= 7 && bad[at + 5] & 0x10 != 0 {
            found += 1
            switch clock {
            // What was the reference becomes stuffing.
            case .missing:
                bad[at + 5] &= ~0x10
                for n in 6..<12 { bad[at + n] = 0xFF }
            case .insane: for n in 6..<12 { bad[at + n] = UInt8.random(in: 0...255, using: &random) }
            }
        }
        #expect(found >= 30)
        let outputs = try [good, bad].map { stream in
            let scratch = try Scratch()
            let report = try relay(stream, scratch) { $0.settings.mode = .bypass }
            #expect(report.frames.bypassed == 30)
            return try scratch.read("out.ts")
        }
        #expect(TestStream.payloads(in: outputs[0]) == TestStream.payloads(in: outputs[1]))
        #expect(TestStream.units(in: outputs[0]).map(\.presentation) == TestStream.units(in: outputs[1]).map(\.presentation))
        #expect(TestStream.passed(in: outputs[0]).units == TestStream.passed(in: outputs[1]).units)
    }

    /// AAC whose headers are damaged passes as it is, also where its headers would be needed to keep the sound going.
    @Test func soundWithBrokenHeadersPassesAsItIs() throws {
        let scratch = try Scratch()
        var stream = try TestStream.program([.init(frames: 60, audioStreams: 2, audioPadding: 300)])
        var random = SplitMix64(seed: 11)
        let marker = Array("stream ".utf8)
        for at in 2..<stream.count - marker.count where Array(stream[at..<at + marker.count]) == marker {
            for n in at - 2..<at + marker.count { stream[n] = UInt8.random(in: 0...255, using: &random) }
        }
        let sent = TestStream.passed(in: stream).units
        #expect(sent.count == 120)
        let report = try relay(stream, scratch) { $0.options.keepOutput = true }
        #expect(TestStream.passed(in: try scratch.read("out.ts")).units == sent)
        #expect(report.counters["passing_units_out"] == 120 && report.frames.balance)
    }
}
