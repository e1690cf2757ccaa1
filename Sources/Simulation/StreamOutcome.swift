import Media
import Schedule

/// The latencies of all frames, kept whole: in virtual time a quantile should be exact.
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

/// What became of one simulated stream.
public struct StreamOutcome: Sendable {
    public internal(set) var originals = 0
    public internal(set) var synthesised = 0
    public internal(set) var emittedOriginals = 0
    public internal(set) var emittedSynthesised = 0
    /// Frames that still were somewhere between arrival and emission at the end.
    public internal(set) var inFlight = 0
    /// Originals dropped, by reason, and synthesised frames dropped for whatever reason.
    public internal(set) var droppedOriginals = [Int](repeating: 0, count: DropReason.allCases.count)
    public internal(set) var droppedSynthesised = 0
    /// Emitted after their deadline.
    public internal(set) var lateOriginals = 0
    public internal(set) var lateSynthesised = 0
    /// Arrival to emission of originals.
    public internal(set) var latency = LatencyDigest()
    /// Originals emitted at each tier, and the tiles computed for them.
    public internal(set) var framesByTier = [Int](repeating: 0, count: Tier.allCases.count)
    public internal(set) var tilesByTier = [Int](repeating: 0, count: Tier.allCases.count)
    /// Originals for which synthesised frames were asked for, and those that got none.
    public internal(set) var withoutSynthesis = 0
    public internal(set) var rungChanges = 0
    public internal(set) var deepestCodedQueue = 0
    public internal(set) var deepestRawQueue = 0
    /// The longest time between two emissions of originals.
    public internal(set) var longestFreeze = Nanoseconds.zero
    /// What the stream needed of the machine in the end; nil where the policy does not know.
    public internal(set) var demand: Capacity.Demand?
    /// One line per original, where they were asked for.
    public internal(set) var timeline: [TimelinePoint] = []

    public func dropped(_ reason: DropReason) -> Int { droppedOriginals[Int(reason.rawValue)] }
    public var dropped: Int { droppedOriginals.reduce(0, +) + droppedSynthesised }
    /// Originals that were not seen in time.
    public var missed: Int { lateOriginals + droppedOriginals.reduce(0, +) }
    /// `in + synthesised = emitted + dropped + in flight`.
    public var balances: Bool {
        originals + synthesised == emittedOriginals + emittedSynthesised + dropped + inFlight
    }
}

/// How one original fared, for plots.
public struct TimelinePoint: Sendable {
    public var arrival: MonotonicTime
    public var latency: Nanoseconds?
    public var tier: Tier
    public var tiles: Int
    public var rung: Int
    public var synthesised: Int
}
