import Media

/// When a peer was last heard of, as far as looks from time to time at a count of its packets can tell: a packet that is
/// new in a look came after the look before. A pure value.
struct PeerHearing {
    /// The peer's last sign of life came at this time or later.
    private(set) var atEarliest: MonotonicTime
    /// The peer's last sign of life came at this time or earlier, or was not to be expected until then.
    private(set) var atLatest: MonotonicTime
    private var lastLook: MonotonicTime
    private var packets: Int64 = 0

    /// - Parameter time: when the connection came about, which is a sign of life.
    init(since time: MonotonicTime) {
        atEarliest = time
        atLatest = time
        lastLook = time
    }

    /// - Parameters:
    ///   - packets: how many have come so far.
    ///   - begin: a time before they were counted.
    ///   - end: a time after they were counted.
    mutating func look(packets: Int64, from begin: MonotonicTime, to end: MonotonicTime) {
        if packets != self.packets {
            self.packets = packets
            atEarliest = lastLook
            atLatest = end
        }
        lastLook = begin
    }

    /// Until this time the peer had no reason to send anything, so that its silence tells nothing.
    mutating func expectNothing(at time: MonotonicTime) { atLatest = time }
}
