import Media
import Schedule
import Telemetry

/// The result of a replay, to print or to write as JSON. Times are in milliseconds.
public struct ReplayReport: Codable, Hashable, Sendable {
    public struct Latency: Codable, Hashable, Sendable {
        public var p50, p95, p99, largest: Double
    }

    public var load: String
    public var policy: String
    public var originals: Int
    public var emitted: Int
    /// Originals emitted after their deadline.
    public var late: Int
    /// Originals dropped, by reason.
    public var dropped: [String: Int]
    public var synthesised: Int
    /// From arrival to emission, of originals.
    public var latency: Latency
    /// The share of the emitted originals that each tier enhanced.
    public var tiers: [String: Double]
    /// Tiles computed for each emitted original, on average.
    public var tilesPerFrame: Double
    public var rungChanges: Int
    public var longestFreeze: Double
    public var deepestQueue: Int
    public var balances: Bool
    /// The cores that such a stream needs, without and with its synthesised frames (``Capacity/Demand``), and how many such
    /// streams fit on the machine without the loss of an original. Nil where the policy does not know.
    public var coresLeast, coresSynthesising: Double?
    public var streamsThatFit: Int?

    /// - Parameter cores: the cores of the simulated machine.
    public init(load: String, policy: String, outcome: StreamOutcome, cores: Int) {
        self.load = load
        self.policy = policy
        originals = outcome.originals
        emitted = outcome.emittedOriginals
        late = outcome.lateOriginals
        dropped = [:]
        for reason in DropReason.allCases where outcome.dropped(reason) > 0 {
            dropped[reason.name] = outcome.dropped(reason)
        }
        synthesised = outcome.emittedSynthesised
        latency = Latency(
            p50: outcome.latency.quantile(0.5).milliseconds, p95: outcome.latency.quantile(0.95).milliseconds,
            p99: outcome.latency.quantile(0.99).milliseconds, largest: outcome.latency.largest.milliseconds)
        tiers = [:]
        let frames = Double(max(outcome.emittedOriginals, 1))
        for tier in Tier.allCases { tiers[tier.name] = Double(outcome.framesByTier[Int(tier.rawValue)]) / frames }
        tilesPerFrame = Double(outcome.tilesByTier.reduce(0, +)) / frames
        rungChanges = outcome.rungChanges
        longestFreeze = outcome.longestFreeze.milliseconds
        deepestQueue = outcome.deepestCodedQueue
        balances = outcome.balances
        if let demand = outcome.demand {
            coresLeast = demand.least
            coresSynthesising = demand.synthesising
            streamsThatFit = Capacity(cores: Double(cores)).count(of: demand)
        }
    }

    /// The column headings of a table with one line for each report. ``cells`` has a line.
    public static let heads = [
        "load", "policy", "in", "emitted", "late", "dropped", "synthesised", "p50 ms", "p99 ms", "max ms", "base/S/M %",
        "rung changes", "cores", "fit",
    ]

    public var cells: [String] {
        func rounded(_ value: Double) -> String {
            let tenths = Int((value * 10).rounded())
            return "\(tenths / 10).\(tenths % 10)"
        }
        let drops = dropped.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        let needs = [coresLeast, coresSynthesising].compactMap { $0.map { String(($0 * 100).rounded() / 100) } }
        let need = needs.isEmpty ? "–" : needs.joined(separator: " to ")
        let shares = Tier.allCases.map { String(Int((100 * (tiers[$0.name] ?? 0)).rounded())) }.joined(separator: "/")
        return [
            load, policy, String(originals), String(emitted), String(late), drops.isEmpty ? "–" : drops,
            String(synthesised), rounded(latency.p50), rounded(latency.p99), rounded(latency.largest), shares,
            String(rungChanges), need, streamsThatFit.map(String.init) ?? "–",
        ]
    }
}

