/// Judges the continuity counters of one packet identifier (ISO/IEC 13818-1, 2.4.3.3). A counter shows a loss only where it counts
/// right. Some senders let it stand still, count packets without payload, or begin anew with each PES packet. Who believes them sees
/// losses in every picture.
///
/// So a counter is believed until it is wrong again and again, and a wrong step is no loss where a habit explains it that the stream
/// has shown before. The first few wrong steps count as losses, because nobody can know better.
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

    /// What a counter begins with, and the most it keeps: one for each right step. It is believed while it has `proof`.
    static let mostCredit = 128
    static let proof = 8
    /// What a wrong step costs. So a counter is believed while fewer than one of 17 packets has a wrong step.
    static let cost = 16
    /// After its credit was lost, it has to be right so often in a row.
    static let secondProof = 2048
    /// So many examples show a habit, or refute it.
    private static let examples = 2
    /// So many wrong steps that are no losses are reported.
    static let complaint = 8

    /// The counter of the newest packet with payload; -1 where nothing is known.
    private var last = -1
    /// A number made of that packet's payload.
    private var payload: UInt64 = 0
    /// The counter of the newest packet, with or without payload.
    private var newest = -1
    private var credit = mostCredit
    private var neededCredit = proof
    /// Steps of 0 between different payloads.
    private var standstills = 0
    /// Packets without payload that did not count, as they should not, and wrong steps that follow from one that did.
    private var empty = (stood: 0, counted: 0)
    /// The counter that the newest PES packet began with, and how many before it in a row began with the same.
    private var start = (counter: -1, run: 0)
    /// Wrong steps that were no losses.
    private(set) var contradictions = 0

    /// Packets before the next one are missing, whatever its counter is.
    mutating func forget() { (last, newest) = (-1, -1) }

    /// A packet without payload.
    mutating func passEmpty(_ counter: UInt8) {
        if last >= 0, Int(counter) == last { empty.stood += 1 }
        newest = Int(counter)
    }

    /// A packet with payload.
    /// - Parameter payload: a number by which the payload is compared with the one before it.
    mutating func judge(_ packet: TransportPacket, payload: UInt64) -> Finding {
        let counter = Int(packet.continuity)
        defer {
            (last, newest, self.payload) = (counter, counter, payload)
            if packet.startsUnit { recordStart(counter) }
        }
        guard last >= 0, !packet.isDiscontinuous else { return .next }
        let step = (counter - last) & 15
        if step == 1 {
            recordRight()
            return .next
        }
        if step == 0, payload == self.payload, standstills == 0 { return .duplicate }
        if step == 0 { standstills += 1 }
        guard credit >= neededCredit, !isExplained(packet, counter) else {
            contradictions += 1
            if neededCredit > Self.proof { credit = 0 }
            return .next
        }
        credit -= Self.cost
        if credit < Self.proof {
            (credit, neededCredit) = (0, Self.secondProof)
            contradictions += Self.complaint
        }
        return .gap((step - 1) & 15)
    }

    private mutating func recordRight() {
        let most = max(Self.mostCredit, neededCredit)
        credit = min(credit + 1, most)
        if credit == Self.secondProof { (credit, neededCredit) = (Self.mostCredit, Self.proof) }
        standstills = 0
    }

    private mutating func recordStart(_ counter: Int) {
        start = (counter, counter == start.counter ? start.run + 1 : 0)
    }

    /// Whether a habit that the stream has shown explains a wrong step.
    private mutating func isExplained(_ packet: TransportPacket, _ counter: Int) -> Bool {
        if newest != last, (newest + 1) & 15 == counter {
            empty.counted += 1
            if empty.counted > Self.examples, empty.stood < Self.examples { return true }
        }
        return packet.startsUnit && start.counter == counter && start.run >= Self.examples
    }
}
