import Media

/// Maps a source's RTP timestamps to our monotonic clock.
///
/// Timestamps are unwrapped, put in order (``StampOrder``), counted in microseconds of the sender's wall clock at the pace
/// that its reports tell (``ReportedPace``; before there are any, 90 kHz is 90 kHz), and that count is fitted to our clock
/// (``SourceClock``). What a jump that a report announced takes away is given back, so that it does not show.
///
/// What timestamps say is the sender's own affair. They are believed once they have gone on with time for a second, in which
/// encoders start, and for as long as they do; where they do not, there are no source times.
///
/// A pure value; allocates nothing.
struct RTPClock: Sendable {
    /// How far apart from where they should be timestamps make a leap. Sound may lie a second behind the pictures.
    static let leap = 2 * MediaTime.ticksPerSecond
    /// How long timestamps are watched at a time.
    static let watch = Nanoseconds.seconds(1)
    /// Nothing is sent again over RTP: what is late for long is not a backlog but as it is now.
    static let patience = SourceClock.Patience(lateness: 100_000, time: 2_000_000)

    private var timestamps = WrappingCount(perSecond: MediaTime.ticksPerSecond)
    /// What announced jumps have added.
    private var added: Int64 = 0
    private var order = StampOrder()
    private var newestArrival = MonotonicTime(nanoseconds: 0)
    private var reports = ReportedPace()
    /// The sender's time in microseconds at one tick, from where the present pace holds.
    private var base: (ticks: Int64, time: Double) = (0, 0)
    private var pace = 1.0
    private var fit = SourceClock(patience: patience)
    /// Where the present watch began; nil before the first packet.
    private var watched: (ticks: Int64, arrival: MonotonicTime)?
    /// Timestamps go on with time.
    private(set) var isSteady = false

    init() {}

    /// The difference in pace between the sender's wall clock and ours.
    var skew: Double { fit.skew }
    /// What the reports say of the timestamps' pace.
    var reportedPace: Double { pace }
    var reportsLeftOut: Int64 { reports.leftOut }

    /// Takes one packet's two times.
    /// - Parameter isNext: it comes in the sender's order. What others have overtaken says nothing of how stamps are ordered.
    /// - Returns: the source time on our clock, nil while timestamps are not to be believed, and whether source times jump
    ///   or end here.
    mutating func map(
        timestamp wire: UInt32, arrival: MonotonicTime, isNext: Bool = true
    ) -> (time: MonotonicTime?, restarted: Bool) {
        var ticks = timestamps.unwrap(wire, arrival: arrival) - added
        var restarted = false
        if let newest = order.newest {
            let expected = newest + MediaTime.ticks(in: max(.zero, arrival - newestArrival))
            if (ticks - expected).magnitude > UInt64(Self.leap) {
                let jump = reports.takeJump { abs(Self.distance(ticks - $0, expected)) <= Self.leap }
                // Counted from the bare timestamp again: whoever leaps for ever does not count beyond all bounds.
                timestamps = WrappingCount(perSecond: MediaTime.ticksPerSecond)
                let bare = timestamps.unwrap(wire, arrival: arrival)
                if let jump {
                    ticks = expected + Self.distance(ticks - jump, expected)
                    added = bare - ticks
                } else {
                    restarted = isSteady
                    leave()
                    ticks = bare
                    added = 0
                }
            }
        }
        if isNext || order.newest == nil {
            let isNewest = order.newest.map { ticks > $0 } ?? true
            if order.take(ticks), isSteady {
                fit = SourceClock(patience: Self.patience)
                restarted = true
            }
            if isNewest { newestArrival = arrival }
        }
        if judge(arrival) { restarted = true }
        guard isSteady else { return (nil, restarted) }
        let (time, isAnew) = fit.map(source: Int64(senderTime(order.inOrder(ticks))), arrival: arrival)
        return (time, restarted || isAnew)
    }

    /// Takes a report of the source.
    mutating func take(_ report: SenderReport, arrival: MonotonicTime) {
        reports.take(report, arrival: arrival)
        guard reports.pace != pace else { return }
        // The past is put as though this had been known: no time jumps.
        let now = order.newest ?? base.ticks
        let time = senderTime(now)
        fit.stretch(by: reports.pace / pace, about: Int64(time))
        base = (now, time)
        pace = reports.pace
    }

    private func senderTime(_ ticks: Int64) -> Double { base.time + Double(ticks - base.ticks) / 0.09 * pace }

    /// How far apart two counts are that are known but for whole circles.
    private static func distance(_ a: Int64, _ b: Int64) -> Int64 { Int64(Int32(truncatingIfNeeded: a - b)) }

    /// Timestamps go on somewhere else, and nobody has said so.
    private mutating func leave() {
        order.restart()
        reports.forget()
        watched = nil
        isSteady = false
    }

    /// Sees once a second whether timestamps go on as time does, roughly: pauses and bursts are a sender's good right.
    /// - Returns: whether they have ceased to.
    private mutating func judge(_ arrival: MonotonicTime) -> Bool {
        guard let newest = order.newest, let watched else {
            watched = order.newest.map { ($0, arrival) }
            return false
        }
        let elapsed = arrival - watched.arrival
        guard elapsed >= Self.watch else { return false }
        let went = MediaTime(ticks: newest - watched.ticks).nanoseconds
        self.watched = (newest, arrival)
        let wasSteady = isSteady
        isSteady = abs((went - elapsed).count) <= elapsed.count / 2
        if isSteady && !wasSteady { fit = SourceClock(patience: Self.patience) }
        return wasSteady && !isSteady
    }
}
