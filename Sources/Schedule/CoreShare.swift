import Media

/// The cores that one stream may count on.
public struct Cores: Hashable, Sendable, BitwiseCopyable {
    /// For necessary work: the cores that the operating system gives the stream. At least an even share.
    public var dealt: Double
    /// For optional work: the cores that the stream can use without delaying programs that pause. At most ``dealt``.
    public var spare: Double
    /// What optional work may use on average, where a supervisor divides the machine (``CoreDeal``); infinite elsewhere.
    public var optional: Double
    /// What the stream's originals may need when its output becomes larger. Where a supervisor divides the machine, all streams may
    /// grow as far at the same time.
    public var room: Double

    /// - Parameter room: nil for what is there for originals.
    public init(dealt: Double, spare: Double, optional: Double = .infinity, room: Double? = nil) {
        self.dealt = dealt
        self.spare = spare
        self.optional = optional
        self.room = 0
        self.room = room ?? forOriginals
    }

    /// The cores that originals may need now: those dealt, without the part for optional work.
    public var forOriginals: Double { optional.isFinite ? max(0, dealt - optional) : dealt }

    /// What is left where other work of the stream keeps so many cores busy. A tenth of a core at least.
    public func less(_ busy: Double) -> Cores {
        func left(_ cores: Double) -> Double { max(min(cores, 0.1), cores - busy) }
        return Cores(dealt: left(dealt), spare: left(spare), optional: optional, room: left(room))
    }

    /// The same number of cores for necessary and for optional work.
    public init(_ cores: Double) { self.init(dealt: cores, spare: cores) }
}

/// Estimates the cores that one stream may count on. It is updated once every ``samplePeriod``.
///
/// The operating system divides the cores evenly between the threads that want to run. So a program that never pauses makes
/// room for a stream, up to an even share. A program that pauses, as a stream does, would be late if it had to wait for a
/// core. Optional work therefore leaves such programs the cores that they use, and some headroom.
///
/// A value; no call allocates. docs/design/costs.md has the formulas.
public struct CoreShare: Sendable, BitwiseCopyable {
    /// The time between two calls of ``update(usedByOthers:fewestRunning:)``.
    public static let samplePeriod = Nanoseconds.milliseconds(200.0)
    /// Programs that pause keep this share more than the cores that they use. Without it they would often wait for a core.
    static let headroomOfOthers = 0.2

    private let cores: Double
    private let threads: Double
    private var last: Cores
    private var lastUsedByOthers = 0.0
    /// The result for optional work at the last sample and at the one before.
    private var lastSpare: (Double, Double)
    /// The fewest running threads of each sample of the last second. One second is needed because even streams may not pause
    /// during a sample or two.
    private var fewestRunning = InlineArray<5, Int>(repeating: 0)
    private var sampleCount = 0
    /// Other programs have begun to run without a pause, and the stream counted on more than an even share before that.
    private var othersRunSteadily = false

    /// - Parameter threads: the stream's own threads that are busy at the same time.
    public init(cores: Int, threads: Int) {
        self.cores = Double(cores)
        self.threads = Double(min(threads, cores))
        last = Cores(self.cores)
        lastSpare = (self.cores, self.cores)
    }

    /// Adds one sample. Lowers the estimate at once. Raises it only after two samples agree.
    /// - Parameters:
    ///   - usedByOthers: cores that all other programs kept busy since the last sample.
    ///   - fewest: the fewest threads that ran or wanted to run at any moment since the last sample, the stream's own
    ///     included. Nil where that is not known: then other programs are assumed never to pause.
    /// - Returns: cores to count on until the next sample.
    public mutating func update(usedByOthers: Double, fewestRunning fewest: Int?) -> Cores {
        let used = min(max(0, usedByOthers), cores)
        // Count at most one thread for each core that others keep busy: our own threads may be part of the figure. Ignore
        // less than a tenth of a core.
        let threadsOfOthers = max(0, used - 0.1).rounded(.up)
        let dealt = max(cores - used, cores * threads / (threads + threadsOfOthers))
        var spare = dealt
        if let fewest {
            spare = spareCores(usedByOthers: used, threadsOfOthers: threadsOfOthers, dealt: dealt, fewestRunning: fewest)
        }
        let available = Cores(dealt: dealt, spare: min(spare, dealt))
        let counted = Cores(dealt: min(dealt, last.dealt), spare: min(available.spare, last.spare))
        (last, lastUsedByOthers) = (available, used)
        lastSpare = (counted.spare, lastSpare.0)
        return counted
    }

    private mutating func spareCores(
        usedByOthers used: Double, threadsOfOthers: Double, dealt: Double, fewestRunning now: Int
    ) -> Double {
        fewestRunning[sampleCount % fewestRunning.count] = now
        sampleCount += 1
        // When others begin to run without a pause and the even share is less than before, use the even share at once. A
        // second of waiting for proof would cost the stream its share during that second.
        othersRunSteadily =
            Double(now) >= threadsOfOthers && (othersRunSteadily || dealt <= max(lastSpare.0, lastSpare.1))
        if othersRunSteadily { return dealt }
        var fewest = now
        for index in fewestRunning.indices { fewest = min(fewest, fewestRunning[index]) }
        let steadyThreads = min(Double(fewest), threadsOfOthers)
        func pausing(_ used: Double) -> Double { max(0, used - steadyThreads) }
        // A program that has only just begun may turn out not to pause, so it gets no headroom yet.
        let left = pausing(used) + Self.headroomOfOthers * pausing(min(used, lastUsedByOthers))
        let rest = cores - min(used, steadyThreads) - left
        return max(0, rest, (cores - left) * threads / (threads + steadyThreads))
    }
}
