import Media

/// Chooses the source times that go out with a frame's packets. With them the next hop's SRT window restores the source's
/// cadence, although frames leave whenever they are ready.
///
/// A frame's outgoing source time (its *stamp*) is its own source time plus a delay that moves slowly: the 98th percentile of
/// what the last 200 frames took. Most frames leave a little before their stamp. The few that take longer use up a part of the
/// next hop's window and do not move the cadence; most of them had packets that were sent again on the way in.
///
/// Up to eight *late units* among the 200 are left out as well. A late unit is known to be complete only when the next one
/// begins, so it takes a whole interval longer, and every other frame would have to wait as long.
///
/// A pure value: it holds no clock and allocates nothing.
struct CadenceClock {
    /// Frames that are remembered: three to seven seconds of them.
    private static let memory = 200
    /// Of a hundred frames, how many the delay covers.
    private static let share = 98
    /// Late units that are left out beside those.
    private static let lateUnitsLeftOut = 8
    /// After so many frames the first ones are forgotten: codecs were being opened, caches were cold, and the sender's clock was
    /// not known well.
    private static let settling = 60
    /// Delays are rounded up to half milliseconds, so that the cadence does not follow every frame.
    private static let unit = Nanoseconds.microseconds(500)
    /// The delay falls by this for each frame, or by a sixteenth of the excess if that is more, so that the move is hardly seen.
    /// It rises at once.
    private static let fall = Nanoseconds.microseconds(500)

    private(set) var delay: Nanoseconds?
    private var last: MonotonicTime?
    /// What the last frames took, in units. It may be a minute: a source that is read after its whole recovery window is that
    /// far behind.
    private var taken = InlineArray<200, Int64>(repeating: 0)
    /// Which of these frames were late units.
    private var wasLateUnit = InlineArray<200, Bool>(repeating: false)
    private var lateUnits = 0
    private var seen = 0
    private var isSettled = false

    init() {}

    /// - Parameters:
    ///   - source: when the frame was made, on this machine's clock.
    ///   - now: when it is sent.
    ///   - isLateUnit: its unit, or its original's, was a late unit.
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

    /// The delay that covers the share of the remembered frames, without the late units that are left out.
    private func usual() -> Nanoseconds? {
        let all = min(seen, Self.memory)
        if all == 0 { return nil }
        // Of few frames the extremes say nothing yet.
        let share = min(Self.share, 50 + all / 2)
        let above = min(all - (all * share + 99) / 100 + min(lateUnits, Self.lateUnitsLeftOut), all - 1)
        // The largest values in descending order. The wanted one follows those that may exceed it: at most 13 (of 50 frames) and
        // the late units.
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

    /// The stamp of a repeated frame, which says nothing of how long frames take.
    mutating func stamp(repeated source: MonotonicTime) -> MonotonicTime {
        let stamp = stamp(passing: source, after: last)
        last = stamp
        return stamp
    }

    /// The stamp of a unit of a passing stream.
    /// - Parameter newest: the stamp of the newest picture that was sent. The unit's stamp is no earlier.
    func stamp(passing source: MonotonicTime, after newest: MonotonicTime?) -> MonotonicTime {
        let stamp = source + (delay ?? .zero)
        return newest.map { max(stamp, $0) } ?? stamp
    }

    /// When a frame of this stamp leaves in paced mode: at its stamp, but not after its deadline, and not before now.
    static func turn(_ stamp: MonotonicTime, deadline: MonotonicTime?, now: MonotonicTime) -> MonotonicTime {
        max(now, min(stamp, deadline ?? stamp))
    }

    /// The source was replaced: its frames have nothing to do with those before. Stamps still do not go back.
    mutating func restart() {
        let last = last
        self = CadenceClock()
        self.last = last
    }
}
