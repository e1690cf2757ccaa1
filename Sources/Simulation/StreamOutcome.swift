import Media
import Schedule

/// The latencies of all frames. All are kept, so that quantiles in virtual time are exact.
public struct LatencyDigest: Sendable {
    private var latencies: [Nanoseconds] = []

    public var count: Int { latencies.count }
    public var largest: Nanoseconds { latencies.max() ?? .zero }

    mutating func record(_ latency: Nanoseconds) { latencies.append(latency) }

    /// How many frames took longer than this.
    public func count(above limit: Nanoseconds) -> Int { latencies.count { $0 > limit } }

    /// The latency that the given share (0...1) of the frames does not exceed.
    public func quantile(_ share: Double) -> Nanoseconds {
        let rank = max(1, Int((share * Double(count)).rounded(.up)))
        return latencies.isEmpty ? .zero : latencies.sorted()[min(rank, count) - 1]
    }
}

/// The result of one simulated stream.
public struct StreamOutcome: Sendable {
    public internal(set) var originals = 0
    public internal(set) var synthesised = 0
    public internal(set) var emittedOriginals = 0
    public internal(set) var emittedSynthesised = 0
    /// At a constant rate, repeats of a frame where none was synthesised.
    public internal(set) var repeated = 0
    /// Originals that went out as they came.
    public internal(set) var bypassed = 0
    /// Frames between arrival and emission at the end.
    public internal(set) var inFlight = 0
    /// Dropped originals by the raw value of the reason, and all dropped synthesised frames.
    public internal(set) var droppedOriginals = [Int](repeating: 0, count: DropReason.allCases.count)
    public internal(set) var droppedSynthesised = 0
    /// Frames that were emitted after their deadline.
    public internal(set) var lateOriginals = 0
    public internal(set) var lateSynthesised = 0
    /// From arrival to emission, of originals.
    public internal(set) var latency = LatencyDigest()
    /// Originals emitted at each tier, and the tiles computed for them.
    public internal(set) var framesByTier = [Int](repeating: 0, count: Tier.allCases.count)
    public internal(set) var tilesByTier = [Int](repeating: 0, count: Tier.allCases.count)
    /// Originals without a synthesised frame although some were requested.
    public internal(set) var withoutSynthesis = 0
    public internal(set) var rungChanges = 0
    public internal(set) var deepestCodedQueue = 0
    public internal(set) var deepestRawQueue = 0
    /// The longest time between two emissions of originals.
    public internal(set) var longestFreeze = Nanoseconds.zero
    /// The cores that the stream needed at the end; nil where the policy does not know.
    public internal(set) var demand: Capacity.Demand?
    /// The choices of the output: the one at the start, and when others took its place. Empty where the output is fixed.
    public internal(set) var outputs: [(at: MonotonicTime, choice: OutputChoice)] = []
    /// One point for each original; empty unless a timeline was requested.
    public internal(set) var timeline: [TimelinePoint] = []

    public func dropped(_ reason: DropReason) -> Int { droppedOriginals[Int(reason.rawValue)] }
    public var dropped: Int { droppedOriginals.reduce(0, +) + droppedSynthesised }
    /// Originals that were late or dropped.
    public var missed: Int { lateOriginals + droppedOriginals.reduce(0, +) }
    /// `in + synthesised = emitted + bypassed + dropped + in flight`.
    public var balances: Bool {
        originals + synthesised == emittedOriginals + emittedSynthesised + bypassed + dropped + inFlight
    }
}

/// The outcome of one original, for plots.
public struct TimelinePoint: Sendable {
    public var arrival: MonotonicTime
    /// Nil when it was dropped.
    public var latency: Nanoseconds?
    public var tier: Tier
    public var tiles: Int
    public var rung: Int
    public var synthesised: Int
}
