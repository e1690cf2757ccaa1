import Media

/// When a peer was last heard of, and for how long it has been silent, as far as looks from time to time at a count of
/// its packets can tell: a packet that is new in a look came after the look before. A pure value.
struct PeerHearing {
    /// The peer's last sign of life came at this time or later.
    private(set) var atEarliest: MonotonicTime
    /// For how long at least nothing came that was to be expected. Between two looks that lie further apart than was
    /// meant this machine stood still, and perhaps whatever takes packets in: that is not held against the peer.
    private(set) var silence: Nanoseconds = .zero
    private var lastLook: (begin: MonotonicTime, end: MonotonicTime)
    private var packets: Int64 = 0
    private let longestBetweenLooks: Nanoseconds

    /// - Parameters:
    ///   - time: when the connection came about, which is a sign of life.
    ///   - interval: how often looks are meant to be.
    init(since time: MonotonicTime, lookingEvery interval: Nanoseconds) {
        atEarliest = time
        lastLook = (time, time)
        longestBetweenLooks = interval * 2
    }

    /// - Parameters:
    ///   - packets: how many have come so far.
    ///   - begin: a time before they were counted.
    ///   - end: a time after they were counted.
    mutating func look(packets: Int64, from begin: MonotonicTime, to end: MonotonicTime) {
        if packets != self.packets {
            self.packets = packets
            atEarliest = lastLook.begin
            silence = .zero
        } else {
            silence += min(begin - lastLook.end, longestBetweenLooks)
        }
        lastLook = (begin, end)
    }

    /// Until now the peer had no reason to send anything, so that its silence tells nothing.
    mutating func expectNothing() { silence = .zero }
}
