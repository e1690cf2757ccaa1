import Media

/// Decides for every frame of one stream what there is time for. docs/design/scheduler.md has the inequalities.
///
/// A value that holds no clock and does no input or output: the same numbers give the same answers. It has no references; no
/// call allocates. Not thread-safe: callers on several threads share it behind a lock.
public struct Planner: Policy, Sendable {
    /// What does not change from frame to frame.
    public struct Configuration: Sendable {
        public var input: PictureSize
        public var output: PictureSize
        /// The nominal time between originals. The planner starts with it and then estimates the interval itself.
        public var interval: Nanoseconds
        /// The best tier in use.
        public var ceiling: Tier = .neuralM
        /// Whether the stream requests synthesised frames at all.
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
        /// After this long without an enhanced frame, the next frame that is not late yet, or behind which none waits, is
        /// enhanced whatever the estimates say.
        public var longestFreeze = Nanoseconds.milliseconds(250.0)
        /// When more coded frames wait for the decoder, all up to the next keyframe are dropped.
        public var longestCodedQueue = 120

        public init(input: PictureSize, output: PictureSize, interval: Nanoseconds) {
            self.input = input
            self.output = output
            self.interval = interval
        }

        /// How pictures get their size.
        public var enlargement: Enlargement { Enlargement(from: input, to: output, refined: ceiling > .base) }

        /// Whether only the picture size is different, and the kinds of work are the same.
        public func differsInSizeOnly(from other: Configuration) -> Bool {
            ceiling == other.ceiling && synthesises == other.synthesises && tilePixels == other.tilePixels
                && cores == other.cores && workers == other.workers && encoders == other.encoders
                && output.width * other.input.width == other.output.width * input.width
        }
    }

    /// The parameters of the decisions. The relay uses the defaults; `burnish replay --sweep` varies them.
    public struct Weights: Sendable {
        /// The stream stays on a rung that needs at most this share of the time.
        public var keep = 0.95
        /// The stream climbs to a rung that needs at most this share of the time.
        public var climb = 0.80
        /// The largest margin, as a share of a frame's initial slack. Optional work leaves the margin free, because originals
        /// were late or nearly late.
        public var widestMargin = 1.0 / 8
        /// The encoder is swamped when encoding takes this many times as long as any stage before it.
        public var swamped = 1.5
        /// How long the rung above must look safe before the stream climbs.
        public var dwell = Nanoseconds.milliseconds(250.0)
        /// The factor by which all work may suddenly slow down before tiles or synthesised frames make an original late; one
        /// of ``cautions``. A higher value leaves less time for both.
        public var caution = 1.0
        public static let cautions = 1.0...10

        public init() {}
    }

    /// The grants of single frames differ by a factor of two where a tier takes much of the time. A stream that followed each
    /// would take turns between two tiers.
    static let framesOfAdvantage = 64.0
    static let timeBetweenTries = Nanoseconds.seconds(1)
    /// An original was nearly late when less than this share of its initial slack is left at emission.
    static let nearlyLate = 1.0 / 16

    public private(set) var configuration: Configuration
    public private(set) var costs: CostModel
    /// What encoding takes of each kind of picture.
    public private(set) var encodes = EncodeCosts()
    /// The cores that optional work may count on.
    private var spareCores: Double
    private var allowance = OptionalAllowance()
    private var ladder: Ladder
    /// How much more the present rung's tier brings than the one below, the mean of some ``framesOfAdvantage``, in dB.
    private var advantage = 0.0
    private var intervalEstimate: IntervalEstimate
    /// How many synthesised frames are requested with an original, on average.
    private var synthesised: Double?
    /// The steps on the stream's pictures, as of the last plan.
    private var steps = StepSet()
    /// The slack of a frame that has waited for nothing: the largest recent slack, in nanoseconds.
    private var freshSlack = 0.0
    /// The part of the slack that optional work leaves free, in nanoseconds. All of it until the first original is emitted.
    private var margin = Double.infinity
    private var lastEnhanced: MonotonicTime?
    /// At the last plan, the threads could not do the least work for every original, but an original that had waited for
    /// nothing could be in time. Then encoding a late original makes another one late.
    private var lateOriginalDelaysAnother = false
    private var lastEncoded: MonotonicTime?
    private var lastSynthesis: MonotonicTime?
    private var workingShare = WorkingShare()
    /// Why units are dropped before the decoder until the next keyframe; nil while they are not.
    private var untilKeyframe: DropReason?

