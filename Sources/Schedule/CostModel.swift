import Media

/// What a piece of work is expected to cost on this machine just now, in wall-clock nanoseconds.
public struct Cost: Sendable, BitwiseCopyable {
    /// The expected cost: what throughput is computed with.
    public var mean: Double
    /// A high expectile (about the 0.9). Never below the mean.
    public var high: Double
    /// A low expectile (about the 0.06), never above the mean: what the work takes of a core when nobody interrupts it.
    /// Where work is divided by the cores that others leave, their share must not be counted in the work as well.
    public var low: Double
    /// The most that it has taken of late, soon forgotten: what a second piece of work in a row is feared to take when
    /// the first was kept waiting. Never below the high cost.
    public var peak: Double

    /// What is reserved for work that must not come too late: as far above the high cost as that is above the mean.
    var careful: Double { 2 * high - mean }
}

/// Learns what each piece of work costs from what it did cost, quick to believe bad news and slow to believe good news.
///
/// Costs on a shared machine move together: when a neighbour takes a core, everything slows down. Work that runs for
/// every frame (decode, base, encode) shows it at once; an estimate of work that has *not* run lately is therefore aged
/// by the median of what those three have done since, or by what has become of the cores that others leave. The median,
/// because one of them alone moves with the content (a busy scene is dear to encode), and two of three do not without the
/// machine.
///
/// A value without references: observing and asking never allocate. docs/design/costs.md has the recurrences.
public struct CostModel: Sendable, BitwiseCopyable {
    /// The costs before anything is known.
    ///
    /// Defaults: one thread of a 2.5 GHz x86-64 core with AVX2, x264 ultrafast. They matter for about ten frames.
    public struct Seeds: Sendable, BitwiseCopyable {
        /// Nanoseconds per input pixel.
        public var decode = 9.0
        /// Nanoseconds per input pixel.
        public var base = 10.0
        /// Nanoseconds per tile pixel (input side).
        public var tileS = 25.0
        /// Nanoseconds per tile pixel (input side).
        public var tileM = 120.0
        /// Nanoseconds per output pixel, for one synthesised frame.
        public var synthesise = 10.0
        /// Nanoseconds per output pixel.
        public var encode = 9.0
        /// Nanoseconds per frame.
        public var emit = 200_000.0

        public init() {}
    }

    /// How fast the machine is just now: the mean costs of the work that runs for every frame, and the cores that others
    /// leave.
    struct Pace: Sendable, BitwiseCopyable {
        var decode: Double
        var base: Double
        var encode: Double
        var cores: Double

        /// By what factor the machine is slower than it was at `then`: the median of the three ratios, or what the cores
        /// say where that is clearly better. Short work is hardly ever interrupted, so its costs may not show that others
        /// have gone. That there are fewer cores is counted where the work of all threads is divided by them.
        func slowdown(since then: Pace) -> Double {
            let (a, b, c) = (decode / then.decode, base / then.base, encode / then.encode)
            let costs = max(min(a, b), min(max(a, b), c))
            let cores = then.cores / cores
            return cores < Ladder.clearlyFaster ? min(costs, max(cores, 1.0 / 4)) : costs
        }
    }

    private struct Entry: Sendable, BitwiseCopyable {
        var mean: Double
        var high: Double
        var low: Double
        var peak: Double
        /// The machine's pace when this was last observed.
        var pace: Pace
        /// How many times the mean before it the last observation was.
        var surprise = 1.0
        var observations: Int32 = 0
    }

    static let riseOfMean = 1.0 / 4
    static let suddenRiseOfMean = 1.0 / 2
    static let fallOfMean = 1.0 / 8
    static let riseOfHigh = 1.0 / 2
    static let fallOfHigh = 1.0 / 16
    static let riseOfLow = 1.0 / 64
    static let fallOfLow = 1.0 / 4
    static let fallOfPeak = 1.0 / 32
    /// An observation counts as at most this many times the mean: a single spike is soon forgotten, and a lasting
    /// change still raises the mean by 3/8 with each observation.
    static let believed = 2.5
    /// The same for the peak.
    static let feared = 8.0
    /// What two kinds of work must at least have taken of their means to say that the machine has become slower.
    static let sudden = 1.5
    /// What may be in store is so many times what has shown.
    static let carefulOfSudden = 1.5
    /// The most that is believed of it: a stall of the whole machine is a spike in all of them, and passes.
    static let mostSudden = 4.0
    /// The least that a cost can be: keeps ratios finite whatever is observed.
    static let floor = 1.0

    private var entries: InlineArray<8, Entry>
    /// The cores that the stream may count on.
    public var cores: Double

    /// - Parameters:
    ///   - tilePixels: input pixels of one neural tile.
    ///   - cores: the machine's.
    public init(input: PictureSize, output: PictureSize, tilePixels: Int, cores: Double = 1, seeds: Seeds = Seeds()) {
        let pixelsIn = Double(input.width * input.height)
        let pixelsOut = Double(output.width * output.height)
        let pace = Pace(
            decode: seeds.decode * pixelsIn, base: seeds.base * pixelsIn, encode: seeds.encode * pixelsOut,
            cores: cores)
        self.cores = cores
        // No safety on top of a guess: too dear a guess would keep the work from ever being tried.
        func entry(_ cost: Double) -> Entry { Entry(mean: cost, high: cost, low: cost, peak: cost, pace: pace) }
        entries = InlineArray(repeating: entry(0))
        entries[Self.slot(.decode)] = entry(pace.decode)
        entries[Self.slot(.base)] = entry(pace.base)
        entries[Self.slot(.synthesise)] = entry(seeds.synthesise * pixelsOut)
        entries[Self.slot(.encode)] = entry(pace.encode)
        entries[Self.slot(.emit)] = entry(seeds.emit)
        entries[Self.slot(.tile(.neuralS))] = entry(seeds.tileS * Double(tilePixels))
        entries[Self.slot(.tile(.neuralM))] = entry(seeds.tileM * Double(tilePixels))
    }

