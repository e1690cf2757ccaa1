import Media

/// Puts a session's tracks on one timeline.
///
/// Time stamps of each track count from anywhere. Sender reports tell which of them belong to the same moment of the sender's
/// wall clock. Without them, what was sent at the same time belongs together: packets are compared by their source times, which
/// leave out what the network delayed, and before those are known by their arrival. The same holds where reports lie too far from that
/// estimate: some senders' reports are wrong or old.
///
/// The first track keeps its place; the others move.
struct TrackAlignment: Sendable {
    /// Without reports for so long there will be none.
    static let timeout = Nanoseconds.seconds(6)
    /// Tracks that lie apart by less stay where they are; ticks.
    static let tolerance: Int64 = 450
    /// Reports that put a track further than this from where its packets come contradict them (1 s); ticks. No sender holds one of
    /// its tracks back for so long.
    static let contradiction = MediaTime.ticksPerSecond
    /// They are believed again below this.
    static let agreement = MediaTime.ticksPerSecond / 2
    /// Times begin here, so that none is negative.
    private static let start = 10 * MediaTime.ticksPerSecond

    /// What a track's offset would be by when its packets come.
    private struct Estimate {
        /// By the packet that came soonest for its time stamp.
        var byArrival: Int64
        /// By the newest packet's source time; nil while it has none.
        var bySourceTime: Int64?
        /// The time stamp that lies elsewhere, until another one confirms that all do from here on.
        private var stray: (ticks: Int64, offset: Int64)?

        /// Time stamps that lie further (2 s) from where they should be have jumped: packets that came before show nothing of those
        /// that come.
        private static let jump = 2 * MediaTime.ticksPerSecond

        init(byArrival: Int64) { self.byArrival = byArrival }

        var best: Int64 { bySourceTime ?? byArrival }

        /// A packet with this time stamp came when the track's offset would have to be this.
        /// - Returns: false for a time stamp that stands alone, as a packet's that was written wrong. It shows nothing.
        mutating func observe(_ ticks: Int64, _ offset: Int64) -> Bool {
            guard abs(offset - byArrival) > Self.jump else {
                stray = nil
                byArrival = min(byArrival, offset)
                return true
            }
            // All packets of a picture have the same one.
            guard let other = stray, other.ticks != ticks, abs(offset - other.offset) <= Self.jump else {
                stray = (ticks, offset)
                return false
            }
            stray = nil
            byArrival = min(offset, other.offset)
            return true
        }
    }

    private var epoch: MonotonicTime?
    private var wasReported = false
    /// By track.
    private var estimates: [Int: Estimate] = [:]
    /// The tracks whose reports contradict their packets, and by how many ticks. An event tells of each once.
    private var contradictions: [Int: Int64] = [:]
    private var told: Set<Int> = []

    init() {}

    /// A track's source begins. Its first packet lies at the time of its arrival.
    mutating func begin(_ receiver: RTPTrackReceiver, timestamp: UInt32, at arrival: MonotonicTime) {
        let epoch = epoch ?? arrival
        self.epoch = epoch
        estimates[receiver.index] = nil
        contradictions[receiver.index] = nil
        told.remove(receiver.index)
        receiver.clock.place(timestamp, arrival: arrival, at: Self.start + MediaTime.ticks(in: arrival - epoch))
    }

    /// A packet has come.
    mutating func observe(_ receiver: RTPTrackReceiver, at arrival: MonotonicTime) {
        guard let epoch, let newest = receiver.clock.newest else { return }
        let came = Self.start + MediaTime.ticks(in: arrival - epoch) - newest
        var estimate = estimates[receiver.index] ?? Estimate(byArrival: came)
        if estimate.observe(newest, came) {
            estimate.bySourceTime = receiver.clock.newestSourceTime.map {
                Self.start + MediaTime.ticks(in: $0 - epoch) - newest
            }
        }
        estimates[receiver.index] = estimate
    }

    /// Moves the later tracks to where they belong.
    mutating func align(_ tracks: [RTPTrackReceiver]) {
        guard let first = tracks.first(where: { $0.source != nil }) else { return }
        for other in tracks where other !== first && other.source != nil {
            guard let wanted = place(of: other, beside: first) else { continue }
            if abs(wanted - other.clock.offset) > Self.tolerance { other.clock.offset = wanted }
        }
    }

    /// What a track's offset should be.
    private mutating func place(of track: RTPTrackReceiver, beside first: RTPTrackReceiver) -> Int64? {
        let reported = track.clock.offset(alignedTo: first.clock)
        guard let own = estimates[track.index], let its = estimates[first.index] else { return reported }
        let estimated = first.clock.offset + own.best - its.best
        let areSettled = own.bySourceTime != nil && its.bySourceTime != nil
        guard let reported else { return areSettled ? estimated : nil }
        let distance = abs(reported - estimated)
        guard distance > (contradictions[track.index] == nil ? Self.contradiction : Self.agreement) else {
            contradictions[track.index] = nil
            return reported
        }
        contradictions[track.index] = distance
        // By the arrival alone a track is placed already. It moves only where earlier reports have put it elsewhere.
        return areSettled || abs(estimated - track.clock.offset) > Self.contradiction ? estimated : nil
    }

    /// Whether a track's reports contradict its packets.
    func disbelieves(_ track: Int) -> Bool { contradictions[track] != nil }

    /// The next track whose reports are to be said to contradict its packets, and by how many ticks they do.
    mutating func claimContradiction() -> (track: Int, ticks: Int64)? {
        for (track, ticks) in contradictions where told.insert(track).inserted { return (track, ticks) }
        return nil
    }

    /// Whether it is to be said that reports are missing. Said once.
    mutating func claimReport(_ tracks: [RTPTrackReceiver], at now: MonotonicTime) -> Bool {
        guard !wasReported else { return false }
        var (active, silent) = (0, 0)
        for track in tracks where track.source != nil {
            guard now - track.began >= Self.timeout else { return false }
            active += 1
            if !track.hasReports { silent += 1 }
        }
        guard active > 1, silent > 0 else { return false }
        wasReported = true
        return true
    }
}
