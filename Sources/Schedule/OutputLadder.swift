import Media

/// Chooses an output that fits the machine: first faster presets, then pictures of 1.5 times the input's size, then of the input's
/// own, then bypass.
///
/// An encode costs bits and time. Where pictures are encoded only to be refined (``Purpose``), what fits is chosen by what a viewer
/// gains: pictures of 1.5 times the size by a good preset gain more than doubled ones by a faster preset, and take less time. An
/// encode that takes what networks bring is no choice: at the input's size, or of 1.5 times the size by the fastest preset.
///
/// The choice at the start comes from costs that were measured before the first frame. Later ones come from what the frames cost.
/// Receivers see each change, so there are few: the stream falls when its output has not fitted for a second, and climbs when the
/// next better output has fitted for seconds, then to the best that fits.
///
/// Pictures that are encoded only to be refined pass, too, where the encode takes more than the networks bring (``ViewerGain``). They
/// are tried again when the input has other bits, or after minutes.
///
/// A pure value that holds no clock. It is asked a few times a second, not for each frame.
public struct OutputLadder: Sendable {
    /// What pictures are encoded for.
    public enum Purpose: Hashable, Sendable {
        /// To be refined.
        case refinement
        /// To be refined, or to leave at the largest size, which somebody asked for.
        case size
        /// For something that holds at every size, as another rate.
        case change
    }

    /// At the start costs are those of synthetic pictures, and real ones may cost more.
    static let limitAtStart = 0.6
    /// A choice that needs more than this does not fit any more.
    static let limitToStay = 0.92
    /// A stream falls to a choice that needs at most this, and climbs to one that needs at most that.
    static let limitToFall = 0.85
    static let limitToClimb = 0.7
    /// Refined pictures that leave smaller for want of time get a slower preset than `quick` only where no thread is busy for more than
    /// this share of the time. Others would wait when they come in bursts, as behind a large keyframe.
    static let shareOfSlowerPreset = 0.5
    /// How long a choice must not have fitted.
    static let timeToFall = Nanoseconds.seconds(1)
    /// How long a better one must have fitted; four times as long after each try that failed.
    static let timeToClimb = Nanoseconds.seconds(8)
    static let longestTimeToClimb = Nanoseconds.seconds(640)
    /// Pictures pass that gain less than this, in points of VMAF NEG, for so long.
    static let leastGain: Float = -1
    static let timeToPass = Nanoseconds.seconds(5)
    /// They are tried again after so long, four times as long after each try that failed; or when the input's bits have grown or shrunk so
    /// many times.
    static let timeToTryAgain = Nanoseconds.seconds(60)
    static let otherRate = 1.5
    /// The time in seconds in which two thirds of what bypassed pictures cost before is forgotten.
    static let timeToForget = 30.0
    /// Once pictures are like a new choice, the costs of the former one still show for so long.
    static let settling = Nanoseconds.seconds(2)
    /// Pictures that are enhanced, and not like the choice after so long, may never be: there is no entry point at which a bypass
    /// could begin, or no memory for another size.
    static let changeTimeout = Nanoseconds.seconds(30)
    public let stream: Stream
    /// The time between two pictures: what the headers say, until pictures show it.
    private var interval: Nanoseconds
    /// Frames that are to be synthesised with each.
    private var synthesised: Double
    /// Pictures that are encoded beside each.
    private var added: Added
    /// The choices, the best one first.
    public let choices: [OutputChoice]
    public private(set) var position = 0
    private var costs: Costs
    /// What was measured at the start.
    private let costsAtStart: Costs
    /// What was measured last, at the start or while pictures were bypassed.
    private var costsMeasured: Costs
    /// Pictures have been encoded, so that their costs are known.
    private var hasObserved = false
    private var troubleSince: MonotonicTime?
    private var safeSince: MonotonicTime?
    /// Since when there is no time for synthesised frames that a faster preset would leave.
    private var crowdedSince: MonotonicTime?
    /// When pictures became like the choice.
    private var changed: MonotonicTime?
    /// Since when pictures are enhanced that are not like the choice.
    private var awaitedSince: MonotonicTime?
    private var climbed: (to: Int, at: MonotonicTime)?
    private var waits: [Nanoseconds]
    private var asked: MonotonicTime?
    private let purpose: Purpose
    private var losingSince: MonotonicTime?
    /// The input's bits when pictures passed for their gain, and how long until the next try.
    private var passed: (rate: Int, wait: Nanoseconds)?
    /// Pictures pass because they would gain nothing.
    public private(set) var passesForGain = false

