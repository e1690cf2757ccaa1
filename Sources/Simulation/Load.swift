import Media
import Schedule

/// One input frame of a simulated machine: its arrival, its deadline, and the costs of its work in nanoseconds on free cores.
public struct FrameLoad: Sendable, BitwiseCopyable {
    public var arrival: MonotonicTime
    /// Its deadline, counted from its own time.
    public var emitBy: MonotonicTime
    /// When it is shown, by the sender's clock. Nil in a recorded frame, whose deadline is that of the recording.
    public var presentation: MediaTime?
    /// How much later than its own time its deadline counts from.
    var earliness = Nanoseconds.zero
    public var isKeyframe = false
    public var isReference = true
    /// How many synthesised frames are requested with it.
    public var synthesised = 0
    /// How many tiles are worth computing.
    public var tiles = 0
    public var decode = 0.0
    public var base = 0.0
    /// The steps on its picture.
    public var steps = StepValues(blank: 0.0)
    /// One tile of each neural tier.
    public var tileS = 0.0
    public var tileM = 0.0
    public var tileQ = 0.0
    /// One synthesised frame.
    public var synthesise = 0.0
    /// Encoding the original, and one synthesised frame.
    public var encode = 0.0
    public var encodeSynthesised = 0.0
    /// The frame before once more.
    public var encodeRepeated = 0.0

    public init(arrival: MonotonicTime, emitBy: MonotonicTime) {
        self.arrival = arrival
        self.emitBy = emitBy
    }

    func tile(_ tier: Tier) -> Double {
        switch tier {
        case .base: 0
        case .neuralS: tileS
        case .neuralM: tileM
        case .quality: tileQ
        }
    }

    /// Multiplies all its costs by a factor.
    public mutating func scale(by factor: Double) {
        decode *= factor
        base *= factor
        steps.scale { factor }
        tileS *= factor
        tileM *= factor
        tileQ *= factor
        synthesise *= factor
        encode *= factor
        encodeSynthesised *= factor
        encodeRepeated *= factor
    }
}

/// A disturbance of the simulated machine or its network for some time.
public struct Disturbance: Sendable {
    public enum Kind: Sendable {
        /// Other programs keep this many threads running.
        case otherThreads(Double)
        /// All costs are multiplied by a factor that changes linearly from the first value to the second.
        case costs(from: Double, to: Double)
        /// Nothing arrives, and then all frames at once.
        case networkStall
    }

    public var kind: Kind
    public var from: MonotonicTime
    public var to: MonotonicTime

    public init(_ kind: Kind, from: Nanoseconds, to: Nanoseconds) {
        self.kind = kind
        self.from = MonotonicTime(nanoseconds: 0) + from
        self.to = MonotonicTime(nanoseconds: 0) + to
    }

    func covers(_ time: MonotonicTime) -> Bool { time >= from && time < to }
}

/// The output of a load that may be made smaller where it does not fit the machine.
public struct LoadOutput: Sendable {
    /// The best choice, to which the load's costs belong.
    public var size = OutputSize.double
    public var preset = EncoderPreset.superfast
    /// What is measured at the start, as a multiple of the real costs.
    public var measured = 1.0
    /// How long the processors for another size are made beside the stream.
    public var making = Nanoseconds.milliseconds(200)

    public init() {}
}

/// A synthetic input and the machine that it runs on. Virtual time begins at zero.
public struct Load: Sendable {
    public var name: String
    public var frames: Int
    public var interval: Nanoseconds
    /// The largest delay of a frame's arrival. Delays are distributed uniformly from zero to this.
    public var jitter = Nanoseconds.zero
    /// How many frames the sender sends at once: at the start, after which it stays ahead, or each time.
    public var burst = 1
    public var repeatsBursts = false
    public var deadline: Deadline
    public var origin: Origin.Kind = .source
    public var synthesised = 1
    /// The output has a constant rate: where a frame is not synthesised, the one before is repeated.
    public var fillsSlots = false
    public var order: SynthesisOrder = .beforeOriginal
    public var tiles = 120
    /// The share of the tiles that changes from frame to frame, on average.
    public var activity = 1.0
    /// The costs of one frame on a free machine. Its times are not used.
    public var costs: FrameLoad
    /// Each cost of each frame varies by up to this share in both directions.
    public var noise = 0.15
    /// The share of pieces of work that take ``spike`` times as long, because something else ran meanwhile.
    public var spikes = 0.0
    public var spike = 5.0
    public var keyframeEvery = 60
    /// The period of frames that no other refers to (2 for every second frame); 0 for none.
    public var nonReferenceEvery = 0
    public var disturbances: [Disturbance] = []
    public var streams = 1
    /// Whether a supervisor divides the machine between the streams (``CoreDeal``). Otherwise each measures what is left.
    public var isSupervised = false
    /// Work reports this many times the time that it takes.
    public var overstated = 1.0
    public var cores = 2
    public var workers = 2
    public var encoders = 1
    public var ceiling: Tier = .neuralM
    public var input = PictureSize(width: 640, height: 360)
    public var seed: UInt64 = 1
    /// Nil where the output never changes.
    public var output: LoadOutput?

