import Media

/// What a stream's output is made like: how much larger its pictures leave, and with which preset they are encoded; or that
/// they leave as they came.
public struct OutputChoice: Hashable, Sendable, BitwiseCopyable {
    /// How many times wider and higher pictures leave.
    public var scale: Int
    public var preset: EncoderPreset
    /// Pictures go out as they came.
    public var isBypass = false

    public init(scale: Int, preset: EncoderPreset, isBypass: Bool = false) {
        self.scale = scale
        self.preset = preset
        self.isBypass = isBypass
    }
}

/// Chooses an output that fits the machine: first a faster preset, then smaller pictures, then bypass.
///
/// The choice at the start comes from costs that were measured before the first frame. Later ones come from what the frames cost.
/// Receivers see each change, so there are few: the stream falls when its output has not fitted for a second, and climbs one
/// step when the next better output has fitted for a long time.
///
/// A pure value that holds no clock. It is asked a few times a second, not for each frame.
public struct OutputLadder: Sendable {
    /// What work costs, in nanoseconds of one core.
    public struct Costs: Hashable, Sendable, BitwiseCopyable {
        /// Decoding, for each pixel of the input.
        public var decode = 9.0
        /// The base upscale, for each pixel of the output.
        public var base = 2.5
        /// Encoding with the fastest preset, for each pixel of the output.
        public var encode = 9.0

        public init() {}
    }

    /// What a choice needs.
    public struct Need: Hashable, Sendable, BitwiseCopyable {
        public var cores: Double
        /// The share of the time between two pictures that the busiest thread works.
        public var share: Double

        /// - Parameter limit: the share of the cores and of the time that may be used.
        public func fits(_ cores: Double, limit: Double) -> Bool { self.cores <= limit * cores && share <= limit }
    }

    /// What is fixed for pictures of one size.
    public struct Stream: Sendable, BitwiseCopyable {
        public var input: PictureSize
        public var interval: Nanoseconds
        /// Threads that share the enhancement of a picture, and its encoding.
        public var workers = 2
        public var encoders = 2

        public init(input: PictureSize, interval: Nanoseconds) {
            self.input = input
            self.interval = interval
        }
    }

    /// At the start costs are those of synthetic pictures, and real ones may cost more.
    static let limitAtStart = 0.7
    /// A choice that needs more than this does not fit any more.
    static let limitToStay = 0.92
    /// A stream falls to a choice that needs at most this, and climbs to one that needs at most that.
    static let limitToFall = 0.85
    static let limitToClimb = 0.7
    /// How long a choice must not have fitted.
    static let timeToFall = Nanoseconds.seconds(1)
    /// How long a better one must have fitted; doubled for each try that failed.
    static let timeToClimb = Nanoseconds.seconds(20)
    static let longestTimeToClimb = Nanoseconds.seconds(640)
    /// After a change the costs of the former choice still show for so long.
    static let settling = Nanoseconds.seconds(2)
    /// What copying a picture takes of the base upscale's time for the same pixels.
    static let copying = 0.25

    public let stream: Stream
    /// The choices, the best one first.
    public let choices: [OutputChoice]
    public private(set) var position = 0
    private var costs: Costs
    private var troubleSince: MonotonicTime?
    private var safeSince: MonotonicTime?
    private var changed: MonotonicTime?
    private var climbed: (to: Int, at: MonotonicTime)?
    private var waits: [Nanoseconds]

    /// - Parameters:
    ///   - scale: the largest.
    ///   - preset: the slowest.
    ///   - mayShrink: whether pictures may leave smaller or as they came.
    public init(_ stream: Stream, scale: Int, preset: EncoderPreset, mayShrink: Bool, costs: Costs) {
        self.stream = stream
        self.costs = costs
        var choices: [OutputChoice] = []
        for scale in stride(from: scale, through: mayShrink ? 1 : scale, by: -1) {
            choices.append(OutputChoice(scale: scale, preset: preset))
            if preset > .ultrafast { choices.append(OutputChoice(scale: scale, preset: .ultrafast)) }
        }
        if mayShrink { choices.append(OutputChoice(scale: 1, preset: preset, isBypass: true)) }
        self.choices = choices
        waits = Array(repeating: Self.timeToClimb, count: choices.count)
    }

    public var choice: OutputChoice { choices[position] }