    public init(_ configuration: Configuration) {
        self.configuration = configuration
        spareCores = Double(configuration.cores)
        costs = CostModel(
            input: configuration.input, output: configuration.output, tilePixels: configuration.tilePixels,
            cores: Double(configuration.cores), seeds: configuration.seeds)
        ladder = Ladder(
            ceiling: configuration.ceiling, synthesises: configuration.synthesises, dwell: configuration.weights.dwell)
        intervalEstimate = IntervalEstimate(interval: configuration.interval)
    }

    private var interval: Double { intervalEstimate.interval }

    /// The time between two originals, as their deadlines show it.
    public var originalInterval: Nanoseconds { Nanoseconds(max(1, Int64(interval))) }

    /// The stream's rung on the ladder; 0 is the top.
    public var rung: Int { ladder.position }
    public var rungs: Int { ladder.count }
    /// The kinds of work on that rung.
    public var level: Rung { ladder.rung }

    public mutating func observe(_ work: Work, _ cost: Nanoseconds, units: Int = 1) {
        costs.observe(work, cost, units: units)
        workingShare.add(cost, threads: threads(of: work))
    }

    public mutating func observe(synthesis cost: Nanoseconds, working: Nanoseconds) {
        costs.observe(.synthesise, cost, uninterrupted: Self.time(Double(working.count) / threads(configuration.workers)))
        workingShare.add(cost, threads: threads(of: .synthesise))
    }

    public mutating func observe(encoding kind: EncodeKind, _ cost: Nanoseconds) {
        encodes.observe(kind, cost)
        if kind != .repeated { costs.observe(.encode, cost) }
        workingShare.add(cost, threads: threads(of: .encode))
    }

    /// Learns how much of its times the work has a processor. Call it a few times a second.
    /// - Parameter time: what the process has had of processors since it began.
    public mutating func observe(processorTime time: Nanoseconds) { workingShare.update(time) }

    public mutating func use(_ cores: Cores) {
        costs.cores = max(cores.dealt, 0.01)
        spareCores = max(cores.spare, 0.01)
        allowance.rate = cores.optional
    }

    /// The core time of the synthesised frames of one original.
    private func synthesis(_ count: Double) -> Double {
        count * (threads(configuration.workers) * costs.synthesis(with: steps).mean + coresEncoding * costs[.encode].mean)
    }

    /// How many of the requested synthesised frames the allowance pays for, on average.
    private func affordable(_ requested: Double) -> Double {
        allowance.rate < .infinity ? min(requested, allowance.rate * interval / synthesis(1)) : requested
    }

    /// The time for tiles that the allowance leaves each frame. Synthesised frames come first.
    private var tileAllowance: Double {
        guard allowance.rate < .infinity else { return .infinity }
        let synthesis = configuration.synthesises ? synthesis(max(synthesised ?? 1, 1)) : 0
        return max(0, allowance.rate * interval - synthesis) / threads(configuration.workers)
    }

    /// How many of the threads that share a piece of work can run at the same time. The work takes its time multiplied by
    /// this in core time.
    private func threads(_ count: Int) -> Double { Double(min(count, configuration.cores)) }

    private func threads(of work: Work) -> Double {
        switch work {
        // It may wait for a receiver.
        case .emit: 0
        case .decode, .step: 1
        case .encode: coresEncoding
        case .base, .tile, .synthesise: threads(configuration.workers)
        }
    }

    private var coresEncoding: Double { Self.coresEncoding(threads: min(configuration.encoders, configuration.cores)) }

