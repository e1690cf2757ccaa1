import Media
import Schedule
import Testing

/// Steps on pictures: those that are optional work, by the noise filter, and those that a picture may not go without.
@Suite struct PlannerStepTests {
    static let frameTime = Nanoseconds.seconds(1 / 30.0)

    /// Plans a frame after many like it, of which each step took `cost`.
    private func plan(
        _ steps: StepSet = [.denoise], cost: Nanoseconds = .milliseconds(3), slack: Nanoseconds = .milliseconds(75),
        frames: Int = 120
    ) -> (plan: FramePlan, now: MonotonicTime, planner: Planner) {
        let size = PictureSize(width: 640, height: 360)
        var configuration = Planner.Configuration(input: size, output: size.scaled(by: 2), interval: Self.frameTime)
        configuration.synthesises = false
        var planner = Planner(configuration)
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        func step(_ slack: Nanoseconds) -> FramePlan {
            now = now + Self.frameTime
            let plan = planner.plan(FrameRequest(now: now, emitBy: now + slack, tiles: 60, steps: steps))
            planner.observe(.decode, .milliseconds(2))
            planner.observe(.base, .milliseconds(2.5))
            for kind in plan.steps { planner.observe(.step(kind), cost) }
            if plan.tier > .base { planner.observe(.tile(plan.tier), .milliseconds(0.5), units: 1) }
            planner.observe(.encode, .milliseconds(8))
            planner.emitted(slack: .milliseconds(30))
            return plan
        }
        for _ in 0..<frames { _ = step(.milliseconds(75)) }
        return (step(slack), now, planner)
    }

    @Test func theFilterComesBeforeTilesAndTilesGetTheRest() {
        let (with, without) = (plan(), plan([]))
        let stop = with.plan.stepsBy
        #expect(with.plan.steps == [.denoise] && stop >= with.now + .milliseconds(3) && stop < with.plan.emitBy)
        #expect(without.plan.steps.isEmpty)
        // 3 ms are six tiles.
        #expect(with.plan.tier == .neuralM && (5...7).contains(without.plan.tiles - with.plan.tiles), "\(with) \(without)")
        #expect(with.plan.stop - with.now == without.plan.stop - without.now)
    }

    @Test func itsCostIsLearnt() {
        for cost in [1, 6.0] {
            let learnt = plan(cost: .milliseconds(cost)).planner.costs
            #expect(abs(learnt[.step(.denoise)].mean - cost * 1e6) < cost * 1e5)
            #expect(learnt[.step(.enlarge)].mean < 1)
        }
    }

    @Test func withoutTimeThereIsNone() {
        let late = plan(slack: .milliseconds(12))
        #expect(late.plan.drop == nil && late.plan.steps.isEmpty && late.plan.tiles == 0)
        // Work that takes longer than pictures are apart is not begun, once that is known.
        #expect(plan(cost: .milliseconds(60)).plan.steps.isEmpty)
    }

    /// What a picture may not go without is part of the least work: on every rung, and in all that is promised.
    @Test func whatMustBeDoneIsPlannedWithTheBase() {
        let (with, without) = (plan([.deinterlace]), plan([]))
        #expect(with.plan.steps == [.deinterlace] && with.plan.drop == nil)
        #expect(with.planner.costs.leastEnhancement(with: [.deinterlace]).mean > 5.4e6)
        // Two threads share it.
        let more = with.planner.demand.least - without.planner.demand.least
        #expect(abs(more - 2 * 3 / 33.3) < 0.02, "\(more)")
        #expect((5...7).contains(without.plan.tiles - with.plan.tiles), "\(with.plan) \(without.plan)")
        // A frame that has time for the base alone goes all the same, with the step.
        let late = plan([.deinterlace, .denoise], slack: .milliseconds(14))
        #expect(late.plan.drop == nil && late.plan.steps == [.deinterlace])
    }

    @Test func costsOfSeveralAreAdded() {
        let costs = plan([.deinterlace, .denoise], cost: .milliseconds(2)).planner.costs
        let sum = costs[steps: [.deinterlace, .denoise]]
        #expect(abs(sum.mean - 4e6) < 4e5 && sum.low <= sum.mean && sum.high >= sum.mean && sum.peak >= sum.high)
        #expect(costs[steps: []].mean == 0)
    }
}
