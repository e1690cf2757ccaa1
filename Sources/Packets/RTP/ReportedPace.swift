import Media

/// What a sender's reports say of its RTP timestamps: how fast they count against its own wall clock, and that they jump.
/// Only differences between reports are used: a sender's wall clock may be set wrong, and its timestamps may count from
/// anywhere (FFmpeg's reports date its stream's beginning, wherever the stream's own stamps begin).
///
/// A pure value; allocates nothing.
struct ReportedPace: Sendable {
    /// Two reports whose clocks differ by more between them contradict each other.
    static let mostDifference = 0.005
    /// So much more may come from how a sender reads its clocks; µs.
    static let readingError = 20_000.0
    /// How far a report's wall clock may run apart from ours between two reports, because the network delays them; µs.
    static let transportError = 1_000_000.0
    /// Reports must lie at least this far apart to show a pace; µs.
    private static let leastBaseline = 4_000_000.0
    /// The span over which the pace is taken moves on at this age; µs.
    private static let baseline = 30_000_000.0

    private struct Pair {
        var ticks: Int64
        var wall: UInt64
        var arrival: MonotonicTime

        /// Since another pair, by each of the three clocks, in microseconds.
        func since(_ other: Pair) -> (stamps: Double, wall: Double, arrival: Double) {
            (
                Double(ticks - other.ticks) / 0.09,
                // 32.32 bits; across NTP's own wrap too.
                Double(Int64(bitPattern: wall &- other.wall)) / 4294.967296,
                Double((arrival - other.arrival).count) / 1_000
            )
        }
    }

    private var stamps = WrappingCount(perSecond: MediaTime.ticksPerSecond)
    private var last: Pair?
    /// The beginning of the present span, and of the next one.
    private var first: Pair?
    private var next: Pair?
    private var announced: Int64?
    /// How long 90,000 ticks take by the sender's wall clock, in seconds: 1 for a sender that counts right, and before its
    /// reports show a pace.
    private(set) var pace = 1.0
    /// Reports that contradicted earlier ones or the packets, and were not used.
    private(set) var rejected: Int64 = 0

    mutating func apply(_ report: SenderReport, arrival: MonotonicTime) {
        // The sender has no such clock.
        guard report.wallClock != 0 else { return }
        if announced != nil {
            // The last report announced a jump, and no packet has made it.
            announced = nil
            rejected += 1
        }
        let ticks = stamps.unwrap(report.timestamp, arrival: arrival)
        let pair = Pair(ticks: ticks, wall: report.wallClock, arrival: arrival)
        guard let last, let first else { return begin(at: report, arrival) }
        let step = pair.since(last)
        guard step.wall > 0, abs(step.wall - step.arrival) <= Self.transportError + Self.mostDifference * step.arrival else {
            // The sender's wall clock was set, or its reports are wrong. The next one may agree with this one.
            rejected += 1
            return begin(at: report, arrival)
        }
        let difference = step.stamps - step.wall
        guard abs(difference) <= Self.readingError + Self.mostDifference * step.wall else {
            announced = Int64(difference * 0.09)
            return begin(at: report, arrival)
        }
        self.last = pair
        let whole = pair.since(first)
        guard whole.wall >= Self.leastBaseline else { return }
        let shown = whole.wall / whole.stamps
        if abs(shown - 1) <= Self.mostDifference { pace = shown } else { rejected += 1 }
        let later = next ?? pair
        if pair.since(later).wall >= Self.baseline {
            self.first = later
            next = pair
        } else {
            next = later
        }
    }

    /// Compares later reports with this one. Timestamps are counted from it, so that a sender that jumps for ever does not
    /// count beyond all bounds.
    private mutating func begin(at report: SenderReport, _ arrival: MonotonicTime) {
        stamps = WrappingCount(perSecond: MediaTime.ticksPerSecond)
        let ticks = stamps.unwrap(report.timestamp, arrival: arrival)
        first = Pair(ticks: ticks, wall: report.wallClock, arrival: arrival)
        last = first
        next = nil
    }

    /// The jump of the packets' timestamps, in ticks, if the last report announced one that fits. Each is claimed once.
    mutating func claimJump(where fits: (Int64) -> Bool) -> Int64? {
        guard let jump = announced, fits(jump) else { return nil }
        announced = nil
        return jump
    }

    /// The packets' timestamps have jumped and no report announced it: the next report is compared with none.
    mutating func forget() {
        last = nil
        first = nil
        next = nil
        announced = nil
    }
}
