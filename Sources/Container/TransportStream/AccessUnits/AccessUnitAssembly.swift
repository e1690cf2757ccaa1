import Bitstream
import Media

/// Puts the main video's access units together and decides when one is complete. See docs/design/access-units.md.
struct AccessUnitAssembly {
    private enum Phase {
        /// No unit is begun; bytes are dropped until one begins.
        case searching
        /// A unit was handed on before the next began: what comes must begin the next.
        case handedOn
        /// A unit is in the making.
        case open
    }

    let stream: Int
    private let storage = UnitStorage(capacity: 256 * 1024)
    private var scanner = AccessUnitScanner()
    private(set) var trust = EndOfUnitTrust()
    private var phase = Phase.searching
    /// The parameters that were told last.
    private(set) var format: SequenceParameterSet?

    /// Signs of the newest packet, not yet confirmed.
    private var signs: EndSigns = []
    /// Where the newest PES payload begins in the storage, until it is known what it begins with; -1 afterwards.
    private var boundary = -1
    private var boundarySigns: EndSigns = []
    /// The unit is complete by this evidence; it goes out when the message is used up without a contradiction.
    private var ready: EndEvidence?
    /// How the end of the newest unit was known.
    private var newestEvidence = EndEvidence.nextStart
    /// Bytes of the unit that the newest signs may have ended.
    private var size = 0
    /// When the unit is taken as complete if nothing more comes.
    private(set) var deadline: MonotonicTime?

    /// Stamps of a PES packet in which no unit has begun yet.
    private var pending: UnitStamp?
    private var stamp = UnitStamp()
    private var first = MessageTime(arrival: MonotonicTime(nanoseconds: 0), source: nil)
    /// Of the newest packet.
    private var last = MessageTime(arrival: MonotonicTime(nanoseconds: 0), source: nil)
    private var sourceBeforeLast: MonotonicTime?
    /// The latest arrival among the unit's packets before the newest. A packet that was lost and came late holds up those
    /// behind it: the last to come need not be the last in order.
    private var latest = MonotonicTime(nanoseconds: 0)
    /// Where the newest packet's bytes begin.
    private var packetStart = 0
    private var damage: StreamUnit.Damage = []
    /// Where bytes are missing in the storage; -1 when they are not.
    private var lossOffset = -1
    private var followsTorn = false
    private var isAfterLoss = false
    private var serial = 0

    init(stream: Int) { self.stream = stream }

    var parameterSets: ParameterSets { scanner.parameterSets }

    // MARK: What the packet layer tells

    /// A packet with payload begins.
    mutating func beginPacket(
        startsPES: Bool, stuffed: Bool, _ context: inout StreamContext, _ handler: PacketizedStream.Handler
    ) {
        deadline = nil
        if startsPES {
            if ready != nil { handOnReady(&context, handler) }
            boundary = storage.count
            boundarySigns = signs
        } else {
            if !isAfterLoss {
                // It goes on with the PES packet: whatever announced an end was wrong. (What a declared length
                // excludes is ignored by the packet layer.)
                trust.judge(signs.subtracting(.length), wasRight: false)
                if phase == .open {
                    trust.noteContinuation(
                        stuffed: signs.contains(.stuffing), pause: context.message.arrival - newestEnd.arrival)
                }
            }
            ready = nil
        }
        signs = []
        latest = max(latest, last.arrival)
        sourceBeforeLast = last.source
        last = context.message
        packetStart = storage.count
    }

    mutating func beginPES(_ stamp: UnitStamp) { pending = stamp }

    mutating func append(
        _ bytes: UnsafeRawBufferPointer, _ context: inout StreamContext, _ handler: PacketizedStream.Handler
    ) {
        guard unsafe storage.append(bytes, limit: context.unitLimit) else {
            let picture = scanner.picture
            let fault = StreamFault.oversizedUnit(
                presentation: stamp.presentation,
                isKeyframe: picture.isInstantaneousRefresh || picture.hasRecoveryPoint)
            context.counters.oversizedUnits += 1
            dropUnit()
            handler(.fault(fault, isMainVideo: true))
            return
        }
        scan(&context, handler)
        isAfterLoss = false
    }

