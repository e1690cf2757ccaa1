import Media

/// What the input is expected to bring next, and when: from the originals that have arrived, whatever became of them.
public struct Expectation: Sendable, BitwiseCopyable {
    /// The newest original: its time on the output's time line, and when it must be emitted.
    public private(set) var newest: (time: MediaTime, emitBy: MonotonicTime)?
    private var last: MediaTime?
    /// How far apart the last originals were, in ticks.
    private var steps = InlineArray<4, Int64>(repeating: Cadence.longestPair)
    private var count = 0

    public init() {}

    /// An original has arrived. Originals come in the order in which they are decoded.
    public mutating func observe(_ time: MediaTime, emitBy: MonotonicTime) {
        if let last, time != last {
            steps[count % 4] = abs(time - last)
            count += 1
        }
        last = time
        if newest.map({ time > $0.time }) ?? true { newest = (time, emitBy) }
    }

    /// The time between originals in the order they are shown in, as far as it can be known: the least of the last few,
    /// since one that is missing, or sent before its turn, makes it look longer.
    private var interval: Int64 {
        var least = Cadence.longestPair
        for n in 0..<4 { least = min(least, steps[n]) }
        return least
    }

    /// When what is shown at this time must be emitted: with the original at or after it, which lies a whole number of
    /// intervals from the newest. Nil before the first original.
    public func emitBy(at time: MediaTime) -> MonotonicTime? {
        guard let newest else { return nil }
        let ahead = time - newest.time
        let intervals = ahead > 0 ? (ahead + interval - 1) / interval : ahead / interval
        return newest.emitBy + MediaTime(ticks: intervals * interval).nanoseconds
    }
}

/// Sees to it that every slot of a constant output rate gets a frame: where none comes, the last one again, and once the
/// source has stopped, a slate. The counterpart of ``Cadence`` at the output's end: that one lays out what is there, this
/// one notices what is not.
///
/// A slot is filled when its deadline has passed, or when a frame for a later slot comes, since frames come in order: by
/// then nothing can come for it any more. While frames are under way a slot waits longer: a machine that needs more than
/// the budget for each frame shall show late frames and not repeats.
///
/// A value that knows the time only from its caller; asking never allocates.
public struct Repeater: Sendable {
    /// What to emit when no frame has come in time.
    public enum Filler: Hashable, Sendable {
        case nothing
        /// The last frame again, at this output time.
        case repeated(MediaTime)
        /// The source has stopped: the slate picture, at this output time.
        case slate(MediaTime)
    }

    /// The newest slot that was filled because its deadline had passed.
    public struct Filled: Hashable, Sendable, BitwiseCopyable {
        public var slot: MediaTime
        public var emitBy: MonotonicTime

        public init(slot: MediaTime, emitBy: MonotonicTime) {
            self.slot = slot
            self.emitBy = emitBy
        }
    }

    /// How long past its deadline a slot waits for frames that are under way.
    static let patience = Nanoseconds.milliseconds(250)
    /// After this long without a frame in time, one that is late is shown all the same, in the next free slot.
    static let longestFreeze = Nanoseconds.milliseconds(500)
    /// A slot that is overdue by more than this is left empty: a machine that cannot keep up with repeats shall not run
    /// after them.
    static let longestLag = Nanoseconds.milliseconds(500)
    /// More missing slots than this, at once, are not filled.
    static let longestHole = 3 * MediaTime.ticksPerSecond

    public let grid: SlotGrid
    /// How long the last frame is repeated; then comes the slate.
    public let hold: Nanoseconds
    public private(set) var filled: Filled?
    /// The first slot that nothing was shown in; nil before the first frame.
    private var next: Int64?
    /// Slots that were left empty and not told of yet.
    private var leftEmpty: Int64 = 0
    private var lastShown = MonotonicTime(nanoseconds: 0)

    public init(grid: SlotGrid, hold: Nanoseconds) {
        self.grid = grid
        self.hold = hold
    }

    /// The slot in which a frame can be shown that was made for the one at `time`; nil when it is too late for it.
    public func place(_ time: MediaTime, now: MonotonicTime) -> MediaTime? {
        guard let next, grid.slot(at: time) < next else { return time }
        return now - lastShown >= Self.longestFreeze ? grid.time(of: next) : nil
    }

    /// What is to be shown in the next empty slot before a frame's own, which is then taken.
    /// - Parameter due: when that frame was due, where it is late already: slots that are overdue by much more are left
    ///   empty then, since filling them would make it later still. Nil where it is not.
    public mutating func missing(before time: MediaTime, now: MonotonicTime, due: MonotonicTime? = nil) -> Filler {
        guard var next, time - grid.time(of: next) <= Self.longestHole else { return .nothing }
        if let due {
            while case let slot = grid.time(of: next), slot < time,
                now - (due - MediaTime(ticks: time - slot).nanoseconds) > Self.longestLag
            {
                leftEmpty += 1
                next += 1
            }
            self.next = next
        }
        return grid.time(of: next) < time ? fill(next, now: now) : .nothing
    }

    /// A frame is shown; slots before it that were not filled stay empty.
    public mutating func show(_ time: MediaTime, now: MonotonicTime) {
        let slot = grid.slot(at: time)
        if let next { leftEmpty += max(0, slot - next) }
        next = slot + 1
        lastShown = now
    }

    /// How many slots were left empty since the last call.
    public mutating func takeLeftEmpty() -> Int {
        defer { leftEmpty = 0 }
        return Int(leftEmpty)
    }

    /// Whatever was shown before, the last frame counts as new: for a receiver that has just come.
    public mutating func beginHold(now: MonotonicTime) { lastShown = now }

    /// When the next empty slot is to be filled, should nothing come; nil before the first frame.
    public func due(_ expected: Expectation) -> MonotonicTime? {
        next.flatMap { expected.emitBy(at: grid.time(of: $0)) }
    }

    /// What is to be shown now in the next empty slot, which is then taken.
    /// - Parameter isUnderWay: originals have arrived that have not come out yet.
    public mutating func filler(now: MonotonicTime, _ expected: Expectation, isUnderWay: Bool) -> Filler {
        // (Where a frame is under way behind them, they are filled when it comes.)
        while !isUnderWay, let next, let due = due(expected), now - due > Self.longestLag {
            leftEmpty += 1
            self.next = next + 1
            filled = Filled(slot: grid.time(of: next), emitBy: due)
        }
        guard let next, let due = due(expected), now > due + (isUnderWay ? Self.patience : .zero) else {
            return .nothing
        }
        filled = Filled(slot: grid.time(of: next), emitBy: due)
        return fill(next, now: now)
    }

    private mutating func fill(_ slot: Int64, now: MonotonicTime) -> Filler {
        next = slot + 1
        let time = grid.time(of: slot)
        return now - lastShown > hold ? .slate(time) : .repeated(time)
    }
}