    /// The average number of cores that encoding keeps busy. Slices can share only half of the work; the other threads wait
    /// during the other half. The half is measured with libx264 for 720p (superfast): two threads take three quarters of the
    /// time of one, with the same processor time in all.
    public static func coresEncoding(threads: Int) -> Double { 1 / (0.5 + 0.5 / Double(threads)) }

    /// The frames that were to be synthesised with each original, on average.
    public var requestedFrames: Double { configuration.synthesises ? synthesised ?? 0 : 0 }

    public var knownDemand: Capacity.Demand? { demand }

    /// The cores that the stream needs.
    public var demand: Capacity.Demand {
        let workers = threads(configuration.workers)
        let encode = coresEncoding * costs[.encode].mean
        let least = costs[.decode].mean + workers * costs.leastEnhancement(with: steps).mean + encode
        let extra = configuration.synthesises ? max(synthesised ?? 1, 1) : 0
        let more = synthesis(extra)
        // They stand where frames could not be synthesised.
        let repeats = coresEncoding * encodes[.repeated].mean * encodes[.repeated].rate
        return Capacity.Demand(
            least: least / interval + repeats, synthesising: max(least / interval + repeats, (least + more) / interval))
    }

    /// Adapts to another picture size. Keeps the estimates and scales the costs with the pixels.
    public mutating func resize(input: PictureSize, output: PictureSize) {
        func ratio(_ new: PictureSize, _ old: PictureSize) -> Double {
            Double(new.width * new.height) / Double(old.width * old.height)
        }
        costs.resize(inputs: ratio(input, configuration.input), outputs: ratio(output, configuration.output))
        encodes.resize(by: ratio(output, configuration.output))
        configuration.input = input
        configuration.output = output
    }

    /// Takes over settings that have changed, and keeps the estimates.
    /// - Parameters:
    ///   - ceiling: the best tier in use.
    ///   - synthesises: whether the stream requests synthesised frames at all.
    ///   - caution: one of ``Weights/cautions``.
    public mutating func change(ceiling: Tier, synthesises: Bool, caution: Double) {
        configuration.weights.caution = caution
        guard ceiling != configuration.ceiling || synthesises != configuration.synthesises else { return }
        configuration.ceiling = ceiling
        configuration.synthesises = synthesises
        if !synthesises { synthesised = nil }
        ladder.change(ceiling: ceiling, synthesises: synthesises)
    }

    /// No frame is planned for a while. The next one begins on the rung of the start: what made the stream fall may be over.
    public mutating func rest() { ladder.restart() }

    // MARK: Before the decoder

