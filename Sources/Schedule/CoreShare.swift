import Media

/// The cores that one stream may count on.
public struct Cores: Hashable, Sendable, BitwiseCopyable {
    /// What the operating system deals it: what others leave, and never less than an even share. For work that cannot be left
    /// out.
    public var dealt: Double
    /// What it can have without keeping others waiting that pause; never more than is dealt. For optional work.
    public var spare: Double

    public init(dealt: Double, spare: Double) {
        self.dealt = dealt
        self.spare = spare
    }

    /// As many for whatever work.
    public init(_ cores: Double) { self.init(dealt: cores, spare: cores) }
}

/// Finds the cores that one stream may count on, look by look.
///
/// The operating system deals the cores out evenly to the threads that want them. So others that run without a pause make
/// room for a stream up to an even share. Others that pause, as streams do, would be late for it: optional work leaves them
/// what they use and something on top.
public struct CoreShare: Sendable, BitwiseCopyable {
    /// How often others should be looked at.
    public static let period = Nanoseconds.milliseconds(200.0)
    /// What others that pause are left on top of what they use, as a share of it: they would be late if they had to wait
    /// for every moment.
    static let courtesy = 0.2

    private let cores: Double
    private let threads: Double
    private var last: Cores
    private var lastUsed = 0.0
    /// What optional work counted on after the last look, and after the one before.
    private var believed: (Double, Double)
    /// The threads that never paused, in each look of the last second: for a look or two, even streams leave no pause.
    private var steady = InlineArray<5, Int>(repeating: 0)
    private var looks = 0
    /// Others have run without a pause since a look before which the stream counted on more than an even share.
    private var hasBegun = false

    /// - Parameter threads: the stream's own that are busy side by side.
    public init(cores: Int, threads: Int) {
        self.cores = Double(cores)
        self.threads = Double(min(threads, cores))
        last = Cores(self.cores)
        believed = (self.cores, self.cores)
    }

    /// Less is believed at once, more when two looks in a row say so.
    /// - Parameters:
    ///   - usedByOthers: cores that everything else kept busy since the last look.
    ///   - steady: the fewest threads that ran or wanted to at any moment since the last look, the stream's own included; nil
    ///     where that is not known: then others are taken not to pause.
    /// - Returns: cores to count on until the next.
    public mutating func note(usedByOthers: Double, steady fewest: Int?) -> Cores {
        let used = min(max(0, usedByOthers), cores)
        // Others that keep so many cores busy are taken for no more threads, since the stream's own may not have paused
        // either. What is less than a tenth of a core is nobody's business.
        let most = max(0, used - 0.1).rounded(.up)
        let dealt = max(cores - used, cores * threads / (threads + most))
        var spare = dealt
        if let fewest { spare = left(used: used, most: most, even: dealt, steady: fewest) }
        let available = Cores(dealt: dealt, spare: min(spare, dealt))
        let counted = Cores(dealt: min(dealt, last.dealt), spare: min(available.spare, last.spare))
        (last, lastUsed) = (available, used)
        believed = (counted.spare, believed.0)
        return counted
    }

    private mutating func left(used: Double, most: Double, even: Double, steady now: Int) -> Double {
        steady[looks % steady.count] = now
        looks += 1
        // Who begins to run without a pause is believed at once where the stream gets less by it than it had: its even
        // share must not be lost to them meanwhile.
        hasBegun = Double(now) >= most && (hasBegun || even <= max(believed.0, believed.1))
        if hasBegun { return even }
        var least = now
        for index in steady.indices { least = min(least, steady[index]) }
        let threadsOfOthers = min(Double(least), most)
        func pausing(_ used: Double) -> Double { max(0, used - threadsOfOthers) }
        // What has only just begun may well not pause: it is left nothing on top yet.
        let left = pausing(used) + Self.courtesy * pausing(min(used, lastUsed))
        let rest = cores - min(used, threadsOfOthers) - left
        return max(0, rest, (cores - left) * threads / (threads + threadsOfOthers))
    }
}
