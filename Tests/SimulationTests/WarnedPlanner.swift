import Media
import Schedule
import Simulation
import Telemetry

/// A planner that gets a warning of a disturbance and does only the least work from then on. A planner without a warning can
/// not be better, if it uses the machine fully before.
struct WarnedPlanner: Policy {
    private var planner: Planner
    private let warning: MonotonicTime
    /// Whether it also drops no original after the warning.
    private let keepsAll: Bool

    init(_ configuration: Planner.Configuration, at warning: MonotonicTime, keepsAll: Bool) {
        planner = Planner(configuration)
        self.warning = warning
        self.keepsAll = keepsAll
    }

    /// The fewest originals of a load that it misses when the warning comes `delay` after the onset.
    static func missed(of load: Load, warned delay: Nanoseconds) -> Int? {
        guard let onset = load.disturbances.first?.from else { return nil }
        func missed(keepsAll: Bool) -> Int {
            Simulation.run(load) { WarnedPlanner($0, at: onset + delay, keepsAll: keepsAll) }[0].missed
        }
        return min(missed(keepsAll: true), missed(keepsAll: false))
    }

    mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int) { planner.observe(work, cost, units: units) }
    mutating func use(_ cores: Cores) { planner.use(cores) }
    mutating func emitted(slack: Nanoseconds) { planner.emitted(slack: slack) }

    mutating func admit(_ unit: UnitRequest) -> UnitAdmission {
        let admission = planner.admit(unit)
        return keepsAll && unit.now >= warning ? .decode : admission
    }

    mutating func plan(_ frame: FrameRequest) -> FramePlan {
        var plan = planner.plan(frame)
        guard frame.now >= warning else { return plan }
        if keepsAll { plan.drop = nil }
        if plan.drop == nil { (plan.tier, plan.tiles, plan.synthesised) = (.base, 0, 0) }
        return plan
    }

    func refine(_ frame: RefinementRequest) -> MonotonicTime {
        frame.now < warning ? planner.refine(frame) : frame.now
    }

    func synthesise(_ frame: SynthesisRequest) -> Bool { frame.now < warning && planner.synthesise(frame) }

    mutating func encode(_ frame: EncodeRequest) -> DropReason? {
        let reason = planner.encode(frame)
        if frame.now < warning { return reason }
        return frame.kind == .synthesised ? .late : keepsAll ? nil : reason
    }
}