    public init(name: String, frames: Int, interval: Nanoseconds, budget: Nanoseconds, costs: FrameLoad) {
        self.name = name
        self.frames = frames
        self.interval = interval
        self.deadline = Deadline(budget: budget)
        self.costs = costs
    }

    /// The configuration of the planner of one stream. It holds what an operator would set, but not the costs.
    public var configuration: Planner.Configuration {
        var configuration = Planner.Configuration(input: input, output: input.scaled(by: 2), interval: interval)
        configuration.cores = cores
        configuration.workers = workers
        configuration.encoders = encoders
        configuration.ceiling = ceiling
        configuration.synthesises = synthesised > 0
        return configuration
    }

    /// The factor on the costs of work that starts at `time`.
    func costFactor(at time: MonotonicTime) -> Double {
        var factor = 1.0
        for disturbance in disturbances where disturbance.covers(time) {
            guard case .costs(let from, let to) = disturbance.kind else { continue }
            let share = (time - disturbance.from).seconds / (disturbance.to - disturbance.from).seconds
            factor *= from + (to - from) * share
        }
        return factor
    }

    func otherThreads(at time: MonotonicTime) -> Double {
        var threads = 0.0
        for disturbance in disturbances where disturbance.covers(time) {
            if case .otherThreads(let count) = disturbance.kind { threads += count }
        }
        return threads
    }

    /// The next time after `time` at which a disturbance begins or ends.
    func nextChange(after time: MonotonicTime) -> MonotonicTime {
        var next = MonotonicTime(nanoseconds: .max)
        for disturbance in disturbances {
            if disturbance.from > time { next = min(next, disturbance.from) }
            if disturbance.to > time { next = min(next, disturbance.to) }
        }
        return next
    }
}

/// The frames of one simulated stream, in order of arrival.
struct FrameSource: Sendable {
    private enum Frames: Sendable {
        case synthetic(Load)
        case recorded([FrameLoad])
    }

    private let frames: Frames
    private var random: SplitMix64
    private let phase: Int64
    private var index = 0
    private var lastArrival = MonotonicTime(nanoseconds: 0)

    /// - Parameter stream: the number of the stream. Streams of one load start at different moments of an interval.
    init(_ load: Load, stream: Int) {
        frames = .synthetic(load)
        random = SplitMix64(seed: load.seed &+ UInt64(stream) &* 7919)
        phase = load.interval.count * Int64(stream) / Int64(max(load.streams, 1))
    }

    init(_ recorded: [FrameLoad]) {
        frames = .recorded(recorded)
        random = SplitMix64(seed: 0)
        phase = 0
    }

    mutating func next() -> FrameLoad? {
        defer { index += 1 }
        switch frames {
        case .recorded(let list): return index < list.count ? list[index] : nil
        case .synthetic(let load): return index < load.frames ? frame(load) : nil
        }
    }

    private mutating func frame(_ load: Load) -> FrameLoad {
        let sent = load.repeatsBursts ? index / load.burst * load.burst : max(0, index - load.burst + 1)
        let source = MonotonicTime(nanoseconds: phase + load.interval.count * Int64(sent))
        var arrival = source + Nanoseconds(Int64(Double(load.jitter.count) * random.unit()))
        for disturbance in load.disturbances where disturbance.covers(arrival) {
            if case .networkStall = disturbance.kind { arrival = disturbance.to }
        }
        arrival = max(arrival, lastArrival)
        lastArrival = arrival

        var frame = load.costs
        frame.arrival = arrival
        frame.emitBy = load.deadline.emitBy(Origin(load.origin, load.origin == .source ? source : arrival))
        frame.presentation = MediaTime(ticks: MediaTime.ticks(in: load.interval * Int64(index)))
        frame.isKeyframe = index % load.keyframeEvery == 0
        frame.isReference = load.nonReferenceEvery == 0 || index % load.nonReferenceEvery != load.nonReferenceEvery - 1
        frame.synthesised = index == 0 ? 0 : load.synthesised
        let active = min(1, load.activity * (0.5 + random.unit()))
        frame.tiles = frame.isKeyframe ? load.tiles : Int(Double(load.tiles) * active)
        func noise() -> Double {
            let spike = load.spikes > 0 && random.unit() < load.spikes ? load.spike : 1
            return spike * (1 + load.noise * (2 * random.unit() - 1))
        }
        frame.decode *= noise()
        frame.base *= noise()
        let tile = noise()
        frame.tileS *= tile
        frame.tileM *= tile
        frame.tileQ *= tile
        frame.synthesise *= noise()
        frame.encode *= noise()
        frame.encodeSynthesised *= noise()
        if load.fillsSlots { frame.encodeRepeated *= noise() }
        frame.steps.scale(by: noise)
        return frame
    }
}

extension StepValues<Double> {
    /// Multiplies each by a factor of its own.
    fileprivate mutating func scale(by factor: () -> Double) {
        for kind in kinds { if let cost = self[kind] { self[kind] = cost * factor() } }
    }
}