    mutating func endPacket(stuffed: Bool, _ context: StreamContext) {
        guard stuffed else { return }
        signs.insert(.stuffing)
        if phase == .open, scanner.picture.hasSlice, context.believesSigns {
            ready = trust.accepts(signs, scanner.picture)
        }
    }

    mutating func lengthReached(
        declared: Int, _ context: inout StreamContext, _ handler: PacketizedStream.Handler
    ) {
        // A length near the field's end is what a muxer writes that spreads a large unit over several packets.
        guard declared <= 65_000 else { return }
        signs.insert(.length)
        guard phase == .open, scanner.picture.hasSlice, damage.isEmpty, context.believesSigns else { return }
        if let evidence = trust.accepts(.length, scanner.picture) { handOn(evidence, &context, handler) }
    }

    /// The message is used up; its last packet was of this stream and the sender did not fill it.
    mutating func messageFlushed(_ context: inout StreamContext, _ handler: PacketizedStream.Handler) {
        signs.insert(.flush)
        if phase == .open { size = storage.count }
        guard context.believesSigns, phase == .open, scanner.picture.hasSlice else { return }
        if damage.isEmpty, trust.acceptsFlush(scanner.picture, size: size) {
            handOn(.flush, &context, handler)
        } else if let quiet = trust.quiet(after: scanner.picture) {
            deadline = newestEnd.arrival + quiet
        }
    }

    mutating func messageEnded(_ context: inout StreamContext, _ handler: PacketizedStream.Handler) {
        if ready != nil { handOnReady(&context, handler) }
    }

    mutating func timePassed(
        _ now: MonotonicTime, _ context: inout StreamContext, _ handler: PacketizedStream.Handler
    ) {
        guard let deadline, deadline <= now else { return }
        handOn(.timer, &context, handler)
    }

    mutating func noteLoss() {
        signs = []
        boundarySigns = []
        ready = nil
        deadline = nil
        isAfterLoss = true
        lossOffset = storage.count
        switch phase {
        case .open: damage.insert(.packetsLost)
        case .handedOn:
            trust.noteUnjudged(newestEvidence)
            phase = .searching
        case .searching: break
        }
    }

    mutating func finish(_ context: inout StreamContext, _ handler: PacketizedStream.Handler) {
        if phase == .open, scanner.picture.hasSlice {
            if ready == nil { damage.insert(.truncated) }
            handOn(.endOfStream, &context, handler)
        }
        dropUnit()
        // Whoever sends next may have other habits.
        trust = EndOfUnitTrust()
    }

    // MARK: Units

    /// When a unit was here, and was sent, that ends with the newest packet.
    private var newestEnd: MessageTime { MessageTime(arrival: max(latest, last.arrival), source: last.source) }

    private mutating func scan(
        isEnd: Bool = false, _ context: inout StreamContext, _ handler: PacketizedStream.Handler
    ) {
        if phase == .handedOn, !mayBeginUnit() { tear(&context, handler) }
        while true {
            switch unsafe scanner.scan(storage.bytes, isEnd: isEnd) {
            case .nothing:
                if phase == .searching { skip(scanner.position, &context) }
                return
            case .unitStart(let at):
                _ = judgeBoundary(unitBeganAt: at)
                // What stands between two units after an early end (an end of sequence, filler) goes with the second.
                if phase == .searching, at > 0 {
                    context.counters.orphanBytes += at
                    scanner.discard(before: at)
                    shift(at)
                }
                begin(context)
            case .unitEnd(let at):
                let isNextPES = judgeBoundary(unitBeganAt: at)
                if phase == .open {
                    if damage.isEmpty { trust.noteComplete(scanner.picture) }
                    let end = at <= packetStart ? MessageTime(arrival: latest, source: sourceBeforeLast) : newestEnd
                    deliver(at, isNextPES ? .nextStart : .delimiter, end, &context, handler)
                    cut(at)
                } else {
                    skip(at, &context)
                }
                // The scanner finds the next unit's start again, at 0.
                phase = .handedOn
            case .continuation(let at):
                if boundary >= 0, at >= boundary { _ = judgeBoundary(unitBeganAt: -1) }
                if phase == .handedOn { tear(&context, handler) }
            }
        }
    }

