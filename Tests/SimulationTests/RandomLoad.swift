import Media
import Schedule
import Simulation
import Telemetry

extension Load {
    /// A random load of ten seconds: a usual frame rate, a machine with a third to three times the usual speed, and a budget
    /// from 40 to 200 ms. Half of the loads have a disturbance of a few seconds.
    static func random(seed: UInt64) -> Load {
        var random = SplitMix64(seed: seed &* 2_654_435_761)
        func within(_ low: Double, _ high: Double) -> Double { low + (high - low) * random.unit() }
        func of<T>(_ choices: [T]) -> T { choices[Int(random.unit() * Double(choices.count))] }

        var load = Load.usual("random \(seed)", seconds: 10, framesPerSecond: of([15, 24, 25, 30, 50, 60]))
        load.seed = seed
        let speed = within(-1, 1)
        load.costs.scale(by: speed < 0 ? 1 / (1 - 2 * speed) : 1 + 2 * speed)
        load.costs.decode *= within(0.5, 2)
        load.costs.base *= within(0.5, 2)
        load.costs.synthesise *= within(0.5, 2)
        let encode = within(0.5, 2)
        load.costs.encode *= encode
        load.costs.encodeSynthesised *= encode
        load.costs.tileS *= within(0.5, 2)
        load.costs.tileM *= within(0.5, 2)
        load.costs.tileQ = load.costs.tileM * 9
        load.deadline.budget = .milliseconds(within(40, 200))
        load.jitter = .milliseconds(within(0, 10))
        load.origin = of([.source, .source, .arrival])
        load.noise = within(0, 0.25)
        load.activity = within(0.05, 1)
        load.synthesised = of([0, 1, 1, 1, 3])
        load.order = of([.beforeOriginal, .beforeOriginal, .afterOriginal])
        load.nonReferenceEvery = of([0, 0, 2, 3])
        load.cores = of([1, 2, 2, 4])
        load.workers = of([1, min(2, load.cores)])
        load.ceiling = of([.base, .neuralS, .neuralM, .quality])
        let from = Nanoseconds.seconds(within(2, 4))
        let to = from + .seconds(within(0.5, 4))
        switch Int(within(0, 8)) {
        case 0: load.disturbances = [Disturbance(.otherThreads(within(1, 4).rounded()), from: from, to: to)]
        case 1: load.disturbances = [Disturbance(.costs(from: 1, to: within(1, 4)), from: from, to: to)]
        case 2: load.disturbances = [Disturbance(.costs(from: within(1, 4), to: 1), from: from, to: to)]
        case 3: load.disturbances = [Disturbance(.networkStall, from: from, to: from + .milliseconds(within(50, 800)))]
        default: break
        }
        load.encoders = of([1, min(2, load.cores)])
        return load
    }

    /// The outcomes of this load with the least work. A policy can beat them only by luck. One run uses the planner's drops and
    /// one drops nothing, so that a needless drop of the planner does not lower the standard.
    func leastOutcome() -> LeastOutcome {
        let dropping = Simulation.run(self) { configuration in
            var least = configuration
            least.ceiling = .base
            least.synthesises = false
            return Planner(least)
        }
        let keeping = Simulation.run(self) { LeastToEveryFrame($0) }
        return LeastOutcome(dropping: dropping[0], keeping: keeping[0])
    }

    /// The outcome of this load with a planner that is prepared for a machine four times slower from one moment to the next.
    func cautiousOutcome() -> StreamOutcome {
        Simulation.run(self) { configuration in
            var cautious = configuration
            cautious.weights.caution = 4
            return Planner(cautious)
        }[0]
    }
}

/// The outcomes of the least work, with the planner's drops and without drops.
struct LeastOutcome {
    /// The outcome with more originals in time.
    let best: StreamOutcome
    /// The largest latency with drops, which bound it.
    let largestLatency: Nanoseconds

    init(dropping: StreamOutcome, keeping: StreamOutcome) {
        best = keeping.missed < dropping.missed ? keeping : dropping
        largestLatency = dropping.latency.largest
    }
}

/// Does only the base upscale for every original, and drops none.
struct LeastToEveryFrame: Policy {
    private var everything: EverythingPolicy

    init(_ configuration: Planner.Configuration) { everything = EverythingPolicy(configuration) }

    mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int) {}
    mutating func use(_ cores: Cores) {}
    mutating func admit(_ unit: UnitRequest) -> UnitAdmission { .decode }
    func refine(_ frame: RefinementRequest) -> MonotonicTime { frame.now }
    func synthesise(_ frame: SynthesisRequest) -> Bool { false }
    mutating func encode(_ frame: EncodeRequest) -> DropReason? { nil }
    mutating func emitted(slack: Nanoseconds) {}
    mutating func plan(_ frame: FrameRequest) -> FramePlan {
        var plan = everything.plan(frame)
        plan.tier = .base
        plan.tiles = 0
        plan.synthesised = 0
        return plan
    }
}
