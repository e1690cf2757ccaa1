import Bitstream

/// The decoder's books. Every access unit that went in comes out as a picture or is reported lost, exactly once, with
/// what is known of damage to its references. A pure value; the decoder reports to it what happened.
///
/// Units are numbered in decoding order. A picture may leave long after its unit went in (B-frames), so damage is kept
/// for each unit. It starts at a unit, taints all that follow in decoding order, and ends at the next clean start (an
/// entry point or recovery point). Pictures that are shown before that clean start stay tainted.
struct UnitLedger {
    private struct Entry {
        var id: Int64 = 0
        var number: Int64 = -1
        var isPending = false
        var isReference = false
        var isDamaged = false
        var isTainted = false
        var isCleanStart = false
        /// The decoder refused it.
        var hasFailed = false
        /// It came out as a picture of two fields.
        var gaveFields = false
        /// Why it is lost; nil while it may come out.
        var fault: CodecFault? = nil
        var faultIfLost = CodecFault.undecodable
        var quantiser: Float? = nil
    }

    /// More units than libavcodec ever holds back (16 pictures of delay, twice for fields, and runs of B-frames).
    private static let capacity = 64
    private static let oldestPlausible: Int64 = 40

    private var entries = InlineArray<64, Entry>(repeating: Entry())
    private var nextNumber: Int64 = 0
    /// Units that have neither come out nor been found lost.
    private(set) var pendingCount = 0
    /// Units that are lost and not yet reported.
    private(set) var lostCount = 0
    /// A clean start has come, or a picture without one.
    private var hasStarted = false
    private var isTainted = false
    /// Reference pictures left until a gradual refresh is complete.
    private var refreshCountdown: Int?
    /// The clean start that ended the last damage, until it has come out; -1 otherwise.
    private var pendingCleanStart: Int64 = -1

    /// A unit goes into the decoder.
    /// - Returns: the number that its picture will carry.
    mutating func sent(id: Int64, _ summary: AccessUnitSummary, _ flags: UnitFlags) -> Int64 {
        let number = nextNumber
        nextNumber += 1
        let slot = Int(number % Int64(Self.capacity))
        precondition(!entries[slot].isPending, "call next() until it returns nil before the next decode()")
        if flags.contains(.followsGap) || summary.followsGap { isTainted = isTainted || hasStarted }
        let isClean = isCleanStart(summary)
        if isClean {
            if isTainted { pendingCleanStart = number }
            isTainted = false
            refreshCountdown = nil
            hasStarted = true
        }
        entries[slot] = Entry(
            id: id, number: number, isPending: true, isReference: summary.isReference,
            isDamaged: flags.contains(.isDamaged), isTainted: isTainted, isCleanStart: isClean,
            faultIfLost: summary.isHidden ? .hidden : hasStarted ? .undecodable : .awaitingKeyframe,
            quantiser: summary.quantiser)
        pendingCount += 1
        if flags.contains(.isDamaged), summary.isReference || !summary.hasSlice { isTainted = true }
        return number
    }

    /// A unit was skipped and does not go into the decoder.
    mutating func skipped(id: Int64, _ fault: CodecFault = .skipped) {
        let slot = Int(nextNumber % Int64(Self.capacity))
        precondition(!entries[slot].isPending, "call next() until it returns nil before the next decode()")
        entries[slot] = Entry(id: id, number: nextNumber, isPending: true)
        nextNumber += 1
        pendingCount += 1
        lose(slot, fault)
    }

    /// The decoder refused the unit, or concealed so much that references to it are wrong.
    mutating func failed(_ number: Int64) {
        guard let slot = slot(of: number) else { return }
        entries[slot].hasFailed = true
        if hasStarted { taintAfter(slot) }
    }

