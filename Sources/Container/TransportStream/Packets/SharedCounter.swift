/// Finds out whether a sender has one continuity counter for the packets of all streams. A packet's counter then follows that of the
/// packet before it, whichever stream it is of. Counters of their own do that by chance, in one change of 16.
///
/// A pure value.
struct SharedCounter {
    /// So much credit shows the habit. A change to another stream whose counter fits gives one, up to ``mostCredit``.
    private static let proof = 2
    private static let mostCredit = 16
    /// What a change costs whose counter does not fit.
    private static let cost = 4

    private var pid = -1
    private var counter: UInt8 = 0
    private var credit = 0

    /// Packets before the next one are missing.
    mutating func forget() { pid = -1 }

    /// Learns from the next packet of the multiplex.
    /// - Returns: whether the habit explains the packet's counter.
    mutating func follow(_ packet: TransportPacket) -> Bool {
        // The counters of null packets mean nothing.
        guard packet.pid != TransportPacket.nullPID else { return false }
        defer { (pid, counter) = (packet.pid, packet.continuity) }
        guard pid >= 0 else { return false }
        let fits = (counter + 1) & 15 == packet.continuity
        if pid != packet.pid { credit = fits ? min(credit + 1, Self.mostCredit) : max(credit - Self.cost, 0) }
        return fits && credit >= Self.proof
    }
}
