import Media

/// One rung of the ladder: the kinds of work that the stream does. Within a rung of a neural tier, the stream first computes
/// fewer tiles before it leaves the rung.
public struct Rung: Hashable, Sendable, BitwiseCopyable {
    public var tier: Tier
    public var synthesises: Bool
    /// False: the decoder skips frames that no other refers to.
    public var decodesAll: Bool
}

/// Chooses the rung. The stream falls when frames have been in trouble for a while, and climbs one rung at a time when the rung above
/// has looked safe for a while.
///
/// Trouble on a rung with optional work often passes when that work is left out: beside tiles the encoder may take twice as long. So
/// frames in trouble get no optional work, and the stream leaves such a rung only when that has not helped for some frames. A rung
/// without optional work is left soon, because originals are at stake.
///
/// After a fall the stream waits before it tries that rung again: twice as long as the last time, less a quarter of the time
/// on the rung. It forgets failures when the machine has become clearly faster than at that try. So the number of failed
/// tries grows only with the logarithm of time, a rung that can be held now and then does not flicker, and the end of a load
/// shows at once.
struct Ladder: Sendable, BitwiseCopyable {
    /// The stream falls when the strain reaches this, from a rung with optional work and from one without.
    static let strainLimit = 16.0
    static let strainLimitOfLeastWork = 3.0
    /// Taken off the strain by a frame that does not add to it.
    static let relief = 0.25
    /// A shorter time on a rung does not shorten the wait for the next try.
    static let leastCreditedTime = Nanoseconds.milliseconds(2_000.0)
    static let shortestWait = Nanoseconds.milliseconds(1_000.0)
    static let longestWait = Nanoseconds.milliseconds(32_000.0)
    /// The machine counts as clearly faster when its slowdown since the failed climb is below this.
    static let clearlyFaster = 0.8

    private struct Attempt: Sendable, BitwiseCopyable {
        var wait: Nanoseconds
        var at: MonotonicTime?
        var pace: CostModel.Pace?
        var failedAt: MonotonicTime?
    }

    private var rungs: InlineArray<8, Rung>
    private(set) var count: Int
    /// 0 is the top.
    private(set) var position: Int
    /// A frame in trouble adds 1.
    private var strain = 0.0
    /// The same for frames that would only be better on a lower rung.
    private var preference = 0.0
    private var safeSince: MonotonicTime?
    /// How long the rung above must look safe before it is climbed.
    private let dwell: Nanoseconds
    private var attempts: InlineArray<8, Attempt>

    /// - Parameters:
    ///   - ceiling: the best tier in use.
    ///   - synthesises: whether the stream asks for synthesised frames at all.
    ///   - dwell: how long the rung above must look safe before it is climbed.
    init(ceiling: Tier, synthesises: Bool, dwell: Nanoseconds) {
        self.dwell = dwell
        attempts = InlineArray(repeating: Attempt(wait: dwell))
        (rungs, count) = Self.rungs(ceiling: ceiling, synthesises: synthesises)
        // Start on `base`, because originals come first while costs are unknown.
        position = count - 2
    }

    private static func rungs(ceiling: Tier, synthesises: Bool) -> (InlineArray<8, Rung>, count: Int) {
        var rungs = InlineArray<8, Rung>(repeating: Rung(tier: .base, synthesises: false, decodesAll: false))
        var count = 0
        func add(_ rung: Rung) {
            rungs[count] = rung
            count += 1
        }
        for tier in Tier.allCases.reversed() where tier <= ceiling {
            add(Rung(tier: tier, synthesises: synthesises, decodesAll: true))
        }
        if synthesises { add(Rung(tier: .base, synthesises: false, decodesAll: true)) }
        add(Rung(tier: .base, synthesises: false, decodesAll: false))
        return (rungs, count)
    }

    /// Changes which rungs there are. The stream stays on its rung where there still is one like it: the same tier or the best
    /// one below. Where frames were not synthesised at all before, it begins at once. Failed tries are forgotten.
    mutating func change(ceiling: Tier, synthesises: Bool) {
        let present = rung
        let didSynthesise = rungs[0].synthesises
        (rungs, count) = Self.rungs(ceiling: ceiling, synthesises: synthesises)
        attempts = InlineArray(repeating: Attempt(wait: dwell))
        (strain, preference, safeSince) = (0, 0, nil)
        position = count - 1
        guard present.decodesAll else { return }
        let like = Rung(
            tier: min(present.tier, ceiling), synthesises: synthesises && (present.synthesises || !didSynthesise),
            decodesAll: true)
        for place in 0..<count where rungs[place] == like { position = place }
    }

    /// Begins again, as at the start.
    mutating func restart() { self = Ladder(ceiling: ceiling, synthesises: rungs[0].synthesises, dwell: dwell) }

    private var ceiling: Tier { rungs[0].tier }

    subscript(position: Int) -> Rung { rungs[position] }
    var rung: Rung { rungs[position] }

    /// Frames were in trouble lately, and not enough good ones have followed.
    var isStrained: Bool { strain >= 1 }

    /// Updates the position after one frame.
    /// - Parameters:
    ///   - best: the best rung for this frame, from the present one down.
    ///   - isUrgent: there is no time for the present rung. Otherwise `best` only brings more.
    ///   - canClimb: the rung above the present one looks safe, with margin.
    mutating func update(now: MonotonicTime, best: Int, isUrgent: Bool, canClimb: Bool, pace: CostModel.Pace) {
        let isWorse = best > position
        strain = max(0, strain + (isWorse && isUrgent ? 1 : -Self.relief))
        preference = max(0, preference + (isWorse && !isUrgent ? 1 : -Self.relief))
        if isWorse {
            safeSince = nil
            let limit = rung.tier > .base || rung.synthesises ? Self.strainLimit : Self.strainLimitOfLeastWork
            if max(strain, preference) >= limit { fall(to: best, now: now) }
            return
        }
        guard canClimb, position > 0 else {
            safeSince = nil
            return
        }
        let since = safeSince ?? now
        safeSince = since
        if now - since >= dwell, mayTry(position - 1, now: now, pace: pace) { climb(now: now, pace: pace) }
    }

    /// Whether the rung may be tried. Forgets its failures when the machine was slower then.
    private mutating func mayTry(_ target: Int, now: MonotonicTime, pace: CostModel.Pace) -> Bool {
        let attempt = attempts[target]
        guard let failedAt = attempt.failedAt, let before = attempt.pace else { return true }
        if pace.slowdown(since: before) < Self.clearlyFaster {
            attempts[target] = Attempt(wait: dwell)
            return true
        }
        return now - failedAt >= attempt.wait
    }

    private mutating func climb(now: MonotonicTime, pace: CostModel.Pace) {
        position -= 1
        attempts[position].at = now
        attempts[position].pace = pace
        safeSince = nil
    }

    private mutating func fall(to target: Int, now: MonotonicTime) {
        for rung in position..<target {
            guard let at = attempts[rung].at else { continue }
            let held = now - at
            let credit = held < Self.leastCreditedTime ? 0 : held.count / 4
            let wait = Nanoseconds(2 * attempts[rung].wait.count - credit)
            attempts[rung].wait = min(max(wait, Self.shortestWait), Self.longestWait)
            attempts[rung].failedAt = now
        }
        position = target
        (strain, preference, safeSince) = (0, 0, nil)
    }
}