    /// A picture came out.
    /// - Parameter isInterlaced: it has two fields, and the next unit may be its second one.
    /// - Returns: the unit's id, whether others may refer to it, what is wrong with the picture and what the headers say of its
    ///   quantiser; nil when the unit was already reported lost.
    mutating func cameOut(
        _ number: Int64, isKeyframe: Bool, isInterlaced: Bool, wasConcealed: Bool, lacksReference: Bool
    ) -> (id: Int64, isReference: Bool, damage: PictureDamage, quantiser: Float?)? {
        guard let slot = slot(of: number), entries[slot].isPending, entries[slot].fault == nil else { return nil }
        let entry = entries[slot]
        entries[slot].isPending = false
        entries[slot].gaveFields = isInterlaced
        pendingCount -= 1
        hasStarted = true
        var damage: PictureDamage = []
        if wasConcealed || entry.isDamaged { damage.insert(.concealed) }
        if entry.isTainted || lacksReference || (pendingCleanStart >= 0 && number != pendingCleanStart) {
            damage.insert(.reference)
        }
        if number == pendingCleanStart { pendingCleanStart = -1 }
        if wasConcealed || lacksReference, entry.isReference { taintAfter(slot) }
        if isKeyframe { loseAll(before: number) }
        return (entry.id, entry.isReference, damage, entry.quantiser)
    }

    /// The decoder has returned all that it can for now.
    /// - Parameters:
    ///   - holdsNothing: it keeps no picture back, so that what has not come out never will. Only the newest unit may
    ///     be a field that waits for the other.
    ///   - isEnd: nothing more will come out at all.
    mutating func settled(holdsNothing: Bool, isEnd: Bool) {
        if isEnd {
            loseAll(before: nextNumber)
        } else if holdsNothing {
            let newest = slot(of: nextNumber - 1)
            loseAll(before: newest.map { entries[$0].hasFailed } ?? true ? nextNumber : nextNumber - 1)
        } else if pendingCount > 0 {
            loseAll(before: nextNumber - Self.oldestPlausible)
        }
    }

    /// Reports the oldest unit that is lost and not yet reported.
    mutating func popLost() -> (id: Int64, fault: CodecFault)? {
        guard lostCount > 0 else { return nil }
        for number in max(0, nextNumber - Int64(Self.capacity))..<nextNumber {
            let slot = Int(number % Int64(Self.capacity))
            guard entries[slot].isPending, let fault = entries[slot].fault else { continue }
            entries[slot].isPending = false
            lostCount -= 1
            return (entries[slot].id, fault)
        }
        return nil
    }

    private mutating func isCleanStart(_ summary: AccessUnitSummary) -> Bool {
        if summary.isCleanStart { return true }
        // Another refresh may be complete sooner.
        if isTainted, let new = summary.recoveryFrameCount { refreshCountdown = min(refreshCountdown ?? new, new) }
        guard let count = refreshCountdown, summary.isReference else { return false }
        refreshCountdown = count - 1
        return count <= 0
    }

    private func slot(of number: Int64) -> Int? {
        guard number >= 0 else { return nil }
        let slot = Int(number % Int64(Self.capacity))
        return entries[slot].number == number ? slot : nil
    }

    /// Everything decoded after this unit is tainted, unless a clean start lies between.
    private mutating func taintAfter(_ slot: Int) {
        let start = entries[slot].number
        var number = start + 1
        while number < nextNumber {
            guard let later = self.slot(of: number) else { break }
            if entries[later].isCleanStart { return }
            entries[later].isTainted = true
            number += 1
        }
        isTainted = true
    }

    private mutating func loseAll(before number: Int64) {
        guard pendingCount > 0 else { return }
        for slot in 0..<Self.capacity
        where entries[slot].isPending && entries[slot].fault == nil && entries[slot].number < number {
            lose(slot)
        }
    }

    private mutating func lose(_ slot: Int, _ fault: CodecFault? = nil) {
        guard entries[slot].fault == nil else { return }
        let before = self.slot(of: entries[slot].number - 1)
        let isSecondField = before.map { entries[$0].gaveFields } ?? false
        entries[slot].fault = fault ?? (isSecondField ? .secondField : entries[slot].faultIfLost)
        pendingCount -= 1
        lostCount += 1
    }
}