    /// - Parameters:
    ///   - best: the largest.
    ///   - preset: the slowest.
    ///   - mayShrink: whether pictures may leave smaller or as they came.
    ///   - mayBypass: false where pictures of this format cannot leave as they came.
    ///   - purpose: where they can, what they are encoded for.
    public init(
        _ stream: Stream, best: OutputSize, preset slowest: EncoderPreset, mayShrink: Bool, mayBypass: Bool = true,
        purpose: Purpose = .change, costs: Costs
    ) {
        self.stream = stream
        interval = stream.interval
        synthesised = stream.synthesised
        added = stream.added
        self.costs = costs
        costsAtStart = costs
        costsMeasured = costs
        var choices: [OutputChoice] = []
        var least = Double.infinity
        func isWorthIt(_ size: OutputSize) -> Bool {
            guard mayShrink, mayBypass, purpose != .change else { return true }
            return purpose == .size && size == best
                || stream.enlargement(to: size).doubles
        }
        let sizes = ([best] + (mayShrink ? best.smallerSteps(for: stream.input) : [])).filter(isWorthIt)
        /// By which pictures of a size are still worth an encode.
        func fastest(for size: OutputSize) -> EncoderPreset {
            guard purpose == .refinement, mayBypass else { return .ultrafast }
            let isDoubled = Enlargement(from: stream.input, to: size.size(of: stream.input)).doubles
            return !isDoubled ? .quick : size == sizes.last ? .ultrafast : .superfast
        }
        for size in sizes {
            let fastest = min(fastest(for: size), slowest)
            for preset in [slowest, .careful, .superfast, .quick, .ultrafast] where (fastest...slowest).contains(preset) {
                // A slower preset for smaller pictures is no step down where it takes as long as a faster one for larger pictures.
                let choice = OutputChoice(size: size, preset: preset)
                let need = stream.need(of: choice, Costs()).cores
                if need < least { choices.append(choice) }
                least = min(least, need)
            }
        }
        // Pictures that wait for the entry point at which their bypass begins are still encoded, and must not cost more than before.
        if mayShrink, mayBypass { choices.append(OutputChoice(size: .same, preset: .ultrafast, isBypass: true)) }
        self.choices = choices
        waits = Array(repeating: Self.timeToClimb, count: choices.count)
        self.purpose = purpose
    }

    /// Whether both choose for equal pictures, from equal choices, by equal costs at the start.
    public func isMade(like other: OutputLadder) -> Bool {
        stream == other.stream && choices == other.choices && costsAtStart == other.costsAtStart
    }

    public var choice: OutputChoice { choices[position] }

    /// No output is worth an encode, whatever the machine has.
    public var onlyBypasses: Bool { choices.count == 1 && choice.isBypass }

    /// What a choice needs for the pictures that come, by the present costs.
    public func need(of choice: OutputChoice) -> Need { stream.need(of: choice, costs, every: interval, beside: added) }

    public var need: Need { need(of: choice) }

    /// Chooses at the start.
    public mutating func begin(cores: Cores) {
        position = firstThatFits(cores.room, from: 0, limit: Self.limitAtStart)
    }

    private func firstThatFits(_ cores: Double, from first: Int, limit: Double) -> Int {
        firstThatFits(cores, from: first, limit: limit, costs)
    }

    private func firstThatFits(_ cores: Double, from first: Int, limit: Double, _ costs: Costs) -> Int {
        choices.indices.first { $0 >= first && fits($0, cores, limit: limit, costs) } ?? choices.count - 1
    }

