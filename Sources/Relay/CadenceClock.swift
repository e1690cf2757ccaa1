import Media

/// Chooses the source times that go out with a frame's packets, so that the next hop's SRT window gives the receiver the
/// source's cadence back although frames leave whenever they are ready.
///
/// A frame's outgoing source time is its own source time plus one slowly moving delay: the 98th percentile of what the
/// last few hundred frames have taken. Most frames are sent a little before their stamp, and the few that take longer
/// (whose packets had to be sent again on the way in, above all) eat into the next hop's window instead of moving the
/// cadence.
///
/// A pure value; allocates nothing.
struct CadenceClock {
    /// Frames that are remembered: three to seven seconds.
    private static let memory = 200
    private static let share = 98
    /// Frames after which what the first ones took is forgotten: codecs were opened, caches were cold, and the sender's
    /// clock was not yet known well.
    private static let settling = 60
    /// Delays are counted in half milliseconds, up to half a second.
    private static let unit = Nanoseconds.microseconds(500)
    private static let longest = 1023
    /// The delay falls by this a frame, or by a sixteenth of what it is too large, so that the cadence is hardly seen to
    /// move; it rises at once.
    private static let fall = Nanoseconds.microseconds(500)

    private(set) var delay: Nanoseconds?
    private var last: MonotonicTime?
    private var taken = InlineArray<200, UInt16>(repeating: 0)
    private var counts = InlineArray<1024, UInt16>(repeating: 0)
    private var seen = 0
    private var isSettled = false

    init() {}

    /// - Parameters:
    ///   - source: when the frame was made, on this machine's clock.
    ///   - now: when it is sent.
    /// - Returns: the source time to send with it; never earlier than the one before.
    mutating func stamp(source: MonotonicTime, now: MonotonicTime) -> MonotonicTime {
        remember(now - source)
        let wanted = percentile() ?? self.delay ?? (now - source)
        let delay = self.delay.map { max(wanted, $0 - max(Self.fall, ($0 - wanted) / 16)) } ?? wanted
        self.delay = delay
        let stamp = max(source + delay, last ?? source + delay)
        last = stamp
        return stamp
    }

    private mutating func remember(_ time: Nanoseconds) {
        let bucket = min(Self.longest, max(0, Int(time.count / Self.unit.count)))
        let place = seen % Self.memory
        if seen >= Self.memory { counts[Int(taken[place])] -= 1 }
        taken[place] = UInt16(bucket)
        counts[bucket] += 1
        seen += 1
        if !isSettled, seen == Self.settling {
            isSettled = true
            counts = .init(repeating: 0)
            seen = 0
        }
    }

    /// The upper edge of the bucket that the share of the remembered frames does not exceed.
    private func percentile() -> Nanoseconds? {
        let all = min(seen, Self.memory)
        if all == 0 { return nil }
        // Of few frames the extreme ones say nothing yet.
        let share = min(Self.share, 50 + all / 2)
        var above = all - (all * share + 99) / 100
        var bucket = Self.longest
        while bucket > 0 {
            above -= Int(counts[bucket])
            if above < 0 { break }
            bucket -= 1
        }
        return Nanoseconds(Int64(bucket + 1) * Self.unit.count)
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
