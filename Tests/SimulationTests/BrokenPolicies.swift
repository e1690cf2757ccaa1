import Media
import Schedule
import Simulation
import Telemetry

/// Alternates between the top and the bottom rung, because it has no memory.
struct OscillatingPolicy: Policy {
    var planner: Planner
    private var isHigh = false

    init(_ configuration: Planner.Configuration) { planner = Planner(configuration) }

    mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int) { planner.observe(work, cost, units: units) }
    mutating func use(_ cores: Cores) { planner.use(cores) }
    mutating func emitted(slack: Nanoseconds) { planner.emitted(slack: slack) }
    mutating func admit(_ unit: UnitRequest) -> UnitAdmission { planner.admit(unit) }
    func refine(_ frame: RefinementRequest) -> MonotonicTime { planner.refine(frame) }
    func synthesise(_ frame: SynthesisRequest) -> Bool { planner.synthesise(frame) }
    mutating func encode(_ frame: EncodeRequest) -> DropReason? { planner.encode(frame) }
    mutating func plan(_ frame: FrameRequest) -> FramePlan {
        var plan = planner.plan(frame)
        isHigh.toggle()
        plan.rung = isHigh ? 0 : plan.rungs - 1
        if !isHigh { plan.tier = .base }
        return plan
    }
}

/// Drops every frame that a pessimistic estimate calls late, even when no other frame gains. It learns only from frames that it
/// does not drop, so one bad estimate lasts for ever.
struct OverDroppingPolicy: Policy {
    var planner: Planner
    private var pessimism = 0.0

    init(_ configuration: Planner.Configuration) { planner = Planner(configuration) }

    mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int) {
        planner.observe(work, cost, units: units)
        if work == .base || work == .encode { pessimism = max(pessimism * 0.999, 2 * Double(cost.count)) }
    }
    mutating func use(_ cores: Cores) { planner.use(cores) }
    mutating func emitted(slack: Nanoseconds) { planner.emitted(slack: slack) }
    mutating func admit(_ unit: UnitRequest) -> UnitAdmission { planner.admit(unit) }
    func refine(_ frame: RefinementRequest) -> MonotonicTime { planner.refine(frame) }
    func synthesise(_ frame: SynthesisRequest) -> Bool { planner.synthesise(frame) }
    mutating func encode(_ frame: EncodeRequest) -> DropReason? { planner.encode(frame) }
    mutating func plan(_ frame: FrameRequest) -> FramePlan {
        var plan = planner.plan(frame)
        if Double((frame.emitBy - frame.now).count) < 2 * pessimism { plan.drop = .late }
        return plan
    }
}
