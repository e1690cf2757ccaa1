import Bitstream
import Media

/// Puts the main video's access units together and decides when one is complete. docs/design/access-units.md explains
/// how.
struct AccessUnitAssembly {
    private enum Phase {
        /// No unit is begun; bytes are dropped until one begins.
        case searching
        /// A unit was delivered before the next began: what comes must begin the next.
        case delivered
        /// A unit is begun and not complete.
        case open
    }

    /// A PES packet shows within so many bytes what it begins with.
    private static let mostBeforeUnit = 64

    let stream: Int
    let codec: VideoCodec
    private let storage = UnitStorage(capacity: 256 * 1024)
    private var scanner: AccessUnitScanner
    private(set) var trust = EndOfUnitTrust()
    /// The lengths of some PES packets were too small.
    private var hasWrongLengths = false
    private var phase = Phase.searching
    /// The parameters that were reported last.
    private(set) var format: VideoParameters?

    /// Signs of the newest packet, not yet confirmed.
    private var signs: EndSigns = []
    /// Where the newest PES payload begins in the storage, until it is known what it begins with; -1 afterwards.
    private var boundary = -1
    private var boundarySigns: EndSigns = []
    /// What the newest PES packet said of its end, where that was reached, and what the one before the boundary said.
    private var declared = EndOfUnitTrust.Declared()
    private var declaredBefore = EndOfUnitTrust.Declared()
    /// The newest PES packet began with a unit, or with the second field of one.
    private var beginsUnit = false
    private var mayBeginField = false
    /// The unit is complete by this evidence. It is delivered at the message's end unless the message contradicts it.
    private var ready: EndEvidence?
    /// How the end of the newest unit was known.
    private var newestEvidence = EndEvidence.nextStart
    /// Bytes of the unit that the newest signs may have ended.
    private var size = 0
    /// After an early end: how many zeros have come since. Whatever comes is read once.
    private var leadingZeros = 0
    /// When the unit counts as complete if nothing more comes.
    private(set) var deadline: MonotonicTime?

    /// Stamps of a PES packet in which no unit has begun yet.
    private var pending: UnitStamp?
    private var stamp = UnitStamp()
    private var first = MessageTime(arrival: MonotonicTime(nanoseconds: 0), source: nil)
    /// Of the newest packet.
    private var last = MessageTime(arrival: MonotonicTime(nanoseconds: 0), source: nil)
    private var sourceBeforeLast: MonotonicTime?
    /// The latest arrival among the unit's packets before the newest. A packet that was lost and came late delays those
    /// behind it, so that the last to arrive need not be the last in order.
    private var latest = MonotonicTime(nanoseconds: 0)
    /// Where the newest packet's bytes begin.
    private var packetStart = 0
    private var damage: StreamUnit.Damage = []
    /// Where bytes are missing in the storage; -1 when none are.
    private var lossOffset = -1
    private var followsTorn = false
    private var isAfterLoss = false
    private var serial = 0

    init(stream: Int, codec: VideoCodec) {
        self.stream = stream
        self.codec = codec
        scanner = AccessUnitScanner(codec)
    }

    /// The newest parameters that could be read, whether or not a picture has come with them.
    var newestParameters: VideoParameters? { scanner.newestParameters }
    /// Why parameters could not be read.
    var lastFault: BitstreamFault? { scanner.lastFault }
    var keptSets: KeptParameterSets { scanner.keptSets }

    // MARK: What the packet layer reports

