import Media

/// How much of a machine its streams need, in cores: what a supervisor decides admission by.
public struct Capacity: Sendable, BitwiseCopyable {
    /// What one stream needs, in cores (core-seconds per second).
    public struct Demand: Hashable, Sendable, BitwiseCopyable {
        /// Every original, by the cheapest way.
        public var least: Double
        /// And the synthesised frames. Whatever is left over goes into tiles.
        public var synthesising: Double

        public init(least: Double, synthesising: Double) {
            self.least = least
            self.synthesising = synthesising
        }
    }

    /// The share of the machine that is given away: the rest absorbs what varies from frame to frame.
    static let usable = 0.85

    public var cores: Int

    public init(cores: Int) { self.cores = cores }

    /// The share of the machine that these streams cannot do without; above 1 originals will be dropped.
    public func load(_ streams: some Sequence<Demand>) -> Double {
        streams.reduce(0) { $0 + $1.least } / (Double(cores) * Self.usable)
    }

    /// Whether one more stream fits beside the others without anyone losing an original. It will cost the others tiles,
    /// and synthesised frames if need be: pain is shared before anyone is turned away.
    public func admits(_ stream: Demand, beside others: some Sequence<Demand>) -> Bool {
        load(others) + stream.least / (Double(cores) * Self.usable) <= 1
    }

    /// How many streams of one kind the machine takes, admitted one after the other; 1000 is as good as any number.
    public func count(of stream: Demand) -> Int {
        var count = 0
        while count < 1000, admits(stream, beside: repeatElement(stream, count: count)) { count += 1 }
        return count
    }
}

/// The cores that one stream may count on, look by look.
///
/// The operating system deals the cores out evenly to the threads that want them. So others that run without a pause make
/// room for a stream up to an even share, and one that came first does not keep the others down. Others that pause, as
/// streams do, would be late for it: they are left what they use and something on top.
public struct CoreShare: Sendable, BitwiseCopyable {
    /// How often others should be looked at.
    public static let period = Nanoseconds.milliseconds(200.0)
    /// What others that pause are left on top of what they use, as a share of it: they would be late if they had to wait
    /// for every moment.
    static let spare = 0.2

    private let cores: Double
    private let threads: Double
    private var last: Double
    private var lastUsed = 0.0
    /// What was counted on after the last look, and after the one before.
    private var believed: (Double, Double)
    /// The threads that never paused, in each look of the last second: streams that keep a machine busy do so for part of
    /// one.
    private var steady = InlineArray<5, Int>(repeating: 0)
    private var looks = 0

    /// - Parameter threads: the stream's own that are busy side by side.
    public init(cores: Int, threads: Int) {
        self.cores = Double(cores)
        self.threads = Double(min(threads, cores))
        last = self.cores
        believed = (self.cores, self.cores)
    }

    /// Less is believed at once, more when two looks in a row say so.
    /// - Parameters:
    ///   - usedByOthers: cores that everything else kept busy since the last look.
    ///   - steady: the fewest threads that ran or wanted to at any moment since the last look, the stream's own included.
    /// - Returns: cores to count on until the next.
    public mutating func note(usedByOthers: Double, steady now: Int) -> Double {
        steady[looks % steady.count] = now
        looks += 1
        var least = now
        for index in steady.indices { least = min(least, steady[index]) }
        // They are taken for no more threads than they use cores: the stream's own may not have paused either.
        let used = min(max(usedByOthers, 0), cores)
        let most = Int(max(0, used - 0.1).rounded(.up))
        var available = available(used: used, steady: min(least, most))
        // What began a moment ago and has not paused yet is believed not to, where the stream gets less by it than it had.
        let share = self.available(used: used, steady: most)
        if now >= most, share <= max(believed.0, believed.1) { available = share }
        believed = (min(available, last), believed.0)
        (last, lastUsed) = (available, used)
        return believed.0
    }

    private func available(used: Double, steady: Int) -> Double {
        let steady = Double(steady)
        func pausing(_ used: Double) -> Double { max(0, used - steady) }
        // What has only just begun may well not pause.
        let left = pausing(used) + Self.spare * pausing(min(used, lastUsed))
        return max(0, cores - min(used, steady) - left, (cores - left) * threads / (threads + steady))
    }
}
