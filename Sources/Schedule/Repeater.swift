import Media

/// Predicts the deadlines of the next originals from those that have arrived, whether or not they were dropped.
public struct Expectation: Sendable, BitwiseCopyable {
    /// The newest original: its time on the output's time line, and its deadline.
    public private(set) var newest: (time: MediaTime, emitBy: MonotonicTime)?
    private var last: MediaTime?
    /// The distances between the last originals, in ticks.
    private var steps = InlineArray<4, Int64>(repeating: Cadence.longestPair)
    private var count = 0

    public init() {}

    /// Adds an original that has arrived. Originals arrive in decoding order.
    public mutating func observe(_ time: MediaTime, emitBy: MonotonicTime) {
        if let last, time != last {
            steps[count % 4] = abs(time - last)
            count += 1
        }
        last = time
        if newest.map({ time > $0.time }) ?? true { newest = (time, emitBy) }
    }

    /// The time between originals in presentation order, in ticks. It is the least of the last few distances, because a missing or
    /// reordered original makes a distance longer.
    public var interval: Int64 {
        var least = Cadence.longestPair
        for n in 0..<4 { least = min(least, steps[n]) }
        return least
    }

    /// The deadline of a frame at this time: that of the original at or after it, which lies a whole number of intervals from
    /// the newest. Nil before the first original.
    public func emitBy(at time: MediaTime) -> MonotonicTime? {
        guard let newest else { return nil }
        let ahead = time - newest.time
        let intervals = ahead > 0 ? (ahead + interval - 1) / interval : ahead / interval
        return newest.emitBy + MediaTime(ticks: intervals * interval).nanoseconds
    }
}

/// Fills each slot of a constant output rate that no frame comes for: with the last frame again, and after ``hold`` with a
/// slate. ``Cadence`` lays out the frames that are there; the repeater fills the slots that stay empty.
///
/// It fills a slot when its deadline has passed, or when a frame for a later slot comes: frames come in order, so no frame can
/// come for the slot any more. A slot waits longer while frames are in flight, because a machine that needs more than the
/// budget for each frame should show late frames and not repeats.
///
/// A value that knows the time only from its caller; no call allocates.
public struct Repeater: Sendable {
    /// What to emit in a slot that no frame came for.
    public enum Filler: Hashable, Sendable {
        case nothing
        /// The last frame again, at this output time.
        case repeated(MediaTime)
        /// The slate picture, at this output time. The source has stopped.
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

    /// How long after its deadline a slot waits for frames in flight.
    static let inFlightSlotTimeout = Nanoseconds.milliseconds(250)
    /// After this long without a new frame, a late frame is shown all the same, in the next free slot.
    static let longestFreeze = Nanoseconds.milliseconds(500)
    /// A slot that is overdue by more than this is left empty. A machine that cannot keep up with repeats should not try to
    /// catch up with them.
    static let longestLag = Nanoseconds.milliseconds(500)
    /// A longer gap before a frame is not filled, in ticks.
    static let longestGap = 3 * MediaTime.ticksPerSecond

    public let grid: SlotGrid
    /// How long the last frame is repeated before the slate.
    public let hold: Nanoseconds
    public private(set) var filled: Filled?
    /// The first slot without a frame; nil before the first frame.
    private var next: Int64?
    /// How many slots were left empty since ``drainSlotsLeftEmpty()``.
    private var leftEmpty: Int64 = 0
    private var lastShown = MonotonicTime(nanoseconds: 0)
    /// From when on ``hold`` counts.
    private var heldSince = MonotonicTime(nanoseconds: 0)

    public init(grid: SlotGrid, hold: Nanoseconds) {
        self.grid = grid
        self.hold = hold
    }

    /// The slot in which to show a frame that was made for the slot at `time`; nil when the frame is too late.
    public func slot(for time: MediaTime, now: MonotonicTime) -> MediaTime? {
        guard let next, grid.slot(at: time) < next else { return time }
        return now - lastShown >= Self.longestFreeze ? grid.time(of: next) : nil
    }

    /// Fills the next empty slot before the slot of a frame.
    /// - Parameter due: the deadline of that frame when it has passed, else nil. Slots that are overdue by much more are then
    ///   left empty, because filling them would delay the frame further.
    /// - Returns: what to show in the slot.
    public mutating func fillSlot(before time: MediaTime, now: MonotonicTime, due: MonotonicTime? = nil) -> Filler {
        guard var next, time - grid.time(of: next) <= Self.longestGap else { return .nothing }
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

    /// Records that a frame is shown. Empty slots before it stay empty.
    public mutating func show(_ time: MediaTime, now: MonotonicTime) {
        let slot = grid.slot(at: time)
        if let next { leftEmpty += max(0, slot - next) }
        next = slot + 1
        lastShown = now
        restartHold(now: now)
    }

    /// Returns how many slots were left empty since the last call, and resets the count.
    public mutating func drainSlotsLeftEmpty() -> Int {
        defer { leftEmpty = 0 }
        return Int(leftEmpty)
    }

    /// The last frame may be repeated for ``hold`` from now on: a receiver has just connected, or packets of the source come.
    public mutating func restartHold(now: MonotonicTime) { heldSince = max(heldSince, now) }

    /// When the next empty slot will be filled if no frame comes; nil before the first frame.
    public func due(_ expected: Expectation) -> MonotonicTime? {
        next.flatMap { expected.emitBy(at: grid.time(of: $0)) }
    }

    /// Fills the next empty slot if it is overdue.
    /// - Parameter hasFramesInFlight: some originals have arrived and are not emitted yet.
    /// - Returns: what to show in the slot.
    public mutating func fillOverdueSlot(now: MonotonicTime, _ expected: Expectation, hasFramesInFlight: Bool) -> Filler {
        // Slots before a frame in flight are filled when it comes.
        while !hasFramesInFlight, let next, let due = due(expected), now - due > Self.longestLag {
            leftEmpty += 1
            self.next = next + 1
            filled = Filled(slot: grid.time(of: next), emitBy: due)
        }
        let timeout = hasFramesInFlight ? Self.inFlightSlotTimeout : .zero
        guard let next, let due = due(expected), now > due + timeout else { return .nothing }
        filled = Filled(slot: grid.time(of: next), emitBy: due)
        return fill(next, now: now)
    }

    private mutating func fill(_ slot: Int64, now: MonotonicTime) -> Filler {
        next = slot + 1
        let time = grid.time(of: slot)
        return now - heldSince > hold ? .slate(time) : .repeated(time)
    }
}
