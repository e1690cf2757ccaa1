import Media

/// What there is time for, for one frame at one moment: the inequalities of docs/design/scheduler.md, in nanoseconds from now.
/// The names of the quantities are those of that page.
///
/// There are two kinds of constraint. *Latency*: this frame, and the newest one that waits behind it, must be emitted by their
/// deadlines. It uses careful costs where work is added, and means where a frame would be dropped. *Throughput*: each thread,
/// and all threads together on the available cores, must do the work of one interval within an interval. It uses means for a
/// thread. It uses low costs for the cores, because the time of other programs is already missing from those. (The grant for
/// tiles uses means, and the share of them for which work has a processor.)
struct Forecast {
    /// The base upscale, with the steps that a picture may not go without.
    let base: Cost
    private let decode, synthesise, encode, emit: Cost
    private let tileS, tileM, tileQ: Double
    /// `workers` and `encoders` are the cores that enhancement and encoding keep busy, `working` is ``WorkingShare/share``.
    private let interval, cores, spare, workers, encoders, margin, tileAllowance, working: Double
    private let weights: Planner.Weights
    /// The factor on the time that optional work needs.
    private var caution: Double { weights.caution }
    /// The number of synthesised frames with this original, and with the average one.
    private let synthesised, usualSynthesised: Double
    /// What encoding a repeat takes, which stands where a frame was not synthesised; nil where none does.
    private let repeated: EncodeCosts.Entry?
    private let waiting: Double
    private let tiles: Double
    private let afterOriginal: Bool
    /// The time until the deadlines (`slack`), and until the encoder is free (`backlog`).
    let slack: Double
    private let slackOfNewest, backlog: Double
    /// The time until the encoder is free, by low costs.
    private let leastBacklog: Double

    init(
        _ costs: borrowing CostModel, _ frame: FrameRequest, interval: Double, synthesised usual: Double,
        repeated: EncodeCosts.Entry?,
        cores: Double, spare: Double, workers: Double, encoders: Double, margin: Double, tileAllowance: Double,
        working: Double, weights: Planner.Weights
    ) {
        base = costs.leastEnhancement(with: frame.steps)
        decode = costs[.decode]
        synthesise = costs.synthesis(with: frame.steps)
        encode = costs[.encode]
        emit = costs[.emit]
        tileS = costs[.tile(.neuralS)].mean
        tileM = costs[.tile(.neuralM)].mean
        // Too high a seed would never be tried: until then it is what this machine takes for the tier below, times the work.
        tileQ = costs.hasObserved(.tile(.quality)) ? costs[.tile(.quality)].mean : Tier.workOfQuality * tileM
        self.interval = interval
        self.cores = cores
        self.spare = spare
        self.workers = workers
        self.encoders = encoders
        self.margin = margin
        self.tileAllowance = tileAllowance
        self.working = working
        self.weights = weights
        synthesised = Double(frame.synthesised)
        usualSynthesised = usual
        self.repeated = repeated
        waiting = Double(frame.waiting)
        tiles = Double(frame.tiles)
        afterOriginal = frame.order == .afterOriginal
        slack = Double((frame.emitBy - frame.now).count)
        // When none waits, the next original arrives one interval later.
        slackOfNewest = frame.waiting > 0 ? Double((frame.newestEmitBy - frame.now).count) : slack + interval
        let cost = encode
        let inside = frame.encoderBusySince.map { max(0, cost.careful - Double((frame.now - $0).count)) } ?? 0
        backlog = inside + Double(frame.encoderQueue) * cost.mean
        let left = frame.encoderBusySince.map { max(0, cost.low - Double((frame.now - $0).count)) } ?? 0
        leastBacklog = left + Double(frame.encoderQueue) * cost.low
    }

    func tile(_ tier: Tier) -> Double {
        switch tier {
        case .base: 0
        case .neuralS: tileS
        case .neuralM: tileM
        case .quality: tileQ
        }
    }

    // MARK: Latency

    /// The least time between two originals. The slowest stage sets it.
    private var step: Double { max(base.mean, encode.mean, decode.mean) }

    /// The time from the end of enhancement to emission.
    private var way: Double { encode.mean + emit.mean }
    private var carefulWay: Double { encode.careful + emit.careful }

    /// The original, with the least work, is in time: with a reserve, and by the means.
    var isSafelyInTime: Bool { max(base.careful, backlog) + carefulWay <= slack }
    var isLikelyInTime: Bool { max(base.mean, backlog) + way <= slack }

