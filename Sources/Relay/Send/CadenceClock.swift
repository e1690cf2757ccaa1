import Media

/// Chooses the source times that go out with a frame's packets, so that the next hop's SRT window gives the receiver the
/// source's cadence back although frames leave whenever they are ready.
///
/// A frame's outgoing source time is its own source time plus one slowly moving delay: the 98th percentile of what the
/// last few hundred frames have taken. Most frames are sent a little before their stamp, and the few that take longer
/// (whose packets had to be sent again on the way in, above all) eat into the next hop's window instead of moving the
/// cadence. So do the frames, if there are few, whose units were known to be whole only when the next one began: by an
/// interval at least, which all others would have to wait, for seconds after two or three such in the first hundred.
///
/// A pure value; allocates nothing.
struct CadenceClock {
    /// Frames that are remembered: three to seven seconds.
    private static let memory = 200
    private static let share = 98
    /// How many frames of late units are left out beside those.
    private static let excused = 8
    /// Frames after which what the first ones took is forgotten: codecs were opened, caches were cold, and the sender's
    /// clock was not yet known well.
    private static let settling = 60
    /// Delays are rounded up to half milliseconds, so that the cadence does not follow each of them.
    private static let unit = Nanoseconds.microseconds(500)
    /// The delay falls by this a frame, or by a sixteenth of what it is too large, so that the cadence is hardly seen to
    /// move; it rises at once.
    private static let fall = Nanoseconds.microseconds(500)

    private(set) var delay: Nanoseconds?
    private var last: MonotonicTime?
    /// What the last frames took, in units. Any delay may be one: a source that is read with its whole recovery window, up
    /// to a minute of it, is as far behind.
    private var taken = InlineArray<200, Int64>(repeating: 0)
    /// Which of them were late units.
    private var wasLateUnit = InlineArray<200, Bool>(repeating: false)
    private var lateUnits = 0
    private var seen = 0
    private var isSettled = false

    init() {}

    /// - Parameters:
    ///   - source: when the frame was made, on this machine's clock.
    ///   - now: when it is sent.
    ///   - isLateUnit: its unit, or that of its original, waited for the next one.
    /// - Returns: the source time to send with it; never earlier than the one before.
    mutating func stamp(source: MonotonicTime, now: MonotonicTime, isLateUnit: Bool = false) -> MonotonicTime {
        remember(now - source, isLateUnit)
        let wanted = usual() ?? self.delay ?? (now - source)
        let delay = self.delay.map { max(wanted, $0 - max(Self.fall, ($0 - wanted) / 16)) } ?? wanted
        self.delay = delay
        let stamp = max(source + delay, last ?? source + delay)
        last = stamp
        return stamp
    }

    private mutating func remember(_ time: Nanoseconds, _ isLateUnit: Bool) {
        let place = seen % Self.memory
        if seen >= Self.memory, wasLateUnit[place] { lateUnits -= 1 }
        taken[place] = max(0, time.count) / Self.unit.count + 1
        wasLateUnit[place] = isLateUnit
        if isLateUnit { lateUnits += 1 }
        seen += 1
        if !isSettled, seen == Self.settling {
            isSettled = true
            seen = 0
            lateUnits = 0
        }
    }

    /// What the share of the remembered frames does not exceed, and the late units left out.
    private func usual() -> Nanoseconds? {
        let all = min(seen, Self.memory)
        if all == 0 { return nil }
        // Of few frames the extreme ones say nothing yet.
        let share = min(Self.share, 50 + all / 2)
        let above = min(all - (all * share + 99) / 100 + min(lateUnits, Self.excused), all - 1)
        // The largest ones in descending order; the one after those that may exceed it is wanted. There are 13 at most,
        // of 50 frames, and the excused ones.
        var largest = InlineArray<22, Int64>(repeating: 0)
        var index = 0
        while index < all {
            let value = taken[index]
            index += 1
            guard value > largest[above] else { continue }
            var place = above
            while place > 0, largest[place - 1] < value {
                largest[place] = largest[place - 1]
                place -= 1
            }
            largest[place] = value
        }
        return Nanoseconds(largest[above] * Self.unit.count)
    }

    /// The source time to send with a repeated frame, which says nothing of how long frames take.
    mutating func stamp(repeated source: MonotonicTime) -> MonotonicTime {
        let stamp = stamp(passing: source)
        last = stamp
        return stamp
    }

    /// The source time to send with a unit of another stream, beside the frames.
    func stamp(passing source: MonotonicTime) -> MonotonicTime {
        let stamp = source + (delay ?? .zero)
        return last.map { max(stamp, $0) } ?? stamp
    }

    /// When a frame of this stamp leaves where frames are paced: at its stamp, but neither after its deadline nor before
    /// it is there.
    static func turn(_ stamp: MonotonicTime, deadline: MonotonicTime?, now: MonotonicTime) -> MonotonicTime {
        max(now, min(stamp, deadline ?? stamp))
    }

    /// Waits for ``turn(_:deadline:now:)``, and returns it.
    static func awaitTurn(_ stamp: MonotonicTime, deadline: MonotonicTime?, now: MonotonicTime) -> MonotonicTime {
        let turn = turn(stamp, deadline: deadline, now: now)
        if turn > now { turn.sleep() }
        return turn
    }

    /// The source was replaced: its frames have nothing to do with the ones before.
    mutating func restart() {
        let last = last
        self = CadenceClock()
        self.last = last
    }
}