    /// A unit that a later picture needs is dropped before the decoder in two cases only. When a keyframe waits and this unit
    /// would be late, all units up to the keyframe are `late`. When more than ``Configuration/longestCodedQueue`` units wait,
    /// all units up to the next keyframe are `no_keyframe`. On the last rung, while the decoder is behind, frames that no
    /// other refers to are `overload`.
    public mutating func admit(_ unit: UnitRequest) -> UnitAdmission {
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
        // Update after the plan, because the slack of this frame must not change the basis of its own forecast.
        defer { learn(from: frame) }
        steps = frame.steps
        let forecast = Forecast(
            costs, frame, interval: interval, synthesised: affordable(synthesised ?? 0),
            repeated: encodes[.repeated].isObserved ? encodes[.repeated] : nil, cores: costs.cores, spare: spareCores,
            workers: threads(configuration.workers), encoders: coresEncoding, margin: margin,
            tileAllowance: tileAllowance, working: allowance.rate.isFinite ? 1 : workingShare.share,
            weights: configuration.weights)
        allowance.advance(to: frame.now)
        let reason = reasonToDrop(frame, forecast)
        lateOriginalDelaysAnother = !forecast.leastWorkKeepsUp && forecast.canBeInTime(withSlack: freshSlack)

        let comesInTime = frame.newestIsEarly && forecast.canBeWorkedOff
        let (best, isUrgent) = bestRung(forecast, isDropped: reason != nil, decodesAll: comesInTime)
        let canClimb =
            reason == nil && ladder.position > 0
            && forecast.fits(ladder[ladder.position - 1], limit: configuration.weights.climb)
        let rung = ladder.rung
        ladder.update(now: frame.now, best: best, isUrgent: isUrgent, canClimb: canClimb, pace: costs.pace)
        if ladder.rung != rung { advantage = max(0, forecast.advantage(of: ladder.rung, limit: configuration.weights.keep)) }

        var plan = FramePlan(
            drop: reason, emitBy: frame.emitBy, tier: .base, tiles: 0, stop: frame.now, synthesised: 0,
            synthesiseBy: frame.now, step: Self.time(forecast.stepOfSynthesis), rung: ladder.position,
            rungs: ladder.count)
        guard reason == nil else { return plan }
        lastEnhanced = frame.now
        if ladder.rung.synthesises || forecast.hasRoomToTry && mayTrySynthesis(at: frame.now), !ladder.isStrained,
            forecast.hasTimeToSynthesise
        {
            let count =
                ladder.rung.synthesises && costs.hasObserved(.synthesise) ? frame.synthesised : min(1, frame.synthesised)
            if allowance.spend(synthesis(Double(count))) {
                plan.synthesised = count
                lastSynthesis = frame.now
            }
        }
        plan.synthesiseBy = frame.now + Self.time(forecast.latestSynthesis)
        var grant = isUrgent ? 0 : forecast.grant(synthesises: plan.synthesised > 0)
        let end = frame.now + Self.time(forecast.base.mean + grant)
        // Optional steps go before tiles: on a noisy picture the noise filter gains several times as much.
        plan.steps = frame.steps.intersection(.must)
        plan.stepsBy = frame.now + Self.time(grant)
        if ladder.rung.decodesAll {
            for kind in frame.steps.subtracting(.must) where grant >= costs[.step(kind)].high {
                plan.steps.insert(kind)
                grant -= costs[.step(kind)].mean
            }
        }
        let tile = forecast.tile(ladder.rung.tier)
        // A tile that has begun is not stopped: where one takes so long, none begins in the time of the last.
        let reserve = ladder.rung.tier > .usual ? tile : 0
        if ladder.rung.tier > .base, grant - reserve >= tile, frame.tiles > 0 {
            plan.tier = ladder.rung.tier
            plan.tiles = min(frame.tiles, Int((grant - reserve) / tile))
            plan.stop = end + -Self.time(reserve)
        }
        return plan
    }

    /// Whether a frame may be synthesised on a rung that does without, so that its cost is known: the first ones, and then one a second.
    /// Too high an estimate would keep the stream from the rungs above. It costs little where a repeat would stand in its place.
    private func mayTrySynthesis(at now: MonotonicTime) -> Bool {
        guard configuration.synthesises, encodes[.repeated].isObserved, ladder.rung.decodesAll else { return false }
        return !costs.hasLearnt(.synthesise) || lastSynthesis.map { now - $0 >= Self.timeBetweenTries } ?? true
    }

    /// Updates the interval, the number of synthesised frames and the fresh slack. They are observed and not configured,
    /// because the deadlines of consecutive originals are one interval apart whatever rate the source states.
    private mutating func learn(from frame: FrameRequest) {
        encodes.advance(to: frame.now)
        // The first original never comes with synthesised frames, because there is no pair yet.
        let requested = Double(frame.synthesised)
        synthesised = synthesised.map { $0 + (requested - $0) / 16 } ?? (requested > 0 ? requested : nil)
        intervalEstimate.observe(
            arrived: frame.arrived ?? intervalEstimate.arrived + 1, newestEmitBy: frame.newestEmitBy - frame.budget)
        let slack = Double((frame.emitBy - frame.now).count)
        freshSlack = max(slack, freshSlack + (slack - freshSlack) / 16)
    }

