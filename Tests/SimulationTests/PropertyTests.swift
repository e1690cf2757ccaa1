import Media
import Schedule
import Simulation
import Telemetry
import TestSupport
import Testing

@Suite struct PropertyTests {
    @Test func thePlannerKeepsEveryPropertyInRandomScenarios() async {
        for scenario in await RandomScenario.all {
            #expect(scenario.broken.isEmpty, "seed \(scenario.seed)")
        }
    }

    /// The slowdowns of these scenarios are up to four threads on one core and sudden fourfold costs. A planner with enough
    /// caution for them emits at most as many originals late as the least work misses.
    @Test func aCautiousPlannerIsLateOnlyWhereBaseCannotFit() async {
        for scenario in await RandomScenario.all {
            #expect(scenario.lateWithCaution <= scenario.missedByLeastWork, "seed \(scenario.seed)")
            #expect(scenario.brokenByCaution.isEmpty, "seed \(scenario.seed)")
        }
    }

    /// In these scenarios, a sudden slowdown makes originals late when the planner uses all the time that there usually is.
    @Test(arguments: [163, 1627, 3828] as [UInt64]) func cautionKeepsOriginalsInTime(seed: UInt64) {
        let load = Load.random(seed: seed)
        #expect(load.leastOutcome().best.missed == 0)
        #expect(Simulation.run(load)[0].lateOriginals > 0)
        #expect(load.cautiousOutcome().lateOriginals == 0)
    }

    /// Each scenario may have a few exceptions, but over all scenarios they must be rare. An original that is in time with the
    /// least work should be missed only because of an event that no planner could foresee. In fewer scenarios, chance decides.
    @Test(.enabled(if: Thoroughness.scenarios >= 10_000)) func theLeastWorkHardlyEverHasMoreInTime() async {
        let all = await RandomScenario.all
        let originals = all.reduce(0) { $0 + $1.originals }
        let more = all.reduce(0) { $0 + max(0, $1.missed - $1.missedByLeastWork) }
        let inTime = all.filter { $0.missedByLeastWork == 0 }
        let late = inTime.reduce(0) { $0 + $1.late }
        let dropped = inTime.reduce(0) { $0 + $1.missed - $1.late }
        let worse = inTime.filter { $0.missed > 0 }
        print("missed more than by the least work: \(more) of \(originals)")
        print(
            "where that has all in time, \(inTime.count) scenarios, the planner misses some in \(worse.count): "
                + "\(late) late, \(dropped) dropped")
        for delay in [0.0, 20, 40] {
            let missed = worse.compactMap { WarnedPlanner.missed(of: .random(seed: $0.seed), warned: .milliseconds(delay)) }
            print("warned \(delay) ms after the onset it misses some in \(missed.count { $0 > 0 }) of \(missed.count)")
        }
        #expect(more * 10_000 <= originals)
        #expect(worse.count * 100 <= inTime.count)
    }

    @Test(arguments: 1...8) func booksBalanceWhereverTheyAreClosed(part: Int) {
        for seed in stride(from: UInt64(part), through: UInt64(Thoroughness.scenarios), by: 8) {
            let load = Load.random(seed: seed)
            let end = MonotonicTime(nanoseconds: Int64(seed * 37_000_001 % 3_000_000_000))
            let outcome = Simulation.run(load, until: end)[0]
            #expect(outcome.balances, "seed \(seed)")
        }
    }

    /// The properties that a policy breaks in the first twenty scenarios.
    func broken<P: Policy>(by policy: (Planner.Configuration) -> P) -> Set<Property> {
        var broken: Set<Property> = []
        for seed in 1...UInt64(20) {
            let load = Load.random(seed: seed)
            let outcome = Simulation.run(load, policy: policy)[0]
            broken.formUnion(Property.broken(by: outcome, least: load.leastOutcome(), load: load))
        }
        return broken
    }

    @Test func aPolicyThatOscillatesFails() {
        #expect(broken { OscillatingPolicy($0) }.contains(.qualityDoesNotFlicker))
    }

    @Test func aPolicyThatOverDropsFails() {
        #expect(broken { OverDroppingPolicy($0) }.contains(.nothingIsDroppedInVain))
    }

    @Test func aPolicyThatLetsLatencyGrowFails() {
        let broken = broken { EverythingPolicy($0) }
        #expect(broken.contains(.latencyIsBounded) && broken.contains(.queuesAreBounded))
    }
}