    /// Whether a choice fits, and takes no synthesised frames that a faster preset for the same pictures would leave.
    private func fits(_ step: Int, _ cores: Double, limit: Double, _ costs: Costs) -> Bool {
        let choice = choices[step]
        // What somebody asked for is not left out for room that may not be needed.
        let isLast = purpose == .change && !choice.isBypass && choices.last!.isBypass && step == choices.count - 2
        let limit = isLast ? max(limit, Self.limitToFall) : limit
        let need = stream.need(of: choice, costs, every: interval, beside: added)
        let isSlower = purpose == .refinement && choice.size != choices[0].size && choice.preset > .quick
        return need.fits(cores, limit: limit) && (!isSlower || need.share <= Self.shareOfSlowerPreset)
            && (choice.isBypass || fitsWhole(step, cores, limit: limit, costs) || !isFasterWhole(than: step, cores, costs))
    }

    /// Whether a faster preset for the same pictures would leave time for the frames that are to be synthesised. As these may be left out,
    /// little room need remain beside them.
    private func isFasterWhole(than step: Int, _ cores: Double, _ costs: Costs) -> Bool {
        choices[(step + 1)...].indices.contains {
            !choices[$0].isBypass && choices[$0].size == choices[step].size
                && fitsWhole($0, cores, limit: Self.limitToFall, costs)
        }
    }

    /// Whether a choice fits together with the frames that are to be synthesised.
    private func fitsWhole(_ step: Int, _ cores: Double, limit: Double, _ costs: Costs) -> Bool {
        stream.need(
            of: choices[step], costs, every: interval, beside: Added(synthesised: synthesised), synthesising: synthesised
        )
        .fits(cores, limit: limit)
    }

    /// Chooses again. While pictures are not like the present choice yet, they say nothing of it, and it stays.
    /// - Parameter cores: what the stream may count on.
    /// - Returns: whether the choice is another one now.
    public mutating func update(now: MonotonicTime, _ pictures: Pictures, cores: Cores) -> Bool {
        defer { asked = now }
        if awaits(pictures, at: now) { return false }
        if let changed, now - changed < Self.settling { return false }
        let observed = choice.isBypass || pictures.made != choice ? nil : pictures.observed
        if let observed {
            hasObserved = true
            costs = observed.low
            interval = observed.interval ?? interval
            synthesised = observed.synthesised
            added = observed.added
        } else if choice.isBypass {
            forget(until: now)
        }
        if passesForGain {
            followRate(pictures.inputRate)
        } else if losesByEncode(pictures, at: now) {
            if !climbForGain(cores.room, at: now) { pass(pictures.inputRate, at: now) }
            return true
        }
        let dealt = cores.forOriginals
        let isStruggling = pictures.areSkipped && !pictures.areBypassed
        if position < choices.count - 1, isStruggling || !need.fits(dealt, limit: Self.limitToStay) {
            safeSince = nil
            let since = troubleSince ?? now
            troubleSince = since
            guard now - since >= Self.timeToFall else { return false }
            // Where frames are lost, falling too far is better than falling too often.
            fall(now: now, cores: dealt, isStruggling ? observed?.mean ?? costs : costs)
            return true
        }
        troubleSince = nil
        if leavesTooLittle(dealt) {
            safeSince = nil
            let since = crowdedSince ?? now
            crowdedSince = since
            guard now - since >= Self.timeToClimb else { return false }
            fall(now: now, cores: dealt, costs)
            return true
        }
        crowdedSince = nil
        guard position > 0, !isStruggling, fits(position - 1, cores.room, limit: Self.limitToClimb, costs) else {
            safeSince = nil
            return false
        }
        let since = safeSince ?? now
        safeSince = since
        guard now - since >= waits[position - 1] else { return false }
        // Receivers see each change, so all steps that fit are one. What bypassed pictures would cost is known as little as at the start.
        let limit = choice.isBypass ? Self.limitAtStart : Self.limitToClimb
        position =
            (0..<position - 1).first { step in
                now - since >= waits[step] && fits(step, cores.room, limit: limit, costs)
            } ?? position - 1
        climbed = (position, now)
        passesForGain = false
        change(at: now)
        return true
    }

    /// Whether the present preset leaves no time for synthesised frames that a faster one would leave.
    private func leavesTooLittle(_ cores: Double) -> Bool {
        !choice.isBypass && !fitsWhole(position, cores, limit: Self.limitToStay, costs)
            && isFasterWhole(than: position, cores, costs)
    }