    /// Tells the learner whether the newest PES packet began with a unit, once that is known.
    /// - Returns: whether it did, and was not known to before.
    private mutating func judgeBoundary(unitBeganAt at: Int) -> Bool {
        guard boundary >= 0 else { return false }
        // A few zeros may stand before a start code.
        let wasRight = at >= 0 && at <= boundary + 4
        trust.judge(boundarySigns, wasRight: wasRight)
        if wasRight, boundarySigns.contains(.flush) { trust.noteFlushed(size: size) }
        boundary = -1
        boundarySigns = []
        return wasRight
    }

    /// After an early end only a start code, or zeros before one, may come.
    private func mayBeginUnit() -> Bool {
        var zeros = 0
        for unsafe byte in unsafe storage.bytes {
            if byte != 0 { return byte == 1 && zeros >= 2 }
            zeros += 1
        }
        return true
    }

    private mutating func tear(_ context: inout StreamContext, _ handler: PacketizedStream.Handler) {
        _ = judgeBoundary(unitBeganAt: -1)
        context.counters.tornUnits += 1
        followsTorn = true
        phase = .searching
        handler(.torn(serial: serial - 1))
    }

    private mutating func begin(_ context: StreamContext) {
        phase = .open
        stamp = pending ?? UnitStamp()
        pending = nil
        first = context.message
        latest = context.message.arrival
        // A start code may have been put together from both sides of a loss.
        damage = lossOffset > 0 ? .packetsLost : []
    }

    private mutating func handOnReady(_ context: inout StreamContext, _ handler: PacketizedStream.Handler) {
        guard let evidence = ready else { return }
        ready = nil
        handOn(evidence, &context, handler)
    }

    private mutating func handOn(
        _ evidence: EndEvidence, _ context: inout StreamContext, _ handler: PacketizedStream.Handler
    ) {
        deadline = nil
        scan(isEnd: true, &context, handler)
        guard phase == .open, scanner.picture.hasSlice else { return }
        if damage.isEmpty { trust.noteComplete(scanner.picture) }
        deliver(storage.count, evidence, newestEnd, &context, handler)
        cut(storage.count)
        phase = .handedOn
    }

    /// Hands on the first `count` bytes.
    private mutating func deliver(
        _ count: Int, _ evidence: EndEvidence, _ end: MessageTime, _ context: inout StreamContext,
        _ handler: PacketizedStream.Handler
    ) {
        let picture = scanner.picture
        if let active = scanner.parameterSets.sequence(ofPicture: picture.parameterSet), active != format {
            format = active
            handler(.format(active))
        }
        let access: StreamUnit.RandomAccess =
            picture.isInstantaneousRefresh ? .instantaneousRefresh : picture.hasRecoveryPoint ? .recoveryPoint : .none
        if access != .none { followsTorn = false }
        if followsTorn { damage.insert(.followsTorn) }
        context.counters.unitsByEvidence[evidence] += 1
        if !damage.isEmpty { context.counters.damagedUnits += 1 }
        let unit = unsafe StreamUnit(
            stream: stream, isMainVideo: true, serial: serial,
            bytes: UnsafeRawBufferPointer(rebasing: storage.bytes[..<count]), presentation: stamp.presentation,
            decode: stamp.decode, firstArrival: first.arrival, lastArrival: end.arrival,
            lastSourceTime: end.source, randomAccess: access, isDiscontinuity: stamp.isDiscontinuity, damage: damage,
            evidence: evidence)
        handler(.unit(unit))
        serial += 1
        size = count
        newestEvidence = evidence
    }

    private mutating func cut(_ at: Int) {
        scanner.cut(at: at)
        shift(at)
    }

    /// Removes the first bytes of the storage.
    private mutating func shift(_ at: Int) {
        storage.removeFirst(at)
        packetStart = max(0, packetStart - at)
        lossOffset = lossOffset > at ? lossOffset - at : -1
        if boundary >= 0 { boundary = max(0, boundary - at) }
    }

    /// Drops bytes that belong to no unit.
    private mutating func skip(_ count: Int, _ context: inout StreamContext) {
        guard count > 0 else { return }
        context.counters.orphanBytes += count
        cut(count)
    }

    private mutating func dropUnit() {
        cut(storage.count)
        phase = .searching
        pending = nil
        ready = nil
        deadline = nil
        signs = []
        boundary = -1
        boundarySigns = []
        damage = []
    }
}
