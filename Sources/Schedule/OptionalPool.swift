import Media

/// How much optional work the streams of one supervisor may do together.
///
/// Streams report what work costs them in time, and time under contention overstates the cores that the work uses. A sum of
/// such costs would leave nothing to divide on a machine that is half idle. So the pool follows what the machine shows: it grows
/// while there is idle time beyond the reserve, and shrinks while there is less. Its unit is the streams' own: it finds by
/// itself how many of their cores fill the machine.
///
/// Originals come first. Idle time counts only when all streams have run for a while, and the pool shrinks at once when a stream
/// begins, or loses an original for want of time.
///
/// A value; no call allocates. docs/design/costs.md has the formulas.
public struct OptionalPool: Sendable, BitwiseCopyable {
    /// What the streams have done since the last update.
    public struct Streams: Sendable, BitwiseCopyable {
        /// Cores that the originals of streams need that have begun since.
        public var joined = 0.0
        /// Whether a stream runs that began so lately that its costs, and the machine's idle time beside it, are not known.
        public var areSettling = false
        /// Whether that is so of all streams.
        public var areNew = false
        /// Whether an original was dropped for want of time.
        public var haveLost = false

        public init() {}
    }

    /// How long a stream settles.
    public static let settlingTime = Nanoseconds.seconds(2)
    /// Growth in cores a second, for each idle core beyond the reserve.
    static let rise = 0.5
    /// The share of the pool that is lost each second while the machine has no idle time at all.
    static let fall = 0.25
    /// The share of the pool that is left when an original was lost. That is also its limit, which rises slowly again.
    static let afterLoss = 0.7
    /// A loss counts only while less of the machine than this share is idle. Otherwise the frame was late when it came.
    static let busy = 0.25
    /// Growth of that limit in a second: this share of it, and at least this share of the machine.
    static let recovery = (ofLimit: 0.01, ofMachine: 0.005)
    /// The largest pool, in machines. Streams that do not spend their parts leave the machine idle, so the pool grows for the
    /// others.
    static let largest = 4.0

    /// Cores, in the streams' own unit; nil before the first call of ``update(idle:cores:estimate:seconds:streams:)``.
    public private(set) var size: Double?
    /// The largest size after losses.
    private var limit = Double.infinity

    public init() {}

    /// - Parameters:
    ///   - idle: the cores that nothing used since the last call, of those that the streams may use. Nil where that is not
    ///     known: the estimate holds then.
    ///   - cores: that the streams may use.
    ///   - estimate: the pool by the costs that the streams report, which is the least while nothing is lost
    ///     (``CoreDeal/leftover(_:usedByOthers:)``).
    ///   - seconds: since the last call.
    public mutating func update(
        idle: Double?, cores: Double, estimate: Double, seconds: Double, streams: Streams = Streams()
    ) -> Double {
        let seconds = min(max(seconds, 0), 2)
        limit += max(limit * Self.recovery.ofLimit, cores * Self.recovery.ofMachine) * seconds
        var new = next(idle: idle, cores: cores, estimate: estimate, seconds: seconds, streams)
        if streams.haveLost, idle.map({ $0 < Self.busy * cores }) ?? true {
            new = min(new, size ?? new) * Self.afterLoss
            limit = new
        }
        new = min(new, limit)
        size = new
        return new
    }

    private func next(idle: Double?, cores: Double, estimate: Double, seconds: Double, _ streams: Streams) -> Double {
        if streams.areSettling { return size.map { max(0, $0 - streams.joined) } ?? (streams.areNew ? 0 : estimate) }
        guard let idle, let last = size else { return estimate }
        let reserve = (1 - CoreDeal.usable) * cores
        let excess = idle - reserve
        let next =
            excess >= 0
            ? last + Self.rise * excess * seconds : last * max(0, 1 + Self.fall * max(excess / reserve, -1) * seconds)
        return max(estimate, min(next, Self.largest * cores))
    }
}
