import Media
import Schedule
import Simulation
import Telemetry

/// The properties that any policy must have in any scenario. Each has a name, so a test can show which one a broken policy
/// breaks.
enum Property: String, CaseIterable, Hashable {
    /// `in + synthesised = emitted + dropped + in flight`.
    case booksBalance
    /// Each queue holds at most two raw frames. Coded units stay below the limit at which they are dropped.
    case queuesAreBounded
    /// All originals are in time, if the least work emits all of them with a sixth of the budget to spare and there is no
    /// disturbance.
    case originalsAreInTime
    /// A disturbance costs only a few more originals at its onset than the least work loses.
    case onsetsCostLittle
    /// Nearly as many originals are in time as with the least work.
    case nothingIsDroppedInVain
    /// The latency stays within the budget, or within that of the least work where that is more.
    case latencyIsBounded
    /// The rung does not change up and down.
    case qualityDoesNotFlicker

    /// The frames that an onset may cost: those in flight, and those until the estimates have adapted.
    static let onset = 8
    /// Changes of rung in ten seconds: four climbs to the top, and a fall and a climb for each change of conditions and for
    /// each failed try (which become rarer).
    static let rungChanges = 24

    /// The properties that an outcome breaks.
    /// - Parameter work: the outcome of the same load with the least work.
    static func broken(by outcome: StreamOutcome, least work: LeastOutcome, load: Load) -> Set<Property> {
        let least = work.best
        var broken: Set<Property> = []
        func require(_ property: Property, _ holds: Bool) {
            if !holds { broken.insert(property) }
        }
        let budget = load.deadline.budget
        require(.booksBalance, outcome.balances)
        require(.queuesAreBounded, outcome.deepestRawQueue <= 2 && outcome.deepestCodedQueue <= 122)
        if load.disturbances.isEmpty, least.missed == 0, least.latency.largest.count < budget.count * 5 / 6 {
            require(.originalsAreInTime, outcome.missed == 0)
        }
        if !load.disturbances.isEmpty { require(.onsetsCostLittle, outcome.missed <= least.missed * 21 / 20 + onset) }
        let inTime = outcome.originals - outcome.missed
        let leastInTime = least.originals - least.missed
        require(.nothingIsDroppedInVain, inTime >= leastInTime * 19 / 20 - onset)
        let bound = max(budget, work.largestLatency)
        let slow = outcome.latency.count(above: Nanoseconds(bound.count * 21 / 20))
        require(.latencyIsBounded, slow <= max(outcome.emittedOriginals * 3 / 100, load.disturbances.isEmpty ? 0 : onset))
        require(.qualityDoesNotFlicker, outcome.rungChanges <= rungChanges)
        return broken
    }
}
