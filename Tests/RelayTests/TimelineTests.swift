import Media
import Testing
@testable import Relay

@Suite struct TimelineTests {
    private func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: Int64((seconds * 1e9).rounded())) }
    private func stamp(_ seconds: Double) -> MediaTime { MediaTime(ticks: Int64((seconds * 90_000).rounded())) }

    @Test func differencesStayAsTheyCame() {
        var timeline = Timeline()
        let first = timeline.map(stamp(1000), arrival: at(0))
        let second = timeline.map(stamp(1000.04), arrival: at(0.04))
        let reordered = timeline.map(stamp(1000.02), arrival: at(0.05))
        #expect(first.output == Timeline.start)
        #expect(second.output - first.output == 3600)
        #expect(reordered.output - first.output == 1800)
        #expect(!second.isJump && !reordered.isJump)
    }

    @Test(arguments: [-500.0, -2, 5, 95_000]) func aJumpIsBridgedByTheTimeThatPassed(jump: Double) {
        var timeline = Timeline()
        let before = timeline.map(stamp(1000), arrival: at(10))
        let after = timeline.map(stamp(1000 + jump), arrival: at(12))
        #expect(after.isJump)
        #expect(after.output - before.output == 180_000)
    }

    @Test func aRestartedSourceGoesOnEvenWithTheSameStamps() {
        var timeline = Timeline()
        let before = timeline.map(stamp(1.4), arrival: at(0))
        _ = timeline.map(stamp(1.9), arrival: at(0.5))
        timeline.sourceRestarted()
        let after = timeline.map(stamp(1.4), arrival: at(3.5))
        #expect(after.isJump)
        #expect(after.output - before.output == Int64(3.5 * 90_000))
    }

    @Test func audioMayCrossAJumpLaterThanVideo() {
        var timeline = Timeline()
        let audio = timeline.map(stamp(1000), arrival: at(0))
        _ = timeline.map(stamp(5), arrival: at(0.02))
        let late = timeline.map(stamp(1000.03), arrival: at(0.03))
        #expect(!late.isJump)
        #expect(late.output - audio.output == 2700)
    }

    /// Whatever a source does with its stamps, the output never goes back by more than a second's reordering and a
    /// second's crossing.
    @Test(arguments: 0..<20) func theOutputNeverGoesBack(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var timeline = Timeline()
        var newest = MediaTime(ticks: 0)
        var input = stamp(1000)
        for n in 0..<2_000 {
            input = input + Int64.random(in: 0...4_000, using: &random)
            if Int.random(in: 0..<50, using: &random) == 0 {
                input = MediaTime(ticks: Int64.random(in: 0...(1 << 33), using: &random))
            }
            if Int.random(in: 0..<80, using: &random) == 0 { timeline.sourceRestarted() }
            let output = timeline.map(input, arrival: at(Double(n) * 0.033)).output
            #expect(output - newest >= -2 * MediaTime.ticksPerSecond)
            newest = max(newest, output)
        }
    }
}
