import Media

/// Latencies in logarithmic buckets, sixteen for each power of two of microseconds: quantiles to about 4 %.
public struct LatencyDigest: Sendable {
    private var buckets = [UInt32](repeating: 0, count: 16 * 40)
    public private(set) var count = 0
    public private(set) var largest = Nanoseconds.zero

    mutating func record(_ latency: Nanoseconds) {
        let value = UInt64(max(latency.count, 0)) / 1_000 + 16
        let shift = 59 - value.leadingZeroBitCount
        buckets[min(shift * 16 + Int(value >> UInt64(shift)) - 16, buckets.count - 1)] += 1
        count += 1
        largest = max(largest, latency)
    }

    /// The latency that the given share (0...1) of the frames does not exceed.
    public func quantile(_ share: Double) -> Nanoseconds {
        let rank = max(1, Int((share * Double(count)).rounded(.up)))
        var seen = 0
        for (index, n) in buckets.enumerated() {
            seen += Int(n)
            if seen >= rank {
                let low = Int64(16 + index % 16) << Int64(index / 16)
                return min(largest, .microseconds(low + (1 << Int64(index / 16)) / 2 - 16))
            }
        }
        return largest
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
