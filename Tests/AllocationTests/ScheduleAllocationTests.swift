import Foundation
import Media
import Schedule
import TestSupport
import Testing

/// No call of the scheduler allocates. A child process counts, and only in an optimised build, because `max` of three numbers
/// makes an array in other builds.
@Suite struct ScheduleAllocationTests {
    private static let variable = "BURNISH_COUNT_SCHEDULE_ALLOCATIONS"

    @Test(.enabled(if: !_isDebugAssertConfiguration() && AllocationCounting.isPossible)) func decisionsCostNoAllocation() throws
    {
        let (status, output) = try AllocationCounting.runChild("ScheduleAllocationProbe", [Self.variable: "1"])
        #expect(status == 0, "\(output)")
        let counts = output.split(separator: "\n").filter { $0.hasPrefix("allocations ") }
        // The array shows that the counter works.
        #expect(counts == ["allocations of the schedule: 0", "allocations of an array: 1"], "\(output)")
    }

    /// The part of the child process.
    @Suite(.enabled(if: ProcessInfo.processInfo.environment[variable] != nil)) struct ScheduleAllocationProbe {
        @Test func count() throws {
            let counting = try #require(AllocationCounting())
            let size = PictureSize(width: 640, height: 360)
            var planner = Planner(
                Planner.Configuration(input: size, output: size.scaled(by: 2), interval: .milliseconds(33.3)))
            var cadence = Cadence(.constant(SlotGrid(rate: Rational(60), start: MediaTime(ticks: 0))))
            var repeater = Repeater(grid: SlotGrid(rate: Rational(60), start: MediaTime(ticks: 0)), hold: .seconds(1))
            var expected = Expectation()
            var random = SplitMix64(seed: 5)
            let before = counting.bySwift + counting.byOthers
            counting.begin()
            var index: Int64 = 0
            while index < 2_000 {
                index += 1
                let now = MonotonicTime(nanoseconds: index * 33_333_333)
                let (time, emitBy) = (MediaTime(ticks: index * 3_000), now + .milliseconds(100 * random.unit() - 10))
                let waiting = Int(random.unit() * 4)
                expected.observe(time, emitBy: emitBy)
                planner.use(Cores(0.5 + random.unit()))
                _ = planner.admit(UnitRequest(now: now, emitBy: emitBy, isKeyframe: index % 60 == 0, waiting: waiting))
                _ = cadence.layOut(originalAt: time)
                let plan = planner.plan(
                    FrameRequest(
                        now: now, emitBy: emitBy, synthesised: 1, tiles: 120, waiting: waiting, newestEmitBy: emitBy,
                        encoderQueue: waiting % 2, encoderBusySince: waiting > 1 ? now : nil))
                _ = planner.refine(RefinementRequest(now: now, plan: plan, base: .milliseconds(random.unit() * 5)))
                planner.observe(.base, .milliseconds(random.unit() * 5))
                _ = planner.synthesise(SynthesisRequest(now: now, plan: plan, order: .beforeOriginal))
                if plan.tiles > 0 { planner.observe(.tile(plan.tier), .milliseconds(random.unit() * 9), units: plan.tiles) }
                planner.observe(.encode, .milliseconds(random.unit() * 20))
                _ = planner.encode(EncodeRequest(now: now, emitBy: emitBy, kind: .original, nextOriginalEmitBy: emitBy))
                planner.emitted(slack: emitBy - now)
                _ = repeater.fillSlot(before: time, now: now)
                if let place = repeater.slot(for: time, now: now) { repeater.show(place, now: now) }
                _ = repeater.fillOverdueSlot(now: now, expected, hasFramesInFlight: false)
            }
            counting.end()
            let after = counting.bySwift + counting.byOthers
            print("allocations of the schedule: \(after - before)")
            counting.begin()
            let array = [Int](repeating: waitingForNothing, count: 100)
            counting.end()
            print("allocations of an array: \(counting.bySwift + counting.byOthers - after)")
            #expect(array.count == 100)
            fflush(nil)
        }

        private var waitingForNothing: Int { 7 }
    }
}
