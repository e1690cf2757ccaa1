import Media

/// What there is time for at one moment, for one frame: the inequalities of docs/design/scheduler.md, in nanoseconds from now.
///
/// Two kinds of constraint are kept apart. *Latency*: this frame, and the newest that waits behind it, must be emitted
/// by their deadlines; computed with high costs where work is added, with means where a frame would be dropped.
/// *Throughput*: in each interval each thread, and all of them together on the cores there are, must get done what one
/// interval brings; computed with means for a thread, and with low costs for what the cores share, as these are counted
/// without what others use. (The grant for tiles keeps to means.)
struct Forecast {
    let base: Cost
    private let decode, synthesise, encode, emit: Cost
    private let tileS, tileM: Double
    /// `workers` and `encoders`: the cores that enhancement and encoding keep busy while they are at work.
    private let interval, cores, spare, workers, encoders, margin: Double
    private let weights: Planner.Weights
    /// Optional work counts what is needed so many times.
    private var caution: Double { weights.caution }
    /// Synthesised frames of this original, and of the average one.
    private let synthesised, usualSynthesised: Double
    private let waiting: Double
    private let tiles: Double
    private let afterOriginal: Bool
    /// Time until the deadlines, and until the encoder is free.
    let slack: Double
    private let slackOfNewest, backlog: Double

    init(
        _ costs: CostModel, _ frame: FrameRequest, interval: Double, synthesised usual: Double, cores: Double, spare: Double,
        workers: Double, encoders: Double, margin: Double, weights: Planner.Weights
    ) {
        base = costs[.base]
        decode = costs[.decode]
        synthesise = costs[.synthesise]
        encode = costs[.encode]
        emit = costs[.emit]
        tileS = costs[.tile(.neuralS)].mean
        tileM = costs[.tile(.neuralM)].mean
        self.interval = interval
        self.cores = cores
        self.spare = spare
        self.workers = workers
        self.encoders = encoders
        self.margin = margin
        self.weights = weights
        synthesised = Double(frame.synthesised)
        usualSynthesised = usual
        waiting = Double(frame.waiting)
        tiles = Double(frame.tiles)
        afterOriginal = frame.order == .afterOriginal
        slack = Double((frame.emitBy - frame.now).count)
        // When none waits, the next original is one interval behind.
        slackOfNewest = frame.waiting > 0 ? Double((frame.newestEmitBy - frame.now).count) : slack + interval
        let cost = encode
        let inside = frame.encoderBusySince.map { max(0, cost.careful - Double((frame.now - $0).count)) } ?? 0
        backlog = inside + Double(frame.encoderQueue) * cost.mean
    }

    func tile(_ tier: Tier) -> Double {
        switch tier {
        case .base: 0
        case .neuralS: tileS
        case .neuralM: tileM
        }
    }

    // MARK: Latency

    /// The cheapest way through for one more original, per original: the slowest stage sets the step.
    private var step: Double { max(base.mean, encode.mean, decode.mean) }

    /// From the end of enhancement to emission.
    private var way: Double { encode.mean + emit.mean }
    private var carefulWay: Double { encode.careful + emit.careful }

    /// The original alone, by the cheapest way, in time with some certainty; and as likely as not.
    var isSafelyInTime: Bool { max(base.careful, backlog) + carefulWay <= slack }
    var isLikelyInTime: Bool { max(base.mean, backlog) + way <= slack }

    /// The same if encoding took as long as it ever has of late.
    var isSurelyInTime: Bool { max(base.careful, backlog) + encode.peak + emit.careful <= slack }

    /// An original that waits for nothing could be in time with this much slack.
    func suffices(_ slack: Double) -> Bool { base.mean + way <= slack }

    /// After this original by the cheapest way, the newest that waits (and all before it, or none of them: they can be
    /// shed) still can be in time.
    var newestCanFollow: Bool { max(base.mean, backlog) + step * waiting + way <= slackOfNewest }

    /// The newest that waits could be in time if all before it were dropped once they are decoded.
    var newestCanBeHad: Bool { max(base.mean + decode.mean * waiting, backlog) + way <= slackOfNewest }

    /// The one behind this original, due an interval later, still can be in time after it.
    var nextCanFollow: Bool { max(base.mean, backlog) + step + way <= slack + interval }

    /// The next one, taken instead, would be ready before the encoder is free.
    var hasTimeForTheNext: Bool { decode.mean + base.mean <= backlog }

    /// The synthesised frames make neither this original late nor the newest behind it. A queue is drained first.
    var hasTimeToSynthesise: Bool {
        guard synthesised > 0, waiting <= 2 else { return false }
        let slack = slack - margin
        let extra = synthesised * (synthesise.careful + encode.careful)
        let first = max(base.careful, backlog) + carefulWay
        return caution * (first + extra) <= slack + synthesised * stepOfSynthesis
            && caution * (first + delay(by: synthesised) + step * max(waiting, 1)) <= slackOfNewest
    }