    private static func slot(_ work: Work) -> Int {
        switch work {
        case .decode: 0
        case .base: 1
        case .synthesise: 2
        case .encode: 3
        case .emit: 4
        case .tile(let tier): 5 + Int(tier.rawValue)
        }
    }

    /// The machine's present pace.
    var pace: Pace { Pace(decode: entries[0].mean, base: entries[1].mean, encode: entries[3].mean, cores: cores) }

    /// Takes in what a piece of work did cost.
    /// - Parameters:
    ///   - cost: wall-clock time of all units together.
    ///   - units: how many of them (tiles) the time covers; nothing is learnt from none.
    public mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int = 1) {
        guard units > 0 else { return }
        let slot = Self.slot(work)
        var x = max(Double(cost.count) / Double(units), Self.floor)
        let isKnown = entries[slot].observations > 0
        entries[slot].surprise = isKnown ? x / entries[slot].mean : 1
        let slowdown = suddenSlowdown
        var entry = entries[slot]
        let isSudden = slowdown > 1 && entry.surprise >= Self.sudden
        let worst = isKnown ? min(x, entry.mean * Self.feared) : x
        if isKnown { x = min(x, entry.mean * (isSudden ? max(slowdown, Self.believed) : Self.believed)) }
        // A plain average of the first few, so that the seeds are soon forgotten.
        let warmUp = entry.observations < 16 ? 1 / Double(entry.observations + 1) : 0
        if entry.observations < 16 { entry.observations += 1 }
        let rise = isSudden ? Self.suddenRiseOfMean : Self.riseOfMean
        entry.mean += (x - entry.mean) * max(warmUp, x > entry.mean ? rise : Self.fallOfMean)
        entry.high += (x - entry.high) * max(warmUp, x > entry.high ? Self.riseOfHigh : Self.fallOfHigh)
        entry.high = max(entry.high, entry.mean)
        entry.low += (x - entry.low) * max(warmUp, x > entry.low ? Self.riseOfLow : Self.fallOfLow)
        entry.low = min(entry.low, entry.mean)
        entry.peak += (entry.mean - entry.peak) * max(warmUp, Self.fallOfPeak)
        entry.peak = max(entry.peak, entry.high, worst)
        entries[slot] = entry
        entries[slot].pace = pace
    }

    /// What one unit of the work is expected to cost now. A tile of ``Tier/base`` costs nothing: there is none.
    public subscript(work: Work) -> Cost {
        let entry = entries[Self.slot(work)]
        switch work {
        case .decode, .base, .encode:
            return Cost(mean: entry.mean, high: entry.high, low: entry.low, peak: entry.peak)
        case .synthesise, .emit, .tile:
            let slowdown = pace.slowdown(since: entry.pace)
            let mean = entry.mean * slowdown
            return Cost(
                mean: mean, high: entry.high * slowdown, low: min(entry.low, mean), peak: entry.peak * slowdown)
        }
    }

    /// How many times slower the machine has just become, by what work took last against its mean before: as much as base
    /// and another one say, since one alone is a spike, and decode and encode go together with what the picture holds (a
    /// keyframe); 1 where that is nothing much, 4 at most.
    var suddenSlowdown: Double { slowdown(byBase: entries[1].surprise) }

    /// Whether a base that has not been observed yet shows that the machine has just become slower.
    func isSudden(base: Nanoseconds) -> Bool {
        entries[1].observations > 0 && slowdown(byBase: Double(base.count) / entries[1].mean) > 1
    }

    /// What optional work is feared to cost that is asked for again, as a multiple of the estimates, those that have
    /// risen already included: at an onset what has shown so far is not all.
    var fearedSlowdown: Double {
        let slowdown = suddenSlowdown
        return slowdown > 1 ? slowdown * Self.carefulOfSudden : 1
    }

    private func slowdown(byBase surprise: Double) -> Double {
        let slower = min(surprise, max(entries[0].surprise, entries[3].surprise))
        return slower >= Self.sudden ? min(slower, Self.mostSudden) : 1
    }

    /// Whether the work has ever been observed; before that its cost is a guess.
    public func knows(_ work: Work) -> Bool { entries[Self.slot(work)].observations > 0 }

    /// The pictures' sizes have changed: costs go with the pixels until they are observed anew. Tiles keep theirs.
    /// - Parameters:
    ///   - inputs: pixels of the new input for each pixel of the old one.
    ///   - outputs: the same of the output.
    public mutating func resize(inputs: Double, outputs: Double) {
        for index in entries.indices {
            entries[index].pace.decode *= inputs
            entries[index].pace.base *= inputs
            entries[index].pace.encode *= outputs
        }
        func scale(_ work: Work, _ factor: Double) {
            entries[Self.slot(work)].mean *= factor
            entries[Self.slot(work)].high *= factor
            entries[Self.slot(work)].low *= factor
            entries[Self.slot(work)].peak *= factor
        }
        scale(.decode, inputs)
        scale(.base, inputs)
        scale(.synthesise, outputs)
        scale(.encode, outputs)
    }
}
