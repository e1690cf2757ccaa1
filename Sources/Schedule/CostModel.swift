import Media

/// The estimated cost of a piece of work on this machine now, in wall-clock nanoseconds.
public struct Cost: Sendable, BitwiseCopyable {
    /// The expected cost. Throughput is computed with it.
    public var mean: Double
    /// A high expectile (about the 0.9). At least ``mean``.
    public var high: Double
    /// A low expectile (about the 0.06). At most ``mean``. It is the core time of the work when nobody interrupts it. Use it
    /// where work is divided by the free cores, because the time of other programs is already missing from those.
    public var low: Double
    /// The largest recent cost; it decays quickly. When one piece of work was kept waiting, the next one may cost as much. At
    /// least ``high``.
    public var peak: Double

    /// Both pieces of work. Their high estimates are added, too, which is careful: both are rarely high at once.
    static func += (sum: inout Cost, other: Cost) {
        sum.mean += other.mean
        sum.high += other.high
        sum.low += other.low
        sum.peak += other.peak
    }

    /// The reserve for work that must not be late: as far above ``high`` as that is above ``mean``.
    var careful: Double { 2 * high - mean }
}

/// Estimates the cost of each kind of work from observed costs. Estimates rise quickly and fall slowly.
///
/// Costs on a shared machine move together: when another program uses a core, all work slows down. Decode, base and encode
/// run for every frame and show it at once. The model scales the estimate of work that has *not* run lately by the median of
/// their three ratios, or by the ratio of the free cores. It uses the median because one of the three alone may move with the
/// content (a busy scene takes longer to encode). Two of the three move only with the machine.
///
/// A value without references; no call allocates. docs/design/costs.md has the recurrences.
public struct CostModel: Sendable, BitwiseCopyable {
    /// The costs before the first observations.
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
        /// Nanoseconds per tile pixel (input side).
        public var tileQ = 1150.0
        /// Nanoseconds per output pixel, for one synthesised frame.
        public var synthesise = 10.0
        /// Nanoseconds per output pixel.
        public var encode = 9.0
        /// Nanoseconds per frame.
        public var emit = 200_000.0

