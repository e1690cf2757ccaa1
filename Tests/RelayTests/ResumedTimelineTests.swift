import Media
import Schedule
import Testing
@testable import Relay

/// A timeline that goes on where another process ended.
@Suite struct ResumedTimelineTests {
    private func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: Int64((seconds * 1e9).rounded())) }
    private func stamp(_ seconds: Double) -> MediaTime { MediaTime(ticks: Int64((seconds * 90_000).rounded())) }

    /// It ended at 50 s of the output, which are 1000 s of the source, with a frame that arrived at 100 s.
    private func resumed(grid: SlotGrid? = nil) -> Timeline {
        Timeline(
            grid: grid, resuming: TimelineEnd(output: stamp(50), arrival: at(100), offset: stamp(50) - stamp(1000)))
    }

    @Test(arguments: [0.2, 2.5, 40]) func aSourceThatHasRunOnKeepsItsOffset(outage: Double) {
        var timeline = resumed()
        let sound = timeline.map(passing: stamp(1000 + outage - 0.1), stream: 0, arrival: at(100 + outage))
        let first = timeline.map(stamp(1000 + outage), arrival: at(100 + outage + 0.15))
        let second = timeline.map(stamp(1000 + outage + 0.04), arrival: at(100 + outage + 0.19))
        #expect(first.output == stamp(50 + outage) && !first.isJump)
        #expect(second.output - first.output == 3600)
        #expect(outage > 10 || sound == stamp(50 + outage - 0.1))
    }

    @Test(arguments: [0.0, 999.9, 1007, 90_000]) func anotherSourceGoesOnByTheTimeThatPassed(stampOfIt: Double) {
        var timeline = resumed()
        let first = timeline.map(stamp(stampOfIt), arrival: at(103))
        #expect(first.output == stamp(53) && first.isJump)
        #expect(timeline.map(stamp(stampOfIt + 0.04), arrival: at(103.04)).output == stamp(53.04))
    }

    @Test func aSourceThatCallsAgainGoesOnByTheTimeThatPassed() {
        var timeline = resumed()
        timeline.sourceRestarted()
        let first = timeline.map(stamp(1003.5), arrival: at(103))
        #expect(first.output == stamp(53))
    }

    @Test func aConstantRateStaysOnItsSlots() {
        let grid = SlotGrid(rate: Rational(60), start: Timeline.start)
        var timeline = Timeline(
            grid: grid, resuming: TimelineEnd(output: grid.time(of: 600), arrival: at(100), offset: 0))
        let first = timeline.map(stamp(7), arrival: at(101.003))
        #expect(first.output == grid.time(of: 660))
    }
}