    /// The original, with the least work, is in time even when encoding takes its peak cost.
    var isSurelyInTime: Bool { max(base.careful, backlog) + encode.peak + emit.careful <= slack }

    /// An original that waits for nothing is in time with this slack.
    func canBeInTime(withSlack slack: Double) -> Bool { base.mean + way <= slack }

    /// After the least work on this original, the newest one that waits can be in time. Those between them may be enhanced or
    /// dropped.
    var newestCanFollow: Bool { max(base.mean, backlog) + step * waiting + way <= slackOfNewest }

    /// By low costs, this original is in time, or the newest one that waits can follow. When frames have come at once, all
    /// stages are at work at the same time and slow each other down, which raises the means. But then the machine is never idle
    /// either: the slowest stage, or all stages on the available cores, set the pace.
    var canBeWorkedOff: Bool {
        let all = (decode.low + encoders * encode.low + workers * base.low) / cores
        let step = max(base.low, encode.low, decode.low, all)
        let first = max(base.low, leastBacklog) + encode.low + emit.mean
        return first <= slack || first + step * waiting <= slackOfNewest
    }

    /// The newest original that waits can be in time if all before it are dropped after the decoder.
    var newestCanBeInTimeAlone: Bool { max(base.mean + decode.mean * waiting, backlog) + way <= slackOfNewest }

    /// The next original, which is due an interval later, can be in time after this one.
    var nextCanFollow: Bool { max(base.mean, backlog) + step + way <= slack + interval }

    /// The next original, if it goes instead of this one, is ready before the encoder is free.
    var nextIsReadyBeforeEncoder: Bool { decode.mean + base.mean <= backlog }

    /// The synthesised frames make neither this original nor the newest one late. A longer queue is drained first.
    var hasTimeToSynthesise: Bool {
        guard synthesised > 0, waiting <= 2 else { return false }
        let slack = slack - margin
        let extra = synthesised * (synthesise.careful + encode.careful)
        let first = max(base.careful, backlog) + carefulWay
        return caution * (first + extra) <= slack + synthesised * stepOfSynthesis
            && caution * (first + delay(by: synthesised) + step * max(waiting, 1)) <= slackOfNewest
    }

    /// How much longer the encoder is busy with an original and its synthesised frames than with the original alone. Making
    /// one frame and encoding another overlap, so each frame adds the longer of the two. Before an original, the last frame
    /// must still be encoded after it is made. After an original, the first frame is made while the original is encoded.
    private func delay(by count: Double) -> Double {
        guard count > 0 else { return 0 }
        let (make, encode) = (synthesise.careful, encode.careful)
        return count * max(make, encode) + (afterOriginal ? 0 : min(make, encode))
    }

    /// How much later than the original each further synthesised frame is due.
    var stepOfSynthesis: Double { afterOriginal ? interval / (synthesised + 1) : 0 }

    /// The time until the latest start of one synthesised frame.
    var latestSynthesis: Double {
        let delayOfOne = synthesise.careful + (afterOriginal ? 0 : encode.careful)
        let newestOne = slackOfNewest - caution * (delayOfOne + step * max(waiting, 1) + carefulWay)
        let thisOne = slack + stepOfSynthesis - margin - caution * (synthesise.careful + encode.careful + carefulWay)
        return min(newestOne, thisOne)
    }

    // MARK: Throughput

    /// Whether the busiest thread needs at most a share of an interval, and all threads on the available cores, without tiles.
    ///
    /// At a constant rate the encoder has as many pictures to encode either way, so that only what they take more counts as added. What
    /// is done already needs no reserve for a climb.
    private func keepsUp(synthesises: Bool, limit: Double) -> Bool {
        let extra = synthesises ? usualSynthesised : 0
        let repeated = extra > 0 ? repeated : nil
        let filling = extra * encodeRepeated
        let enhancing = base.mean + extra * synthesise.mean
        let encoding = encode.mean + extra * max(0, encode.mean - (repeated?.mean ?? 0))
        guard max(decode.mean, enhancing, encoding) <= limit * interval else { return false }
        let done = done(filling: filling)
        let added = encoders * (extra * encode.low - filling) + workers * extra * synthesise.low
        let limitOfDone = repeated == nil ? limit : max(limit, weights.keep)
        return done / limitOfDone + added / limit <= (synthesises ? spare : cores) * interval
    }

