import Media

/// What a bad network does, as settings.
public struct ImpairmentSettings: Hashable, Sendable {
    /// Share of datagrams lost, 0 to 1.
    public var loss = 0.0
    /// Added to every datagram's way, in each direction.
    public var delay = Nanoseconds.zero
    /// Up to so much more, evenly distributed. Order is kept: a datagram waits for the one before it.
    public var jitter = Nanoseconds.zero
    /// Share of datagrams that are held back so long that later ones overtake them.
    public var reorder = 0.0
    /// How long those are held back.
    public var reorderBy = Nanoseconds.milliseconds(10)
    /// The link's speed in bits a second; nil for no limit.
    public var rate: Double?
    /// How long a datagram may queue for a limited link before it is lost.
    public var queue = Nanoseconds.milliseconds(200)
    /// Times since the start during which nothing passes.
    public var blackouts: [Range<Nanoseconds>] = []
    /// The same seed and the same datagrams at the same times give the same fates.
    public var seed: UInt64 = 1

    public init() {}
}

/// One direction of an impaired path: decides what becomes of each datagram. A pure value, repeatable by its seed.
public struct Impairment: Sendable {
    public enum Verdict: Hashable, Sendable {
        case deliver(at: Nanoseconds)
        case lose
    }

    private let settings: ImpairmentSettings
    private var random: SplitMix64
    /// When the link will have sent everything that it was given.
    private var linkFree = Nanoseconds.zero
    private var lastDelivery = Nanoseconds.zero

    /// - Parameter direction: 0 or 1; the two directions of one path draw different numbers.
    public init(_ settings: ImpairmentSettings, direction: UInt64) {
        self.settings = settings
        random = SplitMix64(seed: settings.seed &* 2 &+ direction)
    }

    /// The fate of a datagram.
    /// - Parameters:
    ///   - now: time since the path's start; never less than in the call before.
    ///   - byteCount: its length with headers, which a limited rate is charged for.
    public mutating func judge(at now: Nanoseconds, byteCount: Int) -> Verdict {
        // Always the same number of draws, so that one fate does not shift all later ones.
        let (lossDraw, jitterDraw, reorderDraw) = (random.unit(), random.unit(), random.unit())
        if settings.blackouts.contains(where: { $0.contains(now) }) || lossDraw < settings.loss { return .lose }
        var time = now
        if let rate = settings.rate, rate > 0 {
            let start = max(now, linkFree)
            if start - now > settings.queue { return .lose }
            linkFree = start + .seconds(Double(byteCount) * 8 / rate)
            time = linkFree
        }
        time = time + settings.delay + Nanoseconds(Int64(Double(settings.jitter.count) * jitterDraw))
        if reorderDraw < settings.reorder { return .deliver(at: time + settings.reorderBy) }
        time = max(time, lastDelivery)
        lastDelivery = time
        return .deliver(at: time)
    }
}
