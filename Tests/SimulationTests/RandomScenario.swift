import Media
import Schedule
import Simulation
import Telemetry
import TestSupport

/// What came of one random load, with each policy that the properties compare.
struct RandomScenario {
    let seed: UInt64
    /// The properties that the planner breaks, and those that the cautious one breaks.
    let broken: Set<Property>
    let brokenByCaution: Set<Property>
    let originals: Int
    /// What the planner misses and emits late, what the cautious one emits late, and what the least work misses.
    let missed: Int
    let late: Int
    let lateWithCaution: Int
    let missedByLeastWork: Int

    init(seed: UInt64) {
        let load = Load.random(seed: seed)
        let least = load.leastOutcome()
        let outcome = Simulation.run(load)[0]
        let cautious = load.cautiousOutcome()
        self.seed = seed
        broken = Property.broken(by: outcome, least: least, load: load)
        brokenByCaution = Property.broken(by: cautious, least: least, load: load)
        originals = outcome.originals
        missed = outcome.missed
        late = outcome.lateOriginals
        lateWithCaution = cautious.lateOriginals
        missedByLeastWork = least.best.missed
    }

    /// Every scenario. The simulations take minutes, so all tests share one pass over them, and it uses every core.
    static var all: [RandomScenario] {
        get async { await pass.value }
    }

    private static let pass = Task {
        await withTaskGroup { group in
            let parts = 16
            for part in 1...parts {
                group.addTask {
                    stride(from: part, through: Thoroughness.scenarios, by: parts).map { RandomScenario(seed: UInt64($0)) }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }.sorted { $0.seed < $1.seed }
        }
    }
}
