/// Judges the continuity counters of one packet identifier (ISO/IEC 13818-1, 2.4.3.3). A counter shows a loss only where it counts
/// right. Some senders let it stand still, count packets without payload, begin anew with each PES packet, or have one counter for
/// all identifiers. Who believes them sees losses in every picture.
///
/// So a counter has to prove itself first, and a wrong step that such a habit explains is no loss until the stream has shown that it
/// does not have the habit. A few right packets show that. A counter that is wrong again and again loses its credit.
///
/// A pure value.
struct ContinuityCheck {
    enum Finding: Equatable {
        /// The packet follows the one before it, as far as anybody can know.
        case next
        /// The packet before it once more.
        case duplicate
        /// So many packets at least are missing before it.
        case gap(Int)
    }

    /// The counter is believed from so many right steps on. It keeps credit for `mostCredit` of them.
    static let proof = 8
    static let mostCredit = 64
    /// What a wrong step costs. So a counter is believed while fewer than one of 17 packets has a wrong step.
    static let cost = 16
    /// After its credit was lost, it has to be right so often in a row.
    static let secondProof = 2048
    /// So many examples refute a habit.
    private static let refutation = 2
    /// So many wrong steps that are no losses are reported.
    static let complaint = 8

    /// The counter of the newest packet with payload; -1 where nothing is known.
    private var last = -1
    /// A number made of that packet's payload.
    private var payload: UInt64 = 0
    /// The counter of the newest packet, with or without payload.
    private var newest = -1
    private var credit = 0
    private var neededCredit = proof
    /// Steps of 0 between different payloads.
    private var standstills = 0
    /// Packets without payload that did not count, as they should not.
    private var emptyOnesThatStood = 0
    /// The counter that PES packets began with lately, how often in a row, and how often they began with what follows instead.
    private var start = (counter: -1, run: 0, refuted: 0)
    /// Steps that were right although packets of other identifiers had counted on in between.
    private var ownCounts = 0
    /// Wrong steps that were no losses.
    private(set) var contradictions = 0

    /// Packets before the next one are missing, whatever its counter is.
    mutating func forget() { (last, newest) = (-1, -1) }

    /// A packet without payload.
    mutating func passEmpty(_ counter: UInt8) {
        if last >= 0, Int(counter) == last { emptyOnesThatStood += 1 }
        newest = Int(counter)
    }

    /// A packet with payload.
    /// - Parameters:
    ///   - payload: a number by which the payload is compared with the one before it.
    ///   - others: the counter of the packet before it, where that has another packet identifier; nil where it has the same.
    mutating func judge(_ packet: TransportPacket, payload: UInt64, others: UInt8?) -> Finding {
        let counter = Int(packet.continuity)
        defer {
            (last, newest, self.payload) = (counter, counter, payload)
            if packet.startsUnit { recordStart(counter) }
        }
        guard last >= 0, !packet.isDiscontinuous else { return .next }
        let step = (counter - last) & 15
        if step == 1 {
            recordRight(packet, counter, others)
            return .next
        }
        if step == 0, payload == self.payload, standstills == 0 { return .duplicate }
        if step == 0 { standstills += 1 }
        guard credit >= neededCredit, !isExplained(packet, counter, others) else {
            contradictions += 1
            if neededCredit > Self.proof { credit = 0 }
            return .next
        }
        credit -= Self.cost
        if credit < 0 {
            (credit, neededCredit) = (0, Self.secondProof)
            contradictions += Self.complaint
        }
        return .gap((step - 1) & 15)
    }

    private mutating func recordRight(_ packet: TransportPacket, _ counter: Int, _ others: UInt8?) {
        let most = max(Self.mostCredit, neededCredit)
        credit = min(credit + 1, most)
        if credit == Self.secondProof { (credit, neededCredit) = (Self.mostCredit, Self.proof) }
        standstills = 0
        if packet.startsUnit, start.counter >= 0, counter != start.counter { start.refuted += 1 }
        if let others, (Int(others) + 1) & 15 != counter { ownCounts += 1 }
    }

    private mutating func recordStart(_ counter: Int) {
        start = (counter, counter == start.counter ? start.run + 1 : 0, start.refuted)
    }

    /// Whether a habit explains a wrong step that the stream may have.
    private func isExplained(_ packet: TransportPacket, _ counter: Int, _ others: UInt8?) -> Bool {
        if newest != last, (newest + 1) & 15 == counter, emptyOnesThatStood < Self.refutation { return true }
        if packet.startsUnit, start.refuted < Self.refutation || start.counter == counter && start.run >= 2 { return true }
        if let others, (Int(others) + 1) & 15 == counter, ownCounts < Self.refutation { return true }
        return false
    }
}