        public init() {}
    }

    /// The present speed of the machine: the mean costs of the work that runs for every frame, and the cores that the stream
    /// may count on.
    struct Pace: Sendable, BitwiseCopyable {
        var decode: Double
        var base: Double
        var encode: Double
        var cores: Double

        /// The factor by which the machine is slower than at `then`: the median of the three ratios, or the ratio of the
        /// cores where that is clearly lower. Short work is rarely interrupted, so its costs may not show that other programs
        /// have stopped. A loss of cores does not count here, because the forecast divides the work by the cores.
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
        /// The machine's pace at the last observation.
        var pace: Pace
        /// The last observation divided by the mean before it.
        var lastRatio = 1.0
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
    /// An observation counts as at most this many times the mean. A single spike is then soon forgotten, and a lasting change
    /// still raises the mean by 3/8 with each observation.
    static let largestRatio = 2.5
    /// The same limit for the peak.
    static let largestRatioOfPeak = 8.0
    /// Two kinds of work must take at least this many times their means to show a sudden slowdown.
    static let leastSlowdown = 1.5
    /// A sudden slowdown counts as at most this. A stall of the whole machine is a spike in all kinds of work, and passes.
    static let largestSlowdown = 4.0
    /// The whole slowdown may be this many times the part that has been observed.
    static let reserveForSlowdown = 1.5
    static let observationsToLearn: Int32 = 8
    /// The least cost, in nanoseconds. It keeps ratios finite whatever is observed.
    static let floor = 1.0

    // Members rather than one array of all: an index that is known only at run time makes each question copy the array.
    private var decode, base, synthesise, encode, emit, tileS, tileM, tileQ: Entry
    private var steps: InlineArray<16, Entry>
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
        // No reserve is added to a seed, because work with too high a seed would never be tried.
        func entry(_ cost: Double) -> Entry { Entry(mean: cost, high: cost, low: cost, peak: cost, pace: pace) }
        decode = entry(pace.decode)
        base = entry(pace.base)
        synthesise = entry(seeds.synthesise * pixelsOut)
        encode = entry(pace.encode)
        emit = entry(seeds.emit)
        tileS = entry(seeds.tileS * Double(tilePixels))
        tileM = entry(seeds.tileM * Double(tilePixels))
        tileQ = entry(seeds.tileQ * Double(tilePixels))
        steps = InlineArray(repeating: entry(0))
        for kind in StepSet.all {
            guard let seed = kind.facts.seed else { continue }
            steps[Int(kind.rawValue)] = entry(seed * (kind.facts.place == .result ? pixelsOut : pixelsIn))
        }
    }

    /// What is known of the work; nil for a tile of ``Tier/base``, which has no tiles.
    private func entry(_ work: Work) -> Entry? {
        switch work {
        case .decode: decode
        case .base: base
        case .synthesise: synthesise
        case .encode: encode
        case .emit: emit
        case .tile(.base): nil
        case .tile(.neuralS): tileS
        case .tile(.neuralM): tileM
        case .tile(.quality): tileQ
        case .step(let kind): steps[Int(kind.rawValue)]
        }
    }

    private mutating func set(_ work: Work, _ entry: Entry) {
        switch work {
        case .decode: decode = entry
        case .base: base = entry
        case .synthesise: synthesise = entry
        case .encode: encode = entry
        case .emit: emit = entry
        case .tile(.base): break
        case .tile(.neuralS): tileS = entry
        case .tile(.neuralM): tileM = entry
        case .tile(.quality): tileQ = entry
        case .step(let kind): steps[Int(kind.rawValue)] = entry
        }
    }

    /// The machine's present pace.
    var pace: Pace { Pace(decode: decode.mean, base: base.mean, encode: encode.mean, cores: cores) }

    /// Updates the estimates with one observed cost.
    /// - Parameters:
    ///   - cost: wall-clock time of all units together.
    ///   - units: how many units (tiles) the time covers. The call does nothing when it is 0.
    ///   - uninterrupted: what it would have been if nobody had interrupted any thread; nil where only such times tell.
    public mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int = 1, uninterrupted: Nanoseconds? = nil) {
        guard units > 0, var entry = entry(work) else { return }
        var x = max(Double(cost.count) / Double(units), Self.floor)
        let isKnown = entry.observations > 0
        entry.lastRatio = isKnown ? x / entry.mean : 1
        set(work, entry)
        let slowdown = suddenSlowdown
        let isSudden = slowdown > 1 && entry.lastRatio >= Self.leastSlowdown
        let worst = isKnown ? min(x, entry.mean * Self.largestRatioOfPeak) : x
        if isKnown { x = min(x, entry.mean * (isSudden ? max(slowdown, Self.largestRatio) : Self.largestRatio)) }
        // The first observations are averaged, so that the seeds are soon forgotten.
        let warmUp = entry.observations < 16 ? 1 / Double(entry.observations + 1) : 0
        if entry.observations < 16 { entry.observations += 1 }
        let riseOfMean = isSudden ? Self.suddenRiseOfMean : Self.riseOfMean
        entry.mean += (x - entry.mean) * max(warmUp, x > entry.mean ? riseOfMean : Self.fallOfMean)
        entry.high += (x - entry.high) * max(warmUp, x > entry.high ? Self.riseOfHigh : Self.fallOfHigh)
        entry.high = max(entry.high, entry.mean)
        let least = uninterrupted.map { min(x, max(Double($0.count) / Double(units), Self.floor)) } ?? x
        // One that is known follows at the mean's pace.
        let rise = uninterrupted == nil ? Self.riseOfLow : Self.riseOfMean
        entry.low += (least - entry.low) * max(warmUp, least > entry.low ? rise : Self.fallOfLow)
        entry.low = min(entry.low, entry.mean)
        entry.peak += (entry.mean - entry.peak) * max(warmUp, Self.fallOfPeak)
        entry.peak = max(entry.peak, entry.high, worst)
        set(work, entry)
        entry.pace = pace
        set(work, entry)
    }

    /// The estimated cost of one unit of the work now. A tile of ``Tier/base`` costs nothing, because that tier has no tiles.
    public subscript(work: Work) -> Cost {
        guard let entry = entry(work) else { return Cost(mean: 0, high: 0, low: 0, peak: 0) }
        switch work {
        case .decode, .base, .encode:
            return Cost(mean: entry.mean, high: entry.high, low: entry.low, peak: entry.peak)
        case .step, .synthesise, .emit, .tile:
            let slowdown = pace.slowdown(since: entry.pace)
            let mean = entry.mean * slowdown
            return Cost(
                mean: mean, high: entry.high * slowdown, low: min(entry.low, mean), peak: entry.peak * slowdown)
        }
    }

    /// The factor by which the machine has just become slower: 1 for no slowdown, else 1.5 to 4.
    ///
    /// It compares the last observations with the means before them. Base and another kind of work must agree, because one
    /// kind alone is a spike, and decode and encode both rise with the content (a keyframe).
    var suddenSlowdown: Double { slowdown(ratioOfBase: base.lastRatio) }

    /// Whether the cost of a base upscale that has not been observed yet shows a sudden slowdown.
    func showsSlowdown(base: Nanoseconds) -> Bool {
        self.base.observations > 0 && slowdown(ratioOfBase: Double(base.count) / self.base.mean) > 1
    }

    /// The factor on the estimates with which a synthesised frame is checked again before work on it: 1, or more during a
    /// sudden slowdown, because the observations so far may not show all of it.
    var slowdownReserve: Double {
        let slowdown = suddenSlowdown
        return slowdown > 1 ? slowdown * Self.reserveForSlowdown : 1
    }

    private func slowdown(ratioOfBase: Double) -> Double {
        let slower = min(ratioOfBase, max(decode.lastRatio, encode.lastRatio))
        return slower >= Self.leastSlowdown ? min(slower, Self.largestSlowdown) : 1
    }

    /// Whether the work has been observed at least once. Before that its cost is the seed's.
    public func hasObserved(_ work: Work) -> Bool { (entry(work)?.observations ?? 0) > 0 }

    /// Whether the work has been observed a few times. The first time it touches memory that nobody has used.
    public func hasLearnt(_ work: Work) -> Bool { (entry(work)?.observations ?? 0) >= Self.observationsToLearn }

    /// Scales the costs to new picture sizes: they are proportional to the pixels until they are observed again. The cost of
    /// a tile stays, because a tile has a fixed size.
    /// - Parameters:
    ///   - inputs: pixels of the new input for each pixel of the old one.
    ///   - outputs: the same of the output.
    public mutating func resize(inputs: Double, outputs: Double) {
        func scale(_ work: Work, _ factor: Double) {
            guard var entry = entry(work) else { return }
            entry.mean *= factor
            entry.high *= factor
            entry.low *= factor
            entry.peak *= factor
            entry.pace.decode *= inputs
            entry.pace.base *= inputs
            entry.pace.encode *= outputs
            set(work, entry)
        }
        scale(.decode, inputs)
        scale(.base, inputs)
        scale(.synthesise, outputs)
        scale(.encode, outputs)
        scale(.emit, 1)
        scale(.tile(.neuralS), 1)
        scale(.tile(.neuralM), 1)
        scale(.tile(.quality), 1)
        for kind in StepSet.all { scale(.step(kind), kind.facts.place == .result ? outputs : inputs) }
    }

    /// What steps cost one frame together.
    public subscript(steps steps: StepSet) -> Cost {
        var sum = Cost(mean: 0, high: 0, low: 0, peak: 0)
        for kind in steps { sum += self[.step(kind)] }
        return sum
    }

    // A call copies the whole model where it is not inlined. Most streams have no steps.

    /// The least work on a frame between its decoder and its encoder: the base upscale, and the steps that it may not go without.
    /// - Parameter steps: those of the stream.
    @inline(__always) public func leastEnhancement(with steps: StepSet) -> Cost {
        var sum = self[.base]
        if !steps.isEmpty { sum += self[steps: steps.intersection(.must)] }
        return sum
    }

    /// What a synthesised frame costs: making it, and the steps on what leaves.
    /// - Parameter steps: those of the stream.
    @inline(__always) public func synthesis(with steps: StepSet) -> Cost {
        var sum = self[.synthesise]
        if !steps.isEmpty { sum += self[steps: steps.intersection(.must).intersection(.results)] }
        return sum
    }
}