    /// Whether pictures have gained too little for a while, and may pass.
    private mutating func losesByEncode(_ pictures: Pictures, at now: MonotonicTime) -> Bool {
        guard purpose == .refinement, choices.last!.isBypass, !choice.isBypass, !pictures.areBypassed, let gain = pictures.gain,
            gain < Self.leastGain
        else {
            losingSince = nil
            return false
        }
        let since = losingSince ?? now
        losingSince = since
        return now - since >= Self.timeToPass
    }

    /// A slower preset codes better at the same bits. Pictures are not judged by a faster one where it fits and has not failed.
    private mutating func climbForGain(_ cores: Double, at now: MonotonicTime) -> Bool {
        let slower = (0..<position).first {
            choices[$0].size == choice.size && waits[$0] <= Self.timeToClimb && fits($0, cores, limit: Self.limitToClimb, costs)
        }
        guard let slower else { return false }
        position = slower
        (climbed, losingSince) = ((slower, now), nil)
        change(at: now)
        return true
    }

    private mutating func pass(_ rate: Int, at now: MonotonicTime) {
        let wait = passed.map { min($0.wait * 4, Self.longestTimeToClimb) } ?? Self.timeToTryAgain
        passed = (rate, wait)
        for step in waits.indices { waits[step] = max(waits[step], wait) }
        position = choices.count - 1
        (passesForGain, losingSince, climbed) = (true, nil, nil)
        change(at: now)
    }

    /// Other bits may be enough, or need no second encode to look well.
    private mutating func followRate(_ rate: Int) {
        guard let passed, passed.rate > 0, rate > 0 else { return }
        let ratio = Double(rate) / Double(passed.rate)
        guard ratio > Self.otherRate || ratio < 1 / Self.otherRate else { return }
        self.passed = nil
        for step in waits.indices { waits[step] = Self.timeToClimb }
    }

    /// Whether pictures are still to become like the choice. A bypass begins and ends at an entry point, which may be seconds away,
    /// and another size waits for its processors.
    private mutating func awaits(_ pictures: Pictures, at now: MonotonicTime) -> Bool {
        guard !pictures.areLike(choice) else {
            awaitedSince = nil
            return false
        }
        if pictures.areBypassed {
            awaitedSince = nil
        } else {
            let since = awaitedSince ?? now
            awaitedSince = since
            guard now - since < Self.changeTimeout else { return false }
        }
        climbed?.at = now
        settle(from: now)
        return true
    }

    /// Pictures pass because there is no time for anything else.
    public var passesForTime: Bool { choice.isBypass && !passesForGain && !onlyBypasses }

    /// Takes over what work costs now, measured again while pictures are bypassed: at the start something may have slowed the machine.
    public mutating func learn(_ measured: Costs) {
        costsMeasured = measured
        if choice.isBypass, !hasObserved { costs = measured }
    }

    /// While pictures are bypassed nobody knows what they would cost. So what they cost last is forgotten slowly, and enhancement is
    /// tried again, ever more seldom.
    private mutating func forget(until now: MonotonicTime) {
        guard let asked else { return }
        let share = min(1, (now - asked).seconds / Self.timeToForget)
        costs.approach(costsMeasured, by: share)
        added.approach(stream.added, by: share)
    }

    private mutating func fall(now: MonotonicTime, cores: Double, _ costs: Costs) {
        if let climbed, climbed.to == position {
            let held = now - climbed.at
            waits[position] = held > waits[position] * 4 ? Self.timeToClimb : min(waits[position] * 4, Self.longestTimeToClimb)
        }
        let lower = firstThatFits(cores, from: position + 1, limit: Self.limitToFall, costs)
        // What lies between does not fit either.
        for step in position..<lower { waits[step] = max(waits[step], waits[position]) }
        position = lower
        climbed = nil
        change(at: now)
    }

    private mutating func change(at now: MonotonicTime) {
        awaitedSince = nil
        settle(from: now)
    }

    private mutating func settle(from now: MonotonicTime) {
        changed = now
        troubleSince = nil
        safeSince = nil
        crowdedSince = nil
    }
}