    /// What a choice needs, by the present costs.
    public func need(of choice: OutputChoice) -> Need {
        guard !choice.isBypass else { return Need(cores: 0, share: 0) }
        let pixelsIn = Double(stream.input.width * stream.input.height)
        let pixelsOut = pixelsIn * Double(choice.scale * choice.scale)
        let decode = costs.decode * pixelsIn
        let base = costs.base * pixelsOut * (choice.scale == 1 ? Self.copying : 1)
        let encode = costs.encode * pixelsOut * choice.preset.weight
        let interval = Double(stream.interval.count)
        let busiest = max(
            decode, base / Double(stream.workers), encode / Planner.coresEncoding(threads: stream.encoders))
        return Need(cores: (decode + base + encode) / interval, share: busiest / interval)
    }

    public var need: Need { need(of: choice) }

    /// Chooses at the start.
    public mutating func begin(cores: Double) {
        position = firstThatFits(cores, from: 0, limit: Self.limitAtStart)
    }

    private func firstThatFits(_ cores: Double, from first: Int, limit: Double) -> Int {
        choices.indices.first { $0 >= first && need(of: choices[$0]).fits(cores, limit: limit) } ?? choices.count - 1
    }

    /// - Parameters:
    ///   - observed: what frames have cost with the present choice; nil where there were none.
    ///   - isStruggling: the stream has been left no rung but to skip pictures.
    ///   - cores: what the stream may count on.
    /// - Returns: whether the choice is another one now.
    public mutating func update(now: MonotonicTime, observed: Costs?, isStruggling: Bool, cores: Double) -> Bool {
        if let changed, now - changed < Self.settling { return false }
        if let observed { costs = observed }
        if position < choices.count - 1, isStruggling || !need.fits(cores, limit: Self.limitToStay) {
            safeSince = nil
            let since = troubleSince ?? now
            troubleSince = since
            guard now - since >= Self.timeToFall else { return false }
            fall(now: now, cores: cores)
            return true
        }
        troubleSince = nil
        guard position > 0, need(of: choices[position - 1]).fits(cores, limit: Self.limitToClimb) else {
            safeSince = nil
            return false
        }
        let since = safeSince ?? now
        safeSince = since
        guard now - since >= waits[position - 1] else { return false }
        position -= 1
        climbed = (position, now)
        change(at: now)
        return true
    }

    private mutating func fall(now: MonotonicTime, cores: Double) {
        if let climbed, climbed.to == position {
            let held = now - climbed.at
            waits[position] = held > waits[position] * 4 ? Self.timeToClimb : min(waits[position] * 2, Self.longestTimeToClimb)
        }
        position = firstThatFits(cores, from: position + 1, limit: Self.limitToFall)
        climbed = nil
        change(at: now)
    }

    private mutating func change(at now: MonotonicTime) {
        changed = now
        troubleSince = nil
        safeSince = nil
    }
}

extension OutputLadder.Costs {
    /// What frames have cost, from the times that a planner has learnt.
    /// - Parameter choice: the one with which they were made.
    public init(_ planner: Planner, _ choice: OutputChoice) {
        self.init()
        let configuration = planner.configuration
        let pixelsIn = Double(configuration.input.width * configuration.input.height)
        let pixelsOut = Double(configuration.output.width * configuration.output.height)
        let workers = Double(min(configuration.workers, configuration.cores))
        let encoders = Planner.coresEncoding(threads: min(configuration.encoders, configuration.cores))
        decode = planner.costs[.decode].low / pixelsIn
        base = workers * planner.costs[.base].low / pixelsOut / (choice.scale == 1 ? OutputLadder.copying : 1)
        encode = encoders * planner.costs[.encode].low / pixelsOut / choice.preset.weight
    }

    /// The same costs as a planner's seeds.
    public func seeds(_ choice: OutputChoice, workers: Int, encoders: Int) -> CostModel.Seeds {
        var seeds = CostModel.Seeds()
        seeds.decode = decode
        let scaled = Double(choice.scale * choice.scale) * (choice.scale == 1 ? OutputLadder.copying : 1)
        seeds.base = base * scaled / Double(workers)
        seeds.encode = encode * choice.preset.weight / Planner.coresEncoding(threads: encoders)
        return seeds
    }
}

extension EncoderPreset {
    /// The time that it takes in proportion to the fastest preset. The first three are measured with 720p pictures, one thread
    /// each; the others are rounded up from x264's own figures.
    public var weight: Double {
        switch self {
        case .ultrafast: 1
        case .superfast: 1.8
        case .veryfast: 2.7
        case .faster: 4
        case .medium: 6
        case .slow: 9
        }
    }
}
