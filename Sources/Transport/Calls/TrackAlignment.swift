import Media

/// Puts a session's tracks on one timeline.
///
/// Time stamps of each track count from anywhere. Sender reports tell which of them belong to the same moment of the sender's
/// wall clock. Without them, what was sent at the same time belongs together: packets are compared by their source times, which
/// leave out what the network delayed, and before those are known by their arrival.
///
/// The first track keeps its place; the others move.
struct TrackAlignment: Sendable {
    /// Without reports for so long there will be none.
    static let timeout = Nanoseconds.seconds(6)
    /// Tracks that lie apart by less stay where they are; ticks.
    static let tolerance: Int64 = 450
    /// Times begin here, so that none is negative.
    private static let start = 10 * MediaTime.ticksPerSecond

    private var epoch: MonotonicTime?
    private var bothSince: MonotonicTime?
    private var wasReported = false
    /// By track: what its offset would be by its newest packet's source time.
    private var bySourceTime: [Int: Int64] = [:]

    init() {}

    /// A track's source begins. Its first packet lies at the time of its arrival.
    mutating func begin(_ receiver: RTPTrackReceiver, timestamp: UInt32, at arrival: MonotonicTime) {
        let epoch = epoch ?? arrival
        self.epoch = epoch
        bySourceTime[receiver.index] = nil
        receiver.clock.place(timestamp, arrival: arrival, at: Self.start + MediaTime.ticks(in: arrival - epoch))
    }

    /// A packet has come.
    mutating func observe(_ receiver: RTPTrackReceiver, at arrival: MonotonicTime) {
        guard let epoch, let newest = receiver.clock.newest, let time = receiver.clock.newestSourceTime else { return }
        bySourceTime[receiver.index] = Self.start + MediaTime.ticks(in: time - epoch) - newest
    }

    /// Moves the later tracks to where they belong.
    mutating func align(_ tracks: [RTPTrackReceiver]) {
        guard let first = tracks.first(where: { $0.source != nil }) else { return }
        for other in tracks where other !== first && other.source != nil {
            var wanted = other.clock.offset(alignedTo: first.clock)
            if wanted == nil, let mine = bySourceTime[other.index], let its = bySourceTime[first.index] {
                wanted = first.clock.offset + mine - its
            }
            if let wanted, abs(wanted - other.clock.offset) > Self.tolerance { other.clock.offset = wanted }
        }
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
