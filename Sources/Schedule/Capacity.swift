/// How much of a machine its streams need, in cores. A supervisor decides admission by it.
public struct Capacity: Sendable, BitwiseCopyable {
    /// What one stream needs, in cores (core-seconds per second).
    public struct Demand: Hashable, Sendable, BitwiseCopyable {
        /// For every original with the least work.
        public var least: Double
        /// For the originals and the synthesised frames. Tiles use what is left over.
        public var synthesising: Double

        public init(least: Double, synthesising: Double) {
            self.least = least
            self.synthesising = synthesising
        }
    }

    /// The share of the machine that streams may be promised. The rest absorbs what varies from frame to frame.
    static let usable = 0.85

    /// May be a fraction where a control group limits the process.
    public var cores: Double

    public init(cores: Double) { self.cores = cores }

    /// The cores that streams may be promised.
    public var promised: Double { cores * Self.usable }

    /// The share of the machine that these streams need at least. Above 1, originals will be dropped.
    public func load(_ streams: some Sequence<Demand>) -> Double {
        streams.reduce(0) { $0 + $1.least } / promised
    }

    /// Whether one more stream fits beside the others so that no stream loses an original. The others may lose tiles and
    /// synthesised frames to it.
    public func admits(_ stream: Demand, beside others: some Sequence<Demand>) -> Bool {
        load(others) + stream.least / promised <= 1
    }

    /// How many streams of one kind fit on the machine, up to 1000.
    public func count(of stream: Demand) -> Int {
        var count = 0
        while count < 1000, admits(stream, beside: repeatElement(stream, count: count)) { count += 1 }
        return count
    }
}