    /// How much later the encoder is done with an original and so many synthesised frames than with it alone. Making the
    /// one and encoding the other overlap; but in front of an original the last one made is still encoded, and behind it
    /// the first one's making has its encoding beside it.
    private func delay(by count: Double) -> Double {
        guard count > 0 else { return 0 }
        let (make, encode) = (synthesise.careful, encode.careful)
        return count * max(make, encode) + (afterOriginal ? 0 : min(make, encode))
    }

    /// How much later than the original each further synthesised frame is due.
    var stepOfSynthesis: Double { afterOriginal ? interval / (synthesised + 1) : 0 }

    /// The latest start of one synthesised frame, from now.
    var latestSynthesis: Double {
        let delayOfOne = synthesise.careful + (afterOriginal ? 0 : encode.careful)
        let nextOne = slackOfNewest - caution * (delayOfOne + step * max(waiting, 1) + carefulWay)
        let thisOne = slack + stepOfSynthesis - margin - caution * (synthesise.careful + encode.careful + carefulWay)
        return min(nextOne, thisOne)
    }

    // MARK: Throughput

    /// The share of an interval that the busiest thread, or all of them on the cores there are, need without tiles.
    private func load(synthesises: Bool) -> Double {
        let extra = synthesises ? usualSynthesised : 0
        let enhancing = base.mean + extra * synthesise.mean
        let encoding = (1 + extra) * encode.mean
        // Undisturbed: others' work is in the cores that they leave.
        let work = decode.low + encoders * (1 + extra) * encode.low + workers * (base.low + extra * synthesise.low)
        let all = work / (synthesises ? spare : cores)
        return max(decode.mean, enhancing, encoding, all) / interval
    }

    // MARK: Tiles

    /// How long tiles may be worked on, so that this original, what it brings with it and the next one are in time, and
    /// the threads keep up. With originals waiting, the interval is shared with them: so a queue drains.
    func grant(synthesises: Bool) -> Double {
        let count = synthesises ? synthesised : 0
        let before = afterOriginal ? 0 : count * (synthesise.careful + encode.careful)
        let thisOne = slack - margin - caution * (base.careful + before + max(carefulWay, backlog + way))
        let nextOne = slackOfNewest
            - caution * (base.careful + delay(by: count) + step * max(waiting, 1) + carefulWay)
        let share = weights.keep * interval / (1 + waiting)
        let thread = share - base.mean - count * synthesise.mean
        let machine = (spare * share - decode.mean - encoders * (1 + count) * encode.mean) / workers
            - base.mean - count * synthesise.mean
        return max(0, min(thisOne, nextOne, thread, machine))
    }

    /// What a tier is worth to this frame, between 0 and its gain. Tiles are done in order of worth: the first quarter of
    /// them brings three fifths of the gain, the first half seven eighths, much as tools/bench/compare-tile-orders measures it.
    private func benefit(_ tier: Tier, grant: Double) -> Double {
        guard tier > .base else { return 0 }
        let share = tiles == 0 ? 1 : min(1, grant / (tile(tier) * tiles))
        let rest = 1 - share
        return tier.gain * (1 - rest * rest * rest)
    }

    // MARK: Rungs

    /// Whether the threads can do the least work for every original.
    var leastKeepsUp: Bool { load(synthesises: false) <= 1 }

    /// Whether the threads can do a rung, tiles aside, frame after frame.
    func keepsUp(_ rung: Rung, limit: Double) -> Bool {
        !rung.decodesAll || load(synthesises: rung.synthesises) <= limit
    }

    /// Whether there is time for a rung, tiles aside.
    /// - Parameter limit: the share of an interval that it may use.
    func hasTime(for rung: Rung, limit: Double) -> Bool {
        guard rung.decodesAll else { return true }
        if !keepsUp(rung, limit: limit) || !isSafelyInTime { return false }
        return !rung.synthesises || synthesised == 0 || hasTimeToSynthesise
    }

    /// Whether there is time for a rung and its tier brings more than the one below.
    /// - Parameter limit: the share of an interval that it may use; also the margin asked of a tier's benefit.
    func fits(_ rung: Rung, limit: Double) -> Bool {
        guard hasTime(for: rung, limit: limit) else { return false }
        guard rung.tier > .base else { return true }
        let grant = grant(synthesises: rung.synthesises)
        let below: Tier = rung.tier == .neuralM ? .neuralS : .base
        let least = max(benefit(below, grant: grant), Tier.neuralS.gain / 4)
        return benefit(rung.tier, grant: grant) * limit >= least * weights.climb
    }
}

extension Tier {
    /// Luma PSNR over the base upscale at moderate coding, in dB: only the ratios matter.
    var gain: Double {
        switch self {
        case .base: 0
        case .neuralS: 0.44
        case .neuralM: 0.73
        }
    }
}