/// Policies to compare. The raw values are the names for `burnish replay --policy`.
public enum ReplayPolicy: String, CaseIterable, Sendable {
    /// The planner, as in the relay.
    case planner
    /// The planner without neural tiers.
    case noTiles = "no-tiles"
    /// The planner with nothing but the base upscale of the originals.
    case least
    /// All work for every frame and no drops, like a chain without a scheduler.
    case everything

    /// Runs a synthetic load under this policy.
    /// - Parameter point: values that replace those of the load.
    /// - Returns: a report for each stream.
    public func run(_ load: Load, _ point: SweepPoint = SweepPoint()) -> [ReplayReport] {
        let cores = adapted(load, point).cores
        return outcomes(load, point).map {
            ReplayReport(load: load.name, policy: name(point), outcome: $0, cores: cores)
        }
    }

    /// Runs a synthetic load under this policy.
    /// - Returns: an outcome for each stream.
    public func outcomes(_ load: Load, _ point: SweepPoint = SweepPoint(), timeline: Bool = false) -> [StreamOutcome] {
        let load = adapted(load, point)
        switch self {
        case .everything:
            return Simulation.run(load, timeline: timeline) { EverythingPolicy($0) }
        default:
            return Simulation.run(load, timeline: timeline) { configuration in
                var configuration = configuration
                point.adapt(&configuration)
                return Planner(adapted(configuration))
            }
        }
    }

    /// Runs recorded frames under this policy.
    /// - Parameter point: values that replace those of the records and of the configuration.
    public func run(
        _ records: [TraceRecord], name: String, configuration: Planner.Configuration, order: SynthesisOrder,
        _ point: SweepPoint = SweepPoint()
    ) -> ReplayReport {
        var (records, configuration) = (records, configuration)
        point.adapt(&records)
        point.adapt(&configuration)
        let frames = Trace.loads(records)
        let (cores, workers, encoders) = (configuration.cores, configuration.workers, configuration.encoders)
        let outcome =
            switch self {
            case .everything:
                Simulation.replay(
                    frames, policy: EverythingPolicy(configuration), order: order, cores: cores, workers: workers,
                    encoders: encoders)
            default:
                Simulation.replay(
                    frames, policy: Planner(adapted(configuration)), order: order, cores: cores, workers: workers,
                    encoders: encoders)
            }
        return ReplayReport(load: name, policy: self.name(point), outcome: outcome, cores: cores)
    }

    private func name(_ point: SweepPoint) -> String { point.name.isEmpty ? rawValue : "\(rawValue) \(point.name)" }

    private func adapted(_ load: Load, _ point: SweepPoint) -> Load {
        var load = load
        point.adapt(&load)
        return load
    }

    private func adapted(_ configuration: Planner.Configuration) -> Planner.Configuration {
        var configuration = configuration
        if self != .planner { configuration.ceiling = .base }
        if self == .least { configuration.synthesises = false }
        return configuration
    }
}

/// Does all work for every frame and drops none, like a chain without a scheduler. Other policies are compared with it.
public struct EverythingPolicy: Policy {
    private let ceiling: Tier

    public init(_ configuration: Planner.Configuration) { ceiling = configuration.ceiling }

    public mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int) {}
    public mutating func use(_ cores: Cores) {}
    public mutating func admit(_ unit: UnitRequest) -> UnitAdmission { .decode }
    public func refine(_ frame: RefinementRequest) -> MonotonicTime { frame.plan.stop }
    public func synthesise(_ frame: SynthesisRequest) -> Bool { true }
    public mutating func encode(_ frame: EncodeRequest) -> DropReason? { nil }
    public mutating func emitted(slack: Nanoseconds) {}
    public mutating func plan(_ frame: FrameRequest) -> FramePlan {
        let never = frame.now + .seconds(1_000)
        return FramePlan(
            drop: nil, emitBy: frame.emitBy, tier: ceiling, tiles: frame.tiles, stop: never,
            synthesised: frame.synthesised, synthesiseBy: never, step: .zero, rung: 0, rungs: 1)
    }
}