    /// A packet with payload begins.
    mutating func beginPacket(
        startsPES: Bool, stuffed: Bool, _ context: inout StreamContext, _ handler: PacketizedStream.Handler
    ) {
        deadline = nil
        if startsPES {
            if ready != nil { deliverReady(&context, handler) }
            // A whole PES packet came in which no unit began.
            if boundary >= 0, storage.count - boundary > Self.mostBeforeUnit { _ = judgeBoundary(unitBeganAt: -1) }
            boundary = storage.count
            // Behind one field of a frame, signs say whether the packet has ended, and not the unit.
            boundarySigns = scanner.picture.isLoneField ? [] : signs
            declaredBefore = declared
            mayBeginField = scanner.picture.isLoneField
            beginsUnit = mayBeginField
        } else {
            if !isAfterLoss {
                // It continues the PES packet: whatever announced an end was wrong. (The packet layer ignores what lies
                // beyond a declared length.)
                trust.judge(signs.subtracting(.length), wasRight: false)
                if phase == .open {
                    trust.recordContinuation(
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

    mutating func beginPES(_ stamp: UnitStamp) {
        // A frame of AV1 that is not shown may come in a packet of its own, whose presentation time means nothing.
        if codec == .av1, phase == .open, !scanner.picture.hasSlice { return self.stamp = stamp }
        // The unit's first bytes may come in a packet that is too short to show that a unit begins.
        if stamp.presentation == nil, pending?.presentation != nil { return }
        pending = stamp
    }

    mutating func append(
        _ bytes: UnsafeRawBufferPointer, _ context: inout StreamContext, _ handler: PacketizedStream.Handler
    ) {
        guard unsafe storage.append(bytes, limit: context.unitLimit) else {
            let fault = ContainerFault.oversizedUnit(
                presentation: stamp.presentation, isKeyframe: scanner.picture.isEntryPoint)
            dropUnit()
            handler(.fault(fault, isMainVideo: true))
            return
        }
        scan(&context, handler)
        isAfterLoss = false
    }

    mutating func endPacket(stuffed: Bool) {
        guard stuffed else { return }
        signs.insert(.stuffing)
        if mayBeComplete { ready = trust.accepts(signs, declared: declared, scanner.picture) }
    }

    /// - Parameter stuffed: the packet in which the length was reached is stuffed, so that it cannot go on behind it.
    mutating func lengthReached(
        declared: Int, stuffed: Bool, _ context: inout StreamContext, _ handler: PacketizedStream.Handler
    ) {
        // A muxer that spreads a large unit over several packets writes a length near the field's end.
        guard declared <= 65_000, stuffed || !hasWrongLengths else { return }
        signs.insert(.length)
        self.declared = EndOfUnitTrust.Declared(length: declared, beginsUnit: beginsUnit)
        guard mayBeComplete, damage.isEmpty else { return }
        if let evidence = trust.accepts(.length, declared: self.declared, scanner.picture) {
            deliverWhole(evidence, &context, handler)
        }
    }

    /// More of the PES packet came than its length had said.
    mutating func lengthWasWrong() {
        hasWrongLengths = true
        signs.remove(.length)
    }

    /// All bytes of the message are processed; its last packet was of this stream and the sender did not fill it.
    mutating func messageFlushed(_ context: inout StreamContext, _ handler: PacketizedStream.Handler) {
        signs.insert(.flush)
        if phase == .open { size = storage.count }
        guard mayBeComplete else { return }
        if damage.isEmpty, trust.acceptsFlush(scanner.picture, size: size) {
            deliverWhole(.flush, &context, handler)
        } else if let quiet = trust.quiet(after: scanner.picture) {
            deadline = newestEnd.arrival + quiet
        }
    }

    mutating func messageEnded(_ context: inout StreamContext, _ handler: PacketizedStream.Handler) {
        if ready != nil { deliverReady(&context, handler) }
    }

    mutating func timePassed(
        _ now: MonotonicTime, _ context: inout StreamContext, _ handler: PacketizedStream.Handler
    ) {
        guard let deadline, deadline <= now else { return }
        deliverWhole(.timer, &context, handler)
    }

    /// Bytes before the next ones are missing.
    mutating func recordLoss() {
        signs = []
        boundarySigns = []
        ready = nil
        deadline = nil
        isAfterLoss = true
        lossOffset = storage.count
        scanner.recordLoss()
        switch phase {
        case .open: damage.insert(.packetsLost)
        case .delivered:
            trust.recordUnjudged(newestEvidence)
            phase = .searching
        case .searching: break
        }
    }

    mutating func finish(_ context: inout StreamContext, _ handler: PacketizedStream.Handler) {
        if phase == .open, scanner.picture.hasSlice {
            // A packet with room left is the last one of its PES packet, whoever cut the stream there.
            if ready == nil, !signs.contains(.stuffing) { damage.insert(.truncated) }
            deliverWhole(.endOfStream, &context, handler)
        }
        dropUnit()
        // The next sender may have other habits.
        trust = EndOfUnitTrust()
        hasWrongLengths = false
    }

    // MARK: Units

    /// A picture has come, and none of its fields is missing.
    private var mayBeComplete: Bool { phase == .open && scanner.picture.hasSlice && !scanner.picture.isLoneField }

    /// When a unit that ends with the newest packet had arrived, and when it was sent.
    private var newestEnd: MessageTime { MessageTime(arrival: max(latest, last.arrival), source: last.source) }

    private mutating func scan(
        isEnd: Bool = false, _ context: inout StreamContext, _ handler: PacketizedStream.Handler
    ) {
        if phase == .delivered, !mayBeginUnit() { tear(handler) }
        while true {
            switch unsafe scanner.scan(storage.bytes, isEnd: isEnd) {
            case .nothing:
                if phase == .searching { skip(scanner.position, handler) }
                return
            case .unitStart(let at):
                _ = judgeBoundary(unitBeganAt: at)
                // What stands between two units after an early end (an end of sequence, filler) goes with the second.
                if phase == .searching, at > 0 {
                    handler(.fault(.orphanBytes(at), isMainVideo: true))
                    scanner.discard(before: at)
                    shift(at)
                }
                begin(context)
            case .unitEnd(let at):
                let isNextPES = judgeBoundary(unitBeganAt: at)
                if phase == .open {
                    if damage.isEmpty { trust.recordComplete(scanner.picture) }
                    let end = at <= packetStart ? MessageTime(arrival: latest, source: sourceBeforeLast) : newestEnd
                    deliver(at, isNextPES ? .nextStart : .delimiter, end, handler)
                    cut(at)
                } else {
                    skip(at, handler)
                }
                // The scanner finds the next unit's start again, at 0.
                phase = .delivered
            case .continuation(let at):
                if boundary >= 0, at >= boundary { _ = judgeBoundary(unitBeganAt: -1) }
                if phase == .delivered { tear(handler) }
            }
        }
    }

    /// Tells the learner whether the newest PES packet began with a unit, once that is known.
    /// - Returns: whether it did, and was not known to before.
    private mutating func judgeBoundary(unitBeganAt at: Int) -> Bool {
        guard boundary >= 0 else { return false }
        // A few zeros may stand before a start code.
        let wasRight = at >= 0 && at <= boundary + 4
        trust.judge(boundarySigns, declared: declaredBefore, wasRight: wasRight)
        beginsUnit = wasRight || mayBeginField
        if wasRight, boundarySigns.contains(.flush) { trust.recordFlushed(size: size) }
        boundary = -1
        boundarySigns = []
        return wasRight
    }

    /// After an early end only a start code, or zeros before one, may come.
    private mutating func mayBeginUnit() -> Bool {
        let bytes = unsafe storage.bytes
        while leadingZeros < bytes.count {
            let byte = unsafe bytes[leadingZeros]
            if byte != 0 { return byte == 1 && leadingZeros >= 2 }
            leadingZeros += 1
        }
        return true
    }

    /// What came belongs to the unit that was delivered already.
    private mutating func tear(_ handler: PacketizedStream.Handler) {
        _ = judgeBoundary(unitBeganAt: -1)
        followsTorn = true
        phase = .searching
        handler(.fault(.tornUnit(serial: serial - 1), isMainVideo: true))
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

    private mutating func deliverReady(_ context: inout StreamContext, _ handler: PacketizedStream.Handler) {
        guard let evidence = ready else { return }
        ready = nil
        deliverWhole(evidence, &context, handler)
    }

    /// Delivers all bytes as one unit, before the next unit has begun.
    private mutating func deliverWhole(
        _ evidence: EndEvidence, _ context: inout StreamContext, _ handler: PacketizedStream.Handler
    ) {
        deadline = nil
        scan(isEnd: true, &context, handler)
        guard phase == .open, scanner.picture.hasSlice else { return }
        if damage.isEmpty { trust.recordComplete(scanner.picture) }
        deliver(storage.count, evidence, newestEnd, handler)
        cut(storage.count)
        phase = .delivered
    }

    /// Delivers the first `count` bytes as one unit.
    private mutating func deliver(
        _ count: Int, _ evidence: EndEvidence, _ end: MessageTime, _ handler: PacketizedStream.Handler
    ) {
        if let active = scanner.parameters, active != format {
            format = active
            handler(.format(active))
        }
        let isKeyframe = scanner.picture.isEntryPoint
        if isKeyframe { followsTorn = false }
        if followsTorn { damage.insert(.followsTorn) }
        let unit = unsafe StreamUnit(
            stream: stream, isMainVideo: true, codec: codec, serial: serial,
            bytes: UnsafeRawBufferPointer(rebasing: storage.bytes[..<count]), presentation: stamp.presentation,
            decode: stamp.decode, firstArrival: first.arrival, lastArrival: end.arrival,
            lastSourceTime: end.source, isKeyframe: isKeyframe, damage: damage, evidence: evidence,
            parameterSets: isKeyframe ? scanner.keptSets : nil)
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
        leadingZeros = 0
        packetStart = max(0, packetStart - at)
        lossOffset = lossOffset > at ? lossOffset - at : -1
        if boundary >= 0 { boundary = max(0, boundary - at) }
    }

    /// Drops bytes that belong to no unit.
    private mutating func skip(_ count: Int, _ handler: PacketizedStream.Handler) {
        guard count > 0 else { return }
        handler(.fault(.orphanBytes(count), isMainVideo: true))
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