    /// Of a repeat, by low costs.
    private var encodeRepeated: Double { min(repeated?.low ?? 0, encode.low) }

    /// What is done in any case, of one core. Low costs, because the time of other programs is already missing from the cores.
    private func done(filling: Double) -> Double { decode.low + encoders * (encode.low + filling) + workers * base.low }

    /// Whether the machine has room for a frame that is synthesised to learn what it costs.
    var hasRoomToTry: Bool {
        done(filling: usualSynthesised * encodeRepeated) <= weights.climb * spare * interval
    }

    // MARK: Tiles

    /// Tiles are planned within this part of the time that the rung may use. So there are none any more before the rung is in trouble.
    private static let shareOfTiles = 0.95

    /// The longest time for tiles with which this original, its synthesised frames and the newest original are in time, and
    /// the threads keep up. The interval is shared with the originals that wait, so that a queue drains; but for one, because many
    /// sources let pictures come in pairs.
    func grant(synthesises: Bool) -> Double {
        let count = synthesises ? synthesised : 0
        let before = afterOriginal ? 0 : count * (synthesise.careful + encode.careful)
        let thisOne = slack - margin - caution * (base.careful + before + max(carefulWay, backlog + way))
        let newestOne =
            slackOfNewest - caution * (base.careful + delay(by: count) + step * max(waiting, 1) + carefulWay)
        let share = Self.shareOfTiles * weights.keep * interval / max(1, waiting)
        let thread = share - base.mean - count * synthesise.mean
        let machine =
            (spare * share / working - decode.mean - encoders * (1 + count) * encode.mean) / workers
            - base.mean - count * synthesise.mean
        return max(0, min(thisOne, newestOne, thread, machine, tileAllowance))
    }

    /// What a tier is worth to this frame, between 0 and its gain. Tiles are computed in order of worth. So the first quarter
    /// brings three fifths of the gain and the first half seven eighths, about as tools/bench/compare-tile-orders measures.
    private func benefit(_ tier: Tier, grant: Double) -> Double {
        guard tier > .base else { return 0 }
        let share = tiles == 0 ? 1 : min(1, grant / (tile(tier) * tiles))
        let rest = 1 - share
        return tier.gain * (1 - rest * rest * rest)
    }

    // MARK: Rungs

    /// Whether the threads can do the least work for every original.
    var leastWorkKeepsUp: Bool { keepsUp(synthesises: false, limit: 1) }

    /// Whether the threads can do the work of a rung without tiles for every original.
    /// - Parameter limit: the share of an interval that it may use.
    func keepsUp(_ rung: Rung, limit: Double) -> Bool {
        !rung.decodesAll || keepsUp(synthesises: rung.synthesises, limit: limit)
    }

    /// Whether there is time for a rung without tiles.
    /// - Parameter limit: the share of an interval that it may use.
    func hasTime(for rung: Rung, limit: Double) -> Bool {
        guard rung.decodesAll else { return true }
        if !keepsUp(rung, limit: limit) || !isSafelyInTime { return false }
        return !rung.synthesises || synthesised == 0 || hasTimeToSynthesise
    }

    /// Whether there is time for a rung, and its tier brings more than the one below.
    /// - Parameter limit: the share of an interval that it may use. The tier's benefit must exceed the other's by the same
    ///   margin.
    func fits(_ rung: Rung, limit: Double) -> Bool {
        hasTime(for: rung, limit: limit) && advantage(of: rung, limit: limit) >= 0
    }

    /// How much more the tier of a rung brings to this frame than the one below, with the margin of ``fits(_:limit:)``, in dB.
    func advantage(of rung: Rung, limit: Double) -> Double {
        guard rung.tier > .base else { return 0 }
        let grant = grant(synthesises: rung.synthesises)
        let below = Tier(rawValue: rung.tier.rawValue - 1)!
        let least = max(benefit(below, grant: grant), Tier.neuralS.gain / 4)
        return benefit(rung.tier, grant: grant) * limit - least * weights.climb
    }
}

extension Tier {
    /// The gain in luma PSNR over the base upscale at moderate coding, in dB. Only the ratios matter.
    var gain: Double {
        switch self {
        case .base: 0
        case .neuralS: 0.44
        case .neuralM: 0.73
        case .quality: 0.95
        }
    }
}
