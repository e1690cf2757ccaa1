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

    /// The cores that one stream may count on: what the others leave, but never less than an even share. The operating
    /// system deals the cores out evenly to the threads that want them, and others that keep so many cores busy are
    /// taken for as many threads; so a stream that came first does not keep the others down.
    /// - Parameters:
    ///   - used: cores that everything else on the machine keeps busy.
    ///   - threads: the stream's own that are busy side by side.
    public static func available(cores: Int, usedByOthers used: Double, threads: Int) -> Double {
        let (cores, threads) = (Double(cores), Double(min(threads, cores)))
        let used = min(max(used, 0), cores)
        // What is less than a tenth of a core is nobody's business.
        let others = max(0, used - 0.1).rounded(.up)
        return max(cores - used, cores * threads / (threads + others))
    }
}

/// What one stream may count on, sample by sample: less is believed at once, more when two samples in a row say so.
public struct CoreShare: Sendable, BitwiseCopyable {
    /// How often others should be looked at.
    public static let period = Nanoseconds.milliseconds(200.0)

    private let cores: Int
    private let threads: Int
    private var last: Double

    /// - Parameter threads: the stream's own that are busy side by side.
    public init(cores: Int, threads: Int) {
        self.cores = cores
        self.threads = threads
        last = Double(cores)
    }

    /// - Parameter usedByOthers: cores that everything else kept busy since the last sample.
    /// - Returns: cores to count on until the next.
    public mutating func note(usedByOthers: Double) -> Double {
        let available = Capacity.available(cores: cores, usedByOthers: usedByOthers, threads: threads)
        defer { last = available }
        return min(available, last)
    }
}
