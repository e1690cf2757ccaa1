import Media

/// When a peer was last heard of, and for how long it has been silent, from samples of a count of its packets: a packet that
/// is new in a sample came after the sample before. A pure value.
struct PeerSilence {
    /// The peer's last sign of life came at this time or later.
    private(set) var lastHeard: MonotonicTime
    /// For how long at least nothing came that was to be expected. Two samples that lie further apart than was meant show
    /// that this machine stood still, and perhaps did not receive: that does not count against the peer.
    private(set) var duration: Nanoseconds = .zero
    private var lastSample: (begin: MonotonicTime, end: MonotonicTime)
    private var packets: Int64 = 0
    private let longestBetweenSamples: Nanoseconds

    /// - Parameters:
    ///   - time: when the connection came about, which is a sign of life.
    ///   - interval: how often samples are meant to be taken.
    init(since time: MonotonicTime, samplingEvery interval: Nanoseconds) {
        lastHeard = time
        lastSample = (time, time)
        longestBetweenSamples = interval * 2
    }

    /// - Parameters:
    ///   - packets: how many have come so far.
    ///   - begin: a time before they were counted.
    ///   - end: a time after they were counted.
    mutating func sample(packets: Int64, from begin: MonotonicTime, to end: MonotonicTime) {
        if packets != self.packets {
            self.packets = packets
            lastHeard = lastSample.begin
            duration = .zero
        } else {
            duration += min(begin - lastSample.end, longestBetweenSamples)
        }
        lastSample = (begin, end)
    }

    /// Until now the peer had no reason to send anything, so its silence means nothing.
    mutating func expectNothing() { duration = .zero }
}
