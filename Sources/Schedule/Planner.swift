import Media

/// Decides for every frame of one stream what there is time for. See docs/design/scheduler.md for the mathematics.
///
/// A value that holds no clock and does no I/O: it answers from the numbers it is given, and the same numbers give the
/// same answers. It has no references; no call allocates. Callers on several threads share it behind a lock.
public struct Planner: Policy, Sendable {
    /// What does not change from frame to frame.
    public struct Configuration: Sendable {
        public var input: PictureSize
        public var output: PictureSize
        /// Nominal time between originals; learnt from then on if it is wrong (``Planner/interval``).
        public var interval: Nanoseconds
        /// The best tier in use.
        public var ceiling: Tier = .neuralM
        /// Whether the stream asks for synthesised frames at all.
        public var synthesises = true
        /// The machine's cores.
        public var cores = 2
        /// Threads that share one frame's enhancement.
        public var workers = 2
        /// Threads that share the encoding of one frame.
        public var encoders = 1
        /// Input pixels of one neural tile.
        public var tilePixels = 64 * 32
        public var seeds = CostModel.Seeds()
        public var weights = Weights()
        /// While frames come in, no more than this long passes without one being tried that is not late yet, or behind
        /// which none waits.
        public var longestFreeze = Nanoseconds.milliseconds(250.0)
        /// Coded frames that may wait for the decoder before everything up to the next keyframe is given up.
        public var longestCodedQueue = 120

        public init(input: PictureSize, output: PictureSize, interval: Nanoseconds) {
            self.input = input
            self.output = output
            self.interval = interval
        }

        /// Whether the work on these pictures is that on the other ones, and only their size is another.
        public func differsInSizeOnly(from other: Configuration) -> Bool {
            ceiling == other.ceiling && synthesises == other.synthesises && tilePixels == other.tilePixels
                && cores == other.cores && workers == other.workers && encoders == other.encoders
                && output.width * other.input.width == other.output.width * input.width
        }
    }

    /// What is weighed against what. The defaults are those that the relay uses; `burnish replay --sweep` varies them.
    public struct Weights: Sendable {
        /// The share of time that a rung may need and be kept.
        public var keep = 0.95
        /// The share of time that a rung may need and be climbed to.
        public var climb = 0.80
        /// The most that is kept free of optional work because originals were late or nearly, as a share of the slack
        /// that a frame begins with.
        public var widestMargin = 1.0 / 8
        /// How much longer than all before it encoding must take to be called swamped.
        public var swamped = 1.5
        /// How long the rung above must look safe before it is climbed.
        public var dwell = Nanoseconds.milliseconds(250.0)
        /// How many times slower everything may suddenly become before tiles or synthesised frames make an original late;
        /// one of ``cautions``. More costs both.
        public var caution = 1.0
        public static let cautions = 1.0...10

        public init() {}
    }

    /// An original emitted with less than this share of the slack that it began with was nearly late.
    static let nearlyLate = 1.0 / 16

    public private(set) var configuration: Configuration
    public private(set) var costs: CostModel
    /// The cores that optional work may count on.
    private var spareCores: Double
    private var ladder: Ladder
    private var rhythm: Rhythm
    /// How many synthesised frames an original has been asked to bring with it, on average.
    private var synthesised: Double?
    /// The slack of a frame that has waited for nothing: the largest of late.
    private var freshSlack = 0.0
    /// The part of the slack that optional work leaves alone, in nanoseconds: all of it until the first original is
    /// out.
    private var margin = Double.infinity
    private var lastTry: MonotonicTime?
    /// When the last original was planned, the threads could not do the least work for every one, but one that had waited
    /// for nothing could be in time: one that is late costs another that would not be.
    private var lateCosts = false
    private var lastEncoded: MonotonicTime?
    /// Why nothing goes to the decoder until the next keyframe.
    private var untilKeyframe: DropReason?

    public init(_ configuration: Configuration) {
        self.configuration = configuration
        spareCores = Double(configuration.cores)
        costs = CostModel(
            input: configuration.input, output: configuration.output, tilePixels: configuration.tilePixels,
            cores: Double(configuration.cores), seeds: configuration.seeds)
        ladder = Ladder(
            ceiling: configuration.ceiling, synthesises: configuration.synthesises, dwell: configuration.weights.dwell)
        rhythm = Rhythm(interval: configuration.interval)
    }

    private var interval: Double { rhythm.interval }

