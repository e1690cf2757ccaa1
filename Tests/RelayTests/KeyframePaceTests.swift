import Media
import TestStreams
import Testing
@testable import Relay

/// How many of the source's keyframes become keyframes of the output.
@Suite(.timeLimit(.minutes(2))) struct KeyframePaceTests {
    private func allowed(_ ticks: [Int64]) -> [Int64] {
        var pace = KeyframePace()
        return ticks.filter {
            guard pace.allows(at: MediaTime(ticks: $0)) else { return false }
            pace.record(at: MediaTime(ticks: $0))
            return true
        }
    }

    @Test func atMostOneASecond() {
        #expect(allowed((0..<100).map { $0 * 3_000 }) == [0, 90_000, 180_000, 270_000])
        // A keyframe each second stays one, though its stamps are rounded to milliseconds.
        #expect(allowed([0, 89_910, 180_000, 269_910]) == [0, 89_910, 180_000, 269_910])
        #expect(allowed([0, 45_000, 90_000, 135_000, 180_000]) == [0, 90_000, 180_000])
        // Another clock.
        #expect(allowed([900_000, 3_000, 6_000]) == [900_000, 3_000])
    }

    /// A source of keyframes, and one with a keyframe each second, have the same keyframes in the output.
    @Test(arguments: [1, 3, 15, 30, 60]) func aSourceOfKeyframesMakesNoOutputOfKeyframes(every: Int) throws {
        let scratch = try Scratch()
        let report = try relay(try TestStream.video(frames: 91, keyframeEvery: every), scratch)
        let keys = TestStream.units(in: try scratch.read("out.ts")).enumerated().filter { $1.isKeyframe }.map(\.offset)
        #expect(keys == (every == 60 ? [0, 60] : [0, 30, 60, 90]))
        #expect(report.frames.emitted == 91)
    }

    /// Dropped pictures of such a source are no requests of receivers.
    @Test func aDroppedKeyframeIsPacedAsTheSourcesAre() {
        let keyframes = Keyframes()
        keyframes.wasDropped()
        #expect(!keyframes.claim() && keyframes.claimDropped() && !keyframes.claimDropped())
    }
}