    /// Why to drop an original at the plan; nil to go on. A frame is dropped only where another one gains:
    ///
    /// - Others wait behind it or in the encoder, and it may be late.
    /// - The newest original could not be in time after it, but could without it.
    /// - The encoder is swamped, and a newer frame will be ready before the encoder is free.
    /// - It is alone and will be late, but a frame that had waited for nothing would be in time.
    ///
    /// Frames that came at once, before they are due, are worked off while they, or the last of them, can be in time.
    ///
    /// After ``Configuration/longestFreeze`` a frame goes on all the same, because a wrong estimate must not feed itself.
    private func reasonToDrop(_ frame: FrameRequest, _ forecast: Forecast) -> DropReason? {
        let isFrozen = lastEnhanced.map { frame.now - $0 >= configuration.longestFreeze } ?? true
        if isFrozen, frame.now < frame.emitBy { return nil }
        if frame.waiting > 0 {
            if frame.newestIsEarly, forecast.canBeWorkedOff { return nil }
            if !isInTime(forecast), !isHarmless(forecast) { return .late }
            if isSwamped, forecast.nextIsReadyBeforeEncoder { return .overload }
            return forecast.newestCanFollow || !forecast.newestCanBeInTimeAlone ? nil : .overload
        }
        if isFrozen { return nil }
        // The threads cannot keep up, and the encoder works on another frame. Then the emitted frames should be in time.
        if frame.encoderBusySince != nil, !forecast.leastWorkKeepsUp { return forecast.isLikelyInTime ? nil : .late }
        return forecast.isLikelyInTime || isHarmless(forecast) || !forecast.canBeInTime(withSlack: freshSlack)
            ? nil : .late
    }

    /// Whether a late frame makes no other frame late: the threads keep up, and the frames behind it can follow in time.
    private func isHarmless(_ forecast: Forecast) -> Bool {
        forecast.leastWorkKeepsUp && forecast.nextCanFollow && forecast.newestCanFollow
    }

    /// Whether a frame that others wait for will be in time. The less time there is for all frames, the more certainty is
    /// asked: when some must be dropped anyway, the emitted ones should be in time.
    private func isInTime(_ forecast: Forecast) -> Bool {
        if isSwamped { return forecast.isSurelyInTime }
        return forecast.leastWorkKeepsUp ? forecast.isLikelyInTime : forecast.isSafelyInTime
    }

    /// Whether originals come so much faster than the encoder that another one always arrives before it is done. The number
    /// of encoded frames is then the same whichever are encoded, so the newest should be.
    private var isSwamped: Bool {
        costs[.encode].mean >= configuration.weights.swamped
            * max(interval, costs[.decode].mean, costs.leastEnhancement(with: steps).mean)
    }

    /// The best rung, from the present one down, that there is time for. No rung helps a dropped frame, or one that was late
    /// or nearly late when it came here (after a stall of the network or of the machine). For such a frame only throughput
    /// counts.
    /// - Parameter decodesAll: the stream does not fall to the rung that skips pictures, because those that came at once can all be
    ///   in time.
    /// - Returns: the rung, and whether there is no time for the present one. Without that, a lower rung is only better: more
    ///   tiles of a cheaper tier have brought more for some time.
    private mutating func bestRung(_ forecast: Forecast, isDropped: Bool, decodesAll: Bool) -> (rung: Int, isUrgent: Bool) {
        var rung = ladder.position
        let keep = configuration.weights.keep
        let countsLatency = !isDropped && forecast.isSafelyInTime
        let present = ladder.rung
        let hasTime = countsLatency ? forecast.hasTime(for: present, limit: keep) : forecast.keepsUp(present, limit: keep)
        if hasTime, countsLatency {
            advantage += (forecast.advantage(of: present, limit: keep) - advantage) / Self.framesOfAdvantage
            if advantage >= 0 { return (rung, false) }
            rung += 1
        }
        while rung < ladder.count - 1, ladder[rung + 1].decodesAll || !decodesAll {
            let level = ladder[rung]
            if countsLatency ? forecast.fits(level, limit: keep) : forecast.keepsUp(level, limit: keep) { break }
            rung += 1
        }
        return (rung, !hasTime)
    }

