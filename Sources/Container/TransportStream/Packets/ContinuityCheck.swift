/// Judges the continuity counters of one packet identifier (ISO/IEC 13818-1, 2.4.3.3). A counter shows a loss only where it counts
/// right. Some senders let it stand still, count packets without payload, or begin anew with each PES packet. Who believes them sees
/// losses in every picture.
///
/// So a counter is believed while it is right more often than wrong, and until it is wrong again and again. A wrong step is no loss
/// where a habit explains it which nothing of the stream has contradicted. That holds from the first packet on: a stream of sound
/// counters contradicts each of the habits within a few packets, and one of wrong counters never does.
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
    /// The counter of the newest packet, with or without payload, and how many without have come since the last one with it.
    private var newest = -1
    private var emptyRun = 0
    /// The last packet with payload had room left, as the last one of a PES packet does.
    private var wasStuffed = false
    private var credit = mostCredit
    private var neededCredit = proof
    /// Steps of 0 between different payloads.
    private var standstills = 0
    /// Right steps, and wrong ones that no habit explains.
    private var steps = (right: 0, wrong: 0)
    /// Packets without payload that did not count, as they should not, and wrong steps that follow from one that did.
    private var empty = (stood: 0, counted: 0)
    /// The counter that the newest PES packet began with, how many before it in a row began with the same, and whether any did not.
    private var start = (counter: -1, run: 0, hasChanged: false)
    /// Wrong steps that were no losses.
    private(set) var contradictions = 0

    /// Packets before the next one are missing, whatever its counter is.
    mutating func forget() { (last, newest) = (-1, -1) }

    /// A packet without payload.
    mutating func passEmpty(_ counter: UInt8) {
        if last >= 0, Int(counter) == last { empty.stood += 1 }
        newest = Int(counter)
        emptyRun += 1
    }

    /// A packet with payload.
    /// - Parameters:
    ///   - payload: a number by which the payload is compared with the one before it.
    ///   - isShared: the counter fits where one counts the packets of all streams (``SharedCounter``).
    ///   - isLengthReached: the PES packet before has as many bytes as it says.
    mutating func judge(
        _ packet: TransportPacket, payload: UInt64, isShared: Bool = false, isLengthReached: Bool = false
    ) -> Finding {
        let counter = Int(packet.continuity)
        defer {
            (last, newest, self.payload) = (counter, counter, payload)
            (emptyRun, wasStuffed) = (0, packet.isStuffed)
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
        let isBetweenUnits = packet.startsUnit && (wasStuffed || isLengthReached)
        guard !isShared, !isExplained(packet, counter, isBetweenUnits), isBelieved(step) else {
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

    /// Whether a wrong step that no habit explains is a loss.
    private mutating func isBelieved(_ step: Int) -> Bool {
        steps.wrong += 1
        // The first step of a stream may be a loss. Where it is none at all, the counter seems to stand still.
        if credit >= neededCredit, steps.wrong <= steps.right + (step == 0 ? 0 : 1) { return true }
        if steps.wrong >= Self.complaint { neededCredit = Self.secondProof }
        return false
    }

    private mutating func recordRight() {
        let most = max(Self.mostCredit, neededCredit)
        credit = min(credit + 1, most)
        steps.right += 1
        if credit == Self.secondProof {
            (credit, neededCredit) = (Self.mostCredit, Self.proof)
            steps.wrong = 0
        }
        standstills = 0
    }

    private mutating func recordStart(_ counter: Int) {
        let isSame = counter == start.counter
        start = (counter, isSame ? start.run + 1 : 0, start.hasChanged || !isSame && start.counter >= 0)
    }

    /// Whether a habit explains a wrong step that the stream has shown, or that nothing has contradicted so far.
    /// - Parameter isBetweenUnits: the PES packet before is whole, and another one begins.
    private mutating func isExplained(_ packet: TransportPacket, _ counter: Int, _ isBetweenUnits: Bool) -> Bool {
        if emptyRun > 0, (newest - last) & 15 == emptyRun, (newest + 1) & 15 == counter {
            empty.counted += 1
            // Inside a PES packet the first one may as well be a loss just before a packet without payload.
            if empty.stood == 0, isBetweenUnits || empty.counted > 1 { return true }
            if empty.counted > Self.examples, empty.stood < Self.examples { return true }
        }
        guard packet.startsUnit else { return false }
        // What comes before the first PES packet is of no use, whole or not.
        if start.counter < 0 { return true }
        return start.counter == counter && (start.run >= Self.examples || !start.hasChanged)
    }
}
