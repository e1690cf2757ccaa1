import Media

/// Maps a source's RTP timestamps to our monotonic clock.
///
/// Timestamps are unwrapped, put in order (``StampOrder``), counted in microseconds of the sender's wall clock at the pace
/// that its reports show (``ReportedPace``; before there are any, 90 kHz), and that count is fitted to our clock
/// (``SourceClock``). A jump that a report announced is subtracted, so that source times do not show it.
///
/// Senders may write anything into timestamps. They are believed once they have advanced with time for a second, in which
/// encoders start, and for as long as they do. Where they do not, there are no source times.
///
/// A pure value; allocates nothing.
struct RTPClock: Sendable {
    /// Timestamps this far from where they should be have jumped. Sound may lie a second behind the pictures.
    static let jump = 2 * MediaTime.ticksPerSecond
    /// How long timestamps are watched before they are judged.
    static let watchPeriod = Nanoseconds.seconds(1)
    /// Nothing is sent again over RTP, so packets that are late for long are no backlog: the network is slower now.
    static let lateTolerance = SourceClock.LateTolerance(lateness: 100_000, timeout: 2_000_000)

    private var timestamps = WrappingCount(perSecond: MediaTime.ticksPerSecond)
    /// What announced jumps have added.
    private var added: Int64 = 0
    private var order = StampOrder()
    private var newestArrival = MonotonicTime(nanoseconds: 0)
    private var reports = ReportedPace()
    /// The sender's time in microseconds at one tick, from where the present pace holds.
    private var base: (ticks: Int64, time: Double) = (0, 0)
    /// How long 90,000 ticks take by the sender's wall clock, in seconds, according to its reports.
    private(set) var pace = 1.0
    /// Its slope is the difference in pace between the sender's wall clock and ours.
    private(set) var fit = SourceClock(lateTolerance: lateTolerance)
    /// Where the present watch began; nil before the first packet.
    private var watched: (ticks: Int64, arrival: MonotonicTime)?
    /// Timestamps advance with time.
    private(set) var isSteady = false

    init() {}

    var reportsRejected: Int64 { reports.rejected }

    /// Maps one packet's timestamp.
    /// - Parameter isNext: it comes in the sender's order. A packet that others have overtaken does not show how the sender
    ///   orders its stamps.
    /// - Returns: the source time on our clock, nil while timestamps are not believed, and whether source times jump or
    ///   end here.
    mutating func map(
        timestamp wire: UInt32, arrival: MonotonicTime, isNext: Bool = true
    ) -> (time: MonotonicTime?, restarted: Bool) {
        var ticks = timestamps.unwrap(wire, arrival: arrival) - added
        var restarted = false
        if let newest = order.newest {
            let expected = newest + MediaTime.ticks(in: max(.zero, arrival - newestArrival))
            if (ticks - expected).magnitude > UInt64(Self.jump) {
                let jump = reports.claimJump { abs(Self.distance(ticks - $0, expected)) <= Self.jump }
                // Counted from the bare timestamp again, so that a sender that jumps for ever does not count beyond all bounds.
                timestamps = WrappingCount(perSecond: MediaTime.ticksPerSecond)
                let bare = timestamps.unwrap(wire, arrival: arrival)
                if let jump {
                    ticks = expected + Self.distance(ticks - jump, expected)
                    added = bare - ticks
                } else {
                    restarted = isSteady
                    startAnew()
                    ticks = bare
                    added = 0
                }
            }
        }
        if isNext || order.newest == nil {
            let isNewest = order.newest.map { ticks > $0 } ?? true
            if order.insert(ticks), isSteady {
                fit = SourceClock(lateTolerance: Self.lateTolerance)
                restarted = true
            }
            if isNewest { newestArrival = arrival }
        }
        if judge(arrival) { restarted = true }
        guard isSteady else { return (nil, restarted) }
        let (time, isAnew) = fit.map(source: Int64(senderTime(order.inOrder(ticks))), arrival: arrival)
        return (time, restarted || isAnew)
    }

    /// Applies a report of the source.
    mutating func apply(_ report: SenderReport, arrival: MonotonicTime) {
        reports.apply(report, arrival: arrival)
        guard reports.pace != pace else { return }
        // The past is recounted at the new pace, so that no time jumps.
        let now = order.newest ?? base.ticks
        let time = senderTime(now)
        fit.stretch(by: reports.pace / pace, about: Int64(time))
        base = (now, time)
        pace = reports.pace
    }

    private func senderTime(_ ticks: Int64) -> Double { base.time + Double(ticks - base.ticks) / 0.09 * pace }

    /// The difference of two counts that are known up to whole circles of 32 bits.
    private static func distance(_ a: Int64, _ b: Int64) -> Int64 { Int64(Int32(truncatingIfNeeded: a - b)) }

    /// Timestamps have jumped, and no report announced it.
    private mutating func startAnew() {
        order.restart()
        reports.forget()
        watched = nil
        isSteady = false
    }

    /// Judges once a second whether timestamps advance with time, roughly, because senders may pause and send bursts.
    /// - Returns: whether they have ceased to.
    private mutating func judge(_ arrival: MonotonicTime) -> Bool {
        guard let newest = order.newest, let watched else {
            watched = order.newest.map { ($0, arrival) }
            return false
        }
        let elapsed = arrival - watched.arrival
        guard elapsed >= Self.watchPeriod else { return false }
        let advanced = MediaTime(ticks: newest - watched.ticks).nanoseconds
        self.watched = (newest, arrival)
        let wasSteady = isSteady
        isSteady = abs((advanced - elapsed).count) <= elapsed.count / 2
        if isSteady && !wasSteady { fit = SourceClock(lateTolerance: Self.lateTolerance) }
        return wasSteady && !isSteady
    }
}
