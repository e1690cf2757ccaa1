import Media
import Schedule
import Simulation
import Telemetry
import TestSupport
import Testing

@Suite struct PropertyTests {
    @Test func thePlannerKeepsEveryPropertyInRandomScenarios() {
        for seed in 1...UInt64(Thoroughness.scenarios) {
            let load = Load.random(seed: seed)
            let least = load.leastOutcome()
            let broken = Property.broken(by: Simulation.run(load)[0], least: least, load: load)
            #expect(broken.isEmpty, "seed \(seed)")
        }
    }

    /// The slowdowns of these scenarios are up to four threads on one core and sudden fourfold costs. A planner with enough
    /// caution for them emits at most as many originals late as the least work misses.
    @Test func aCautiousPlannerIsLateOnlyWhereBaseCannotFit() {
        for seed in 1...UInt64(Thoroughness.scenarios) {
            let load = Load.random(seed: seed)
            let least = load.leastOutcome()
            let outcome = cautiousOutcome(load)
            #expect(outcome.lateOriginals <= least.best.missed, "seed \(seed)")
            #expect(Property.broken(by: outcome, least: least, load: load).isEmpty, "seed \(seed)")
        }
    }

    private func cautiousOutcome(_ load: Load) -> StreamOutcome {
        Simulation.run(load) { configuration in
            var cautious = configuration
            cautious.weights.caution = 4
            return Planner(cautious)
        }[0]
    }

    /// In these scenarios, a sudden slowdown makes originals late when the planner uses all the time that there usually is.
    @Test(arguments: [163, 1627, 3828] as [UInt64]) func cautionKeepsOriginalsInTime(seed: UInt64) {
        let load = Load.random(seed: seed)
        #expect(load.leastOutcome().best.missed == 0)
        #expect(Simulation.run(load)[0].lateOriginals > 0)
        #expect(cautiousOutcome(load).lateOriginals == 0)
    }

    /// Each scenario may have a few exceptions, but over all scenarios they must be rare. An original that is in time with the
    /// least work should be missed only because of an event that no planner could foresee.
    @Test(.enabled(if: Thoroughness.isFull)) func theLeastWorkHardlyEverHasMoreInTime() {
        var (originals, more, scenarios, late, dropped) = (0, 0, 0, 0, 0)
        var worse: [Load] = []
        for seed in 1...UInt64(Thoroughness.scenarios) {
            let load = Load.random(seed: seed)
            let least = load.leastOutcome().best
            let outcome = Simulation.run(load)[0]
            originals += outcome.originals
            more += max(0, outcome.missed - least.missed)
            guard least.missed == 0 else { continue }
            scenarios += 1
            late += outcome.lateOriginals
            dropped += outcome.missed - outcome.lateOriginals
            if outcome.missed > 0 { worse.append(load) }
        }
        print("missed more than by the least work: \(more) of \(originals)")
        print(
            "where that has all in time, \(scenarios) scenarios, the planner misses some in \(worse.count): "
                + "\(late) late, \(dropped) dropped")
        for delay in [0.0, 20, 40] {
            let missed = worse.compactMap { WarnedPlanner.missed(of: $0, warned: .milliseconds(delay)) }
            print("warned \(delay) ms after the onset it misses some in \(missed.count { $0 > 0 }) of \(missed.count)")
        }
        #expect(more * 10_000 <= originals)
        #expect(worse.count * 100 <= scenarios)
    }

    @Test func booksBalanceWhereverTheyAreClosed() {
        for seed in 1...UInt64(Thoroughness.scenarios) {
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
