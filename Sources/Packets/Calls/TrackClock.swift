import Media

/// A track's time stamps in ticks of 90 kHz, on the timeline that the tracks of a session share, and on our clock.
///
/// A pure value; allocates nothing.
struct TrackClock: Sendable {
    /// A wall clock's time that a sender reported, and the stamp that belongs to it.
    struct Report: Sendable {
        /// NTP's 32.32 bits.
        var wall: UInt64
        var ticks: Int64
    }

    private let rate: Int64
    private var stamps: WrappingCount
    private var clock = RTPClock()
    /// Added to the ticks for the shared timeline.
    var offset: Int64 = 0
    private(set) var newest: Int64?
    private(set) var newestSourceTime: MonotonicTime?
    private(set) var report: Report?

    init(rate: Int) {
        self.rate = Int64(rate)
        stamps = WrappingCount(perSecond: Int64(rate))
    }

    struct Mapped {
        /// In ticks of the track's own rate, without wrapping.
        var own: Int64
        /// In ticks of 90 kHz.
        var ticks: Int64
        var sourceTime: MonotonicTime?
        var restarted: Bool
    }

    /// Maps a packet's time stamp.
    mutating func map(_ wire: UInt32, arrival: MonotonicTime, isNext: Bool) -> Mapped {
        let own = stamps.unwrap(wire, arrival: arrival)
        let ticks = scaled(own)
        let (time, restarted) = clock.map(
            timestamp: UInt32(truncatingIfNeeded: ticks), arrival: arrival, isNext: isNext)
        newest = ticks
        newestSourceTime = time
        return Mapped(own: own, ticks: ticks, sourceTime: time, restarted: restarted)
    }

    /// Has a stamp lie at a time of the shared timeline.
    mutating func place(_ wire: UInt32, arrival: MonotonicTime, at time: Int64) {
        var copy = stamps
        offset = time - scaled(copy.unwrap(wire, arrival: arrival))
    }

    /// - Returns: whether the report was believed.
    mutating func apply(_ sender: SenderReport, arrival: MonotonicTime) -> Bool {
        guard newest != nil else { return false }
        var copy = stamps
        let ticks = scaled(copy.unwrap(sender.timestamp, arrival: arrival))
        var scaledReport = sender
        scaledReport.timestamp = UInt32(truncatingIfNeeded: ticks)
        let before = clock.reportsRejected
        clock.apply(scaledReport, arrival: arrival)
        if sender.wallClock != 0 { report = Report(wall: sender.wallClock, ticks: ticks) }
        return clock.reportsRejected == before
    }

    private func scaled(_ own: Int64) -> Int64 {
        guard rate != MediaTime.ticksPerSecond else { return own }
        let (seconds, rest) = own.quotientAndRemainder(dividingBy: rate)
        return seconds * MediaTime.ticksPerSecond + rest * MediaTime.ticksPerSecond / rate
    }

    /// What ``offset`` must be so that stamps of the same wall clock as another track's lie at the same time.
    /// - Returns: nil before both tracks have had a report.
    func offset(alignedTo other: TrackClock) -> Int64? {
        guard let mine = report, let others = other.report else { return nil }
        let wall = Double(Int64(bitPattern: mine.wall &- others.wall)) / 4294967296.0
        let elapsed = Int64((wall * Double(MediaTime.ticksPerSecond)).rounded())
        return others.ticks + other.offset + elapsed - mine.ticks
    }
}
