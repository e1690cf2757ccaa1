import Media

/// One step of the order of sacrifice: what the stream does at this level of trouble. Within a rung of a neural tier
/// the first sacrifice is made without leaving it: fewer tiles.
public struct Rung: Hashable, Sendable, BitwiseCopyable {
    public var tier: Tier
    public var synthesises: Bool
    /// False: the decoder skips frames that no other refers to.
    public var decodesAll: Bool
}

/// The ladder with its memory: down at once when it must, up one rung at a time when it has been safe for a while.
///
/// A rung that the stream has fallen from is not tried again for twice as long as the last time, less a quarter of the
/// time for which it was held, unless the machine has become clearly faster than it was at that try: then its failures are
/// forgotten. So a rung that cannot be held is visited a logarithmic number of times, one that is held now and then is no
/// flicker, and the end of a load is still noticed at once.
struct Ladder: Sendable, BitwiseCopyable {
    /// Frames in trouble, each forgotten by four good ones, that make the stream fall.
    static let patience = 3.0
    /// What a frame counts that would merely be better on another rung.
    static let preference = 0.25
    /// A rung that is held for less than this was not held at all.
    static let probation = Nanoseconds.milliseconds(2_000.0)
    static let shortestWait = Nanoseconds.milliseconds(2_000.0)
    static let longestWait = Nanoseconds.milliseconds(32_000.0)
    /// The pace, as a share of that at a failed climb, at which the machine counts as clearly faster.
    static let clearlyFaster = 0.8

    private struct Attempt: Sendable, BitwiseCopyable {
        var wait: Nanoseconds
        var at: MonotonicTime?
        var pace: CostModel.Pace?
        var failedAt: MonotonicTime?
    }

    private let rungs: InlineArray<8, Rung>
    let count: Int
    /// 0 is the top.
    private(set) var position: Int
    private var strain = 0.0
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
        // Before anything is known: originals first.
        position = count - 1
        add(Rung(tier: .base, synthesises: false, decodesAll: false))
        self.rungs = rungs
        self.count = count
    }

    subscript(position: Int) -> Rung { rungs[position] }
    var rung: Rung { rungs[position] }

    /// Takes in how one frame stands.
    /// - Parameters:
    ///   - held: the best rung, from the present one down, that this frame can be kept on.
    ///   - isPressed: there is no time for the present one; otherwise another is only better, which is not urgent.
    ///   - climbable: the rung above the present one looks safe, with margin.
    mutating func update(now: MonotonicTime, held: Int, isPressed: Bool, climbable: Bool, pace: CostModel.Pace) {
        if held > position {
            strain += isPressed ? 1 : Self.preference
            safeSince = nil
            if strain >= Self.patience { fall(to: held, now: now) }
            return
        }
        strain = max(0, strain - 0.25)
        guard climbable, position > 0 else {
            safeSince = nil
            return
        }
        let since = safeSince ?? now
        safeSince = since
        if now - since >= dwell, mayTry(position - 1, now: now, pace: pace) { climb(now: now, pace: pace) }
    }

    /// What has failed on a slower machine says nothing about the one at hand: its failures are forgotten.
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
            let credit = held < Self.probation ? 0 : held.count / 4
            let wait = Nanoseconds(2 * attempts[rung].wait.count - credit)
            attempts[rung].wait = min(max(wait, Self.shortestWait), Self.longestWait)
            attempts[rung].failedAt = now
        }
        position = target
        strain = 0
        safeSince = nil
    }
}