    // MARK: Before optional work

    /// No tile is begun when base and another kind of work show a sudden slowdown, because the rest of the work on this frame
    /// and on the next will then cost more than planned.
    public func refine(_ frame: RefinementRequest) -> MonotonicTime {
        costs.showsSlowdown(base: frame.base) ? frame.now : frame.plan.stop
    }

    /// The synthesised frame and the original behind it (its own, or the next one) must still be in time. Earlier work may
    /// have taken longer than planned, or the costs of the next work may have risen.
    public func synthesise(_ frame: SynthesisRequest) -> Bool {
        guard frame.now <= frame.plan.synthesiseBy else { return false }
        var work = costs.synthesis(with: steps).careful + 2 * costs[.encode].careful
        var slack = Double((frame.plan.emitBy - frame.now).count)
        if frame.order == .afterOriginal {
            work += costs.leastEnhancement(with: steps).careful
            slack += interval
        }
        return max(configuration.weights.caution, costs.slowdownReserve) * work + costs[.emit].mean <= slack
    }

    // MARK: Before the encoder

    /// An original is dropped only for an original behind it: when it cannot be in time any more, when it may be late and the
    /// one behind could not follow in time, and when the encoder is swamped. A synthesised frame is dropped when it will be
    /// late. It is also dropped when its original would be late at the peak cost of encoding, or after a sudden slowdown.
    /// Where originals came at once, before they are due, all go while there is time for one of the two.
    public mutating func encode(_ frame: EncodeRequest) -> DropReason? {
        let reason = reasonToDrop(frame)
        if reason == nil, frame.kind == .original { lastEncoded = frame.now }
        return reason
    }

    private func reasonToDrop(_ frame: EncodeRequest) -> DropReason? {
        let (encode, emit) = (costs[.encode], costs[.emit].mean)
        let slack = Double((frame.emitBy - frame.now).count)
        let isLate = encode.mean + emit > slack
        guard let next = frame.nextOriginalEmitBy else {
            // When the threads cannot keep up, the next original comes soon. But a wrong estimate must not feed itself.
            let isFrozen = lastEncoded.map { frame.now - $0 >= configuration.longestFreeze } ?? true
            return isLate && (frame.kind != .original || lateOriginalDelaysAnother && !isFrozen) ? .late : nil
        }
        let slackOfNext = Double((next - frame.now).count)
        if frame.isEarly, frame.kind == .original, encode.low + emit <= slackOfNext { return nil }
        guard frame.kind == .original else {
            // The peak already holds a reserve, so caution multiplies the mean instead.
            let work = max(
                costs.slowdownReserve * (encode.mean + encode.peak), configuration.weights.caution * 2 * encode.mean)
            return isLate || work + emit > slackOfNext ? .late : nil
        }
        if isSwamped { return .overload }
        if encode.low + emit > slack { return .late }
        let isSure = encode.peak + emit <= slack
        return isSure || 2 * encode.mean + emit <= slackOfNext ? nil : .late
    }

    /// How long a frame at the encoder needs until it is emitted: the expected time, and the time with a reserve.
    /// - Parameter isBeforeOriginal: the time includes the original behind it, which has the same deadline.
    public func timeToEmit(isBeforeOriginal: Bool) -> (likely: Nanoseconds, safe: Nanoseconds) {
        let (encode, emit) = (costs[.encode], costs[.emit])
        let behind = isBeforeOriginal ? encode.mean : 0
        return (Self.time(encode.mean + emit.mean), Self.time(encode.careful + emit.careful + behind))
    }

    // MARK: After emission

    /// Adjusts the margin that optional work leaves free. The forecast does not know of a thread that woke late or of a full
    /// socket; both show only here. An original that was late or nearly late widens the margin. Each other one narrows it a
    /// little.
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
