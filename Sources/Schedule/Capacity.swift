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