    /// Where the stream stands on the ladder; 0 is the top.
    public var rung: Int { ladder.position }
    public var rungs: Int { ladder.count }
    /// What that means.
    public var level: Rung { ladder.rung }

    public mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int = 1) {
        costs.observe(work, cost, units: units)
    }

    public mutating func use(_ cores: Cores) {
        costs.cores = max(cores.dealt, 0.01)
        spareCores = max(cores.spare, 0.01)
    }

    /// How many of the threads that share a piece of work can be at it side by side: what it takes of the machine is so
    /// many times the time that it takes.
    private func threads(_ count: Int) -> Double { Double(min(count, configuration.cores)) }

    private var coresEncoding: Double { Self.coresEncoding(threads: min(configuration.encoders, configuration.cores)) }

    /// The cores that encoding keeps busy while it is at it: what slices cannot share is done while the other threads wait.
    /// Half of the work, by libx264's times for 720p (superfast): two threads take three quarters of one's time, and in all
    /// as much of the processors.
    public static func coresEncoding(threads: Int) -> Double { 1 / (0.5 + 0.5 / Double(threads)) }

    public var knownDemand: Capacity.Demand? { demand }

    /// What the stream needs of the machine.
    public var demand: Capacity.Demand {
        let workers = threads(configuration.workers)
        let encode = coresEncoding * costs[.encode].mean
        let least = costs[.decode].mean + workers * costs[.base].mean + encode
        let extra = configuration.synthesises ? max(synthesised ?? 1, 1) : 0
        let more = extra * (workers * costs[.synthesise].mean + encode)
        return Capacity.Demand(least: least / interval, synthesising: (least + more) / interval)
    }

    /// The stream's pictures have another size from now on: what was learnt is kept, and costs go with the pixels.
    public mutating func resize(input: PictureSize, output: PictureSize) {
        func ratio(_ new: PictureSize, _ old: PictureSize) -> Double {
            Double(new.width * new.height) / Double(old.width * old.height)
        }
        costs.resize(inputs: ratio(input, configuration.input), outputs: ratio(output, configuration.output))
        configuration.input = input
        configuration.output = output
    }

    // MARK: Before the decoder

    /// Nothing is dropped before the decoder that a later picture needs, with two exceptions: when a keyframe waits and
    /// this frame would be late, everything up to the keyframe is `late`; when the decoder is hopelessly behind,
    /// everything up to the next keyframe is `no_keyframe`. On the last rung, while the decoder is behind, frames that no
    /// other refers to are `overload`.
    public mutating func admit(_ unit: UnitRequest) -> Admission {
        if unit.isKeyframe { untilKeyframe = nil }
        if untilKeyframe == nil {
            if unit.keyframeWaiting, unit.now + Self.time(costs[.decode].mean) > unit.emitBy {
                untilKeyframe = .late
            } else if unit.waiting > configuration.longestCodedQueue {
                untilKeyframe = .noKeyframe
            }
        }
        if let untilKeyframe { return .drop(untilKeyframe) }
        let isBehind = unit.waiting > 0 || unit.now > unit.emitBy
        return isBehind && !ladder.rung.decodesAll ? .decodeIfReferred : .decode
    }

    // MARK: After the decoder

    public mutating func plan(_ frame: FrameRequest) -> FramePlan {
        // Afterwards: more time for this frame must not change what the rest of the forecast rests on.
        defer { learnRhythm(frame) }
        let forecast = Forecast(
            costs, frame, interval: interval, synthesised: synthesised ?? 0, cores: costs.cores, spare: spareCores,
            workers: threads(configuration.workers), encoders: coresEncoding, margin: margin,
            weights: configuration.weights)
        let reason = drop(frame, forecast)
        lateCosts = !forecast.leastKeepsUp && forecast.suffices(freshSlack)

        let (held, isPressed) = held(forecast, isDropped: reason != nil)
        let climbable = reason == nil && ladder.position > 0 && forecast.fits(
            ladder[ladder.position - 1], limit: configuration.weights.climb)
        ladder.update(now: frame.now, held: held, isPressed: isPressed, climbable: climbable, pace: costs.pace)

        var plan = FramePlan(
            drop: reason, emitBy: frame.emitBy, tier: .base, tiles: 0, stop: frame.now, synthesised: 0,
            synthesiseBy: frame.now, step: Self.time(forecast.stepOfSynthesis), rung: ladder.position,
            rungs: ladder.count)
        guard reason == nil else { return plan }
        lastTry = frame.now
        if ladder.rung.synthesises, forecast.hasTimeToSynthesise {
            plan.synthesised = costs.knows(.synthesise) ? frame.synthesised : min(1, frame.synthesised)
        }
        plan.synthesiseBy = frame.now + Self.time(forecast.latestSynthesis)
        let grant = forecast.grant(synthesises: plan.synthesised > 0)
        let tile = forecast.tile(ladder.rung.tier)
        if ladder.rung.tier > .base, grant >= tile, frame.tiles > 0 {
            plan.tier = ladder.rung.tier
            plan.tiles = min(frame.tiles, Int(grant / tile))
            plan.stop = frame.now + Self.time(forecast.base.mean + grant)
        }
        return plan
    }

    /// The interval and the number of synthesised frames are facts about the stream, not settings: deadlines of
    /// consecutive originals are one interval apart, whatever the source says its rate is.
    private mutating func learnRhythm(_ frame: FrameRequest) {
        // None with the first original is no sign: there is no pair yet.
        let asked = Double(frame.synthesised)
        synthesised = synthesised.map { $0 + (asked - $0) / 16 } ?? (asked > 0 ? asked : nil)
        rhythm.observe(arrived: frame.arrived ?? rhythm.arrived + 1, newestEmitBy: frame.newestEmitBy)
        let slack = Double((frame.emitBy - frame.now).count)
        freshSlack = max(slack, freshSlack + (slack - freshSlack) / 16)
    }

    /// A frame is dropped only where others gain by it: one that may be late when others wait behind it or in the
    /// encoder; one after which the newest could not be in time; one that a newer one can take the place of while the
    /// encoder is swamped; and alone, one that will be late when a frame that had waited for nothing would not be. But
    /// never for long: a wrong estimate must not feed itself.
    private func drop(_ frame: FrameRequest, _ forecast: Forecast) -> DropReason? {
        let isFrozen = lastTry.map { frame.now - $0 >= configuration.longestFreeze } ?? true
        if isFrozen, frame.now < frame.emitBy { return nil }
        if frame.waiting > 0 {
            if !isInTime(forecast), !isHarmless(forecast) { return .late }
            if isSwamped, forecast.hasTimeForTheNext { return .overload }
            return forecast.newestCanFollow || !forecast.newestCanBeHad ? nil : .overload
        }
        if isFrozen { return nil }
        // Where not all can be had, the encoder's frame is another, too, and those that are had should be in time.
        if frame.encoderBusySince != nil, !forecast.leastKeepsUp { return forecast.isLikelyInTime ? nil : .late }
        return forecast.isLikelyInTime || isHarmless(forecast) || !forecast.suffices(freshSlack) ? nil : .late
    }

    /// Whether a frame may be late without another's being late for it: where all can be had, and those behind it can follow
    /// in time.
    private func isHarmless(_ forecast: Forecast) -> Bool {
        forecast.leastKeepsUp && forecast.nextCanFollow && forecast.newestCanFollow
    }

    /// Whether a frame that keeps others waiting will be in time, with the more certainty the less there is time for all:
    /// where they cannot all be had anyway, those that are had should be in time.
    private func isInTime(_ forecast: Forecast) -> Bool {
        if isSwamped { return forecast.isSurelyInTime }
        return forecast.leastKeepsUp ? forecast.isLikelyInTime : forecast.isSafelyInTime
    }

    /// Originals come so much faster than they can be encoded that whichever is taken, another will be there before it is
    /// done. As many go out whichever they are, so it had better be the newest.
    private var isSwamped: Bool {
        costs[.encode].mean >= configuration.weights.swamped * max(interval, costs[.decode].mean, costs[.base].mean)
    }

    /// The best rung, from the present one down, that there is time for. A frame that was late or nearly late when it came
    /// here (a stall, of the network or of the machine) could not be helped by any rung, nor could a dropped one: it tells
    /// only whether the threads keep up.
    /// - Returns: also whether it is time that lacks for the present one, and not that fewer of its tiles are worth less than
    ///   more of a cheaper tier.
    private func held(_ forecast: Forecast, isDropped: Bool) -> (rung: Int, isPressed: Bool) {
        var rung = ladder.position
        let keep = configuration.weights.keep
        let tellsLatency = !isDropped && forecast.isSafelyInTime
        while rung < ladder.count - 1 {
            let level = ladder[rung]
            if tellsLatency ? forecast.fits(level, limit: keep) : forecast.keepsUp(level, limit: keep) { break }
            rung += 1
        }
        let present = ladder.rung
        let hasTime = tellsLatency ? forecast.hasTime(for: present, limit: keep) : forecast.keepsUp(present, limit: keep)
        return (rung, !hasTime)
    }

    // MARK: Before optional work

    /// Where base and what went before it show that the machine has just become slower, no tile is begun: what is left
    /// to do for this frame and the next will cost more than was planned with, nobody knows yet how much.
    public func refine(_ frame: RefinementRequest) -> MonotonicTime {
        costs.isSudden(base: frame.base) ? frame.now : frame.plan.stop
    }

    /// What went before may have taken longer than expected, or what comes may have become dearer meanwhile: it and the
    /// original that is due behind it, its own or else the next one, must still be in time.
    public func synthesise(_ frame: SynthesisRequest) -> Bool {
        guard frame.now <= frame.plan.synthesiseBy else { return false }
        var work = costs[.synthesise].careful + 2 * costs[.encode].careful
        var time = Double((frame.plan.emitBy - frame.now).count)
        if frame.order == .afterOriginal {
            work += costs[.base].careful
            time += interval
        }
        return max(configuration.weights.caution, costs.fearedSlowdown) * work + costs[.emit].mean <= time
    }

    // MARK: Before the encoder

    /// An original is given up only for an original behind it: when it cannot be in time any more, when it may be late and
    /// the one behind could not follow it in time, and when the encoder is swamped. A synthesised frame is given up when
    /// it will be late, or when its original would be if encoding took as long as it ever has of late, or as much longer as
    /// the machine has just become slower.
    public mutating func encode(_ frame: EncodeRequest) -> DropReason? {
        let reason = obstacle(to: frame)
        if reason == nil, frame.kind == .original { lastEncoded = frame.now }
        return reason
    }

    private func obstacle(to frame: EncodeRequest) -> DropReason? {
        let (encode, emit) = (costs[.encode], costs[.emit].mean)
        let time = Double((frame.emitBy - frame.now).count)
        let isLate = encode.mean + emit > time
        guard let next = frame.nextOriginalEmitBy else {
            // Where not all can be had, the next one is not far. But a wrong estimate must not feed itself.
            let isFrozen = lastEncoded.map { frame.now - $0 >= configuration.longestFreeze } ?? true
            return isLate && (frame.kind != .original || lateCosts && !isFrozen) ? .late : nil
        }
        let timeOfNext = Double((next - frame.now).count)
        guard frame.kind == .original else {
            // The peak is what is feared already: caution counts beside it, not on top.
            let work = max(
                costs.fearedSlowdown * (encode.mean + encode.peak), configuration.weights.caution * 2 * encode.mean)
            return isLate || work + emit > timeOfNext ? .late : nil
        }
        if isSwamped { return .overload }
        if encode.low + emit > time { return .late }
        let isSure = encode.peak + emit <= time
        return isSure || 2 * encode.mean + emit <= timeOfNext ? nil : .late
    }

    /// How long a frame at the encoder needs to be out, as likely as not and with some certainty.
    /// - Parameter isBeforeOriginal: with the original behind it, which is due with it.
    public func timeToEmit(isBeforeOriginal: Bool) -> (likely: Nanoseconds, safe: Nanoseconds) {
        let (encode, emit) = (costs[.encode], costs[.emit])
        let behind = isBeforeOriginal ? encode.mean : 0
        return (Self.time(encode.mean + emit.mean), Self.time(encode.careful + emit.careful + behind))
    }

    // MARK: After emission

    /// What the forecast does not know of (a thread that was not woken, a socket that was full) shows only here: an
    /// original that came out late, or nearly, widens the margin that is kept free of optional work; each that did not
    /// lets a little of it go.
    public mutating func emitted(slack: Nanoseconds) {
        let near = freshSlack * Self.nearlyLate - Double(slack.count)
        let widest = freshSlack * configuration.weights.widestMargin
        margin = min(margin, widest)
        margin = min(margin + (near > 0 ? near / 4 : -margin / 128), widest)
    }

    static func time(_ nanoseconds: Double) -> Nanoseconds {
        Nanoseconds(Int64(min(max(nanoseconds, -1e15), 1e15)))
    }
}
