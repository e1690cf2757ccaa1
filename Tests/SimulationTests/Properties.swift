import Media
import Schedule
import Simulation
import Telemetry

/// What must hold of any policy in any scenario. Each has a name, so that a broken policy can be shown to fail by the
/// property that it breaks.
enum Property: String, CaseIterable, Hashable {
    /// `in + synthesised = emitted + dropped + in flight`.
    case booksBalance
    /// At most two raw frames in any queue; coded units up to the limit at which the decoder gives up.
    case queuesAreBounded
    /// Where doing the least has every original out with a sixth of the budget to spare, and nothing goes wrong
    /// meanwhile, every original is out in time.
    case originalsAreInTime
    /// Where something goes wrong, no more than a few originals are missed at its onset beyond those that doing the
    /// least would have missed too.
    case onsetsCostLittle
    /// As many originals are in time as doing the least would have had, or nearly.
    case nothingIsDroppedInVain
    /// Latency stays within the budget, or within what doing the least takes where that is more.
    case latencyIsBounded
    /// The ladder is not climbed up and down.
    case qualityDoesNotFlicker

    /// Frames that an onset may cost: those under way when it comes, and those it takes to learn.
    static let onset = 8
    /// Changes of rung in ten seconds: four climbs to the top, and each change of conditions and each failed try (fewer
    /// and fewer) down and up again.
    static let rungChanges = 24

    /// The properties that an outcome breaks.
    /// - Parameter least: what the same load comes to with a relay that only ever does the least.
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
