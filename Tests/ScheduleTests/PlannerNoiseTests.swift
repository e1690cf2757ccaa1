import Media
import Schedule
import Testing

/// The noise filter as optional work.
@Suite struct PlannerNoiseTests {
    static let frameTime = Nanoseconds.seconds(1 / 30.0)

    /// Plans a frame after many like it, of which the filter took `cost`.
    private func plan(
        denoise: Bool = true, cost: Nanoseconds = .milliseconds(3), slack: Nanoseconds = .milliseconds(75), frames: Int = 120
    ) -> (plan: FramePlan, now: MonotonicTime, cost: Double) {
        let size = PictureSize(width: 640, height: 360)
        var configuration = Planner.Configuration(input: size, output: size.scaled(by: 2), interval: Self.frameTime)
        configuration.synthesises = false
        var planner = Planner(configuration)
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        func step(_ slack: Nanoseconds) -> FramePlan {
            now = now + Self.frameTime
            let plan = planner.plan(FrameRequest(now: now, emitBy: now + slack, tiles: 60, denoise: denoise))
            planner.observe(.decode, .milliseconds(2))
            planner.observe(.base, .milliseconds(2.5))
            if plan.denoiseBy != nil { planner.observe(.denoise, cost) }
            if plan.tier > .base { planner.observe(.tile(plan.tier), .milliseconds(0.5), units: 1) }
            planner.observe(.encode, .milliseconds(8))
            planner.emitted(slack: .milliseconds(30))
            return plan
        }
        for _ in 0..<frames { _ = step(.milliseconds(75)) }
        return (step(slack), now, planner.costs[.denoise].mean)
    }

    @Test func theFilterComesBeforeTilesAndTilesGetTheRest() throws {
        let (with, without) = (plan(), plan(denoise: false))
        let stop = try #require(with.plan.denoiseBy)
        #expect(stop >= with.now + .milliseconds(3) && stop < with.plan.emitBy)
        #expect(without.plan.denoiseBy == nil)
        // 3 ms are six tiles.
        #expect(with.plan.tier == .neuralM && (5...7).contains(without.plan.tiles - with.plan.tiles), "\(with) \(without)")
        #expect(with.plan.stop - with.now == without.plan.stop - without.now)
    }

    @Test func itsCostIsLearnt() {
        #expect(abs(plan(cost: .milliseconds(1)).cost - 1e6) < 1e5)
        #expect(abs(plan(cost: .milliseconds(6)).cost - 6e6) < 6e5)
    }

    @Test func withoutTimeThereIsNone() {
        let late = plan(slack: .milliseconds(12))
        #expect(late.plan.drop == nil && late.plan.denoiseBy == nil && late.plan.tiles == 0)
        // Work that takes longer than pictures are apart is not begun, once that is known.
        #expect(plan(cost: .milliseconds(60)).plan.denoiseBy == nil)
    }
}
