import Media

/// Puts together the PES payloads of a stream that passes through. A payload without a length ends with the next one's start, or
/// with stuffing in a stream that stuffs there and nowhere else.
struct PassingAssembly {
    let stream: Int
    let isMainVideo: Bool
    /// The PES packet's header, and its payload so far.
    private let storage = UnitStorage(capacity: 4096)
    private var headerCount = 0
    /// Whether stuffing ends a payload, as far as it has done so far, and whether the newest packet was stuffed.
    private var stuffing = EndOfUnitTrust.Sign(run: 8)
    private var isStuffed = false
    /// The multiplex marked the newest payload as a random access point, and has ever marked one.
    private var isRandomAccess = false
    private var marksRandomAccess = false
    private var stamp = UnitStamp()
    private var first = MessageTime(arrival: MonotonicTime(nanoseconds: 0), source: nil)
    private var last = MessageTime(arrival: MonotonicTime(nanoseconds: 0), source: nil)
    private var serial = 0
    var damage: StreamUnit.Damage = []

    init(stream: Int, isMainVideo: Bool = false) {
        self.stream = stream
        self.isMainVideo = isMainVideo
    }

    /// A packet with payload begins.
    mutating func beginPacket(startsPES: Bool, isRandomAccess: Bool) {
        if isStuffed { stuffing.judge(startsPES) }
        isStuffed = false
        guard startsPES else { return }
        self.isRandomAccess = isRandomAccess
        if isRandomAccess { marksRandomAccess = true }
    }

    /// The newest packet was stuffed, and its payload's length is not known.
    mutating func endStuffedPacket(_ handler: PacketizedStream.Handler) {
        guard hasUnfinished, damage.isEmpty else { return }
        isStuffed = true
        if stuffing.isTrusted { deliver(.stuffing, handler) }
    }

    /// - Parameter header: as it came; empty for what comes behind the end of a PES packet.
    mutating func begin(_ stamp: UnitStamp, header: UnsafeRawBufferPointer, _ message: MessageTime) {
        self.stamp = stamp
        first = message
        last = message
        forgetUnit()
        _ = unsafe storage.append(header, limit: header.count)
        headerCount = storage.count
    }

    private mutating func forgetUnit() {
        damage = []
        storage.removeAll()
        headerCount = 0
    }

    /// - Returns: false when the unit grew over the limit and was dropped.
    mutating func append(
        _ bytes: UnsafeRawBufferPointer, _ context: StreamContext, _ handler: PacketizedStream.Handler
    ) -> Bool {
        // A packet that came late delays those behind it.
        last = MessageTime(arrival: max(last.arrival, context.message.arrival), source: context.message.source)
        if unsafe storage.append(bytes, limit: context.unitLimit) { return true }
        forgetUnit()
        handler(
            .fault(.oversizedUnit(presentation: stamp.presentation, isKeyframe: isRandomAccess), isMainVideo: isMainVideo))
        return false
    }

    /// Bytes before the next ones are missing.
    mutating func recordLoss() {
        isStuffed = false
        if hasUnfinished { damage.insert(.packetsLost) }
    }

    /// Whether a unit is begun.
    var hasUnfinished: Bool { storage.count > headerCount }

    mutating func deliver(_ evidence: EndEvidence, _ handler: PacketizedStream.Handler) {
        let unit = unsafe StreamUnit(
            stream: stream, isMainVideo: isMainVideo, codec: nil, serial: serial,
            bytes: UnsafeRawBufferPointer(rebasing: storage.bytes[headerCount...]),
            header: UnsafeRawBufferPointer(rebasing: storage.bytes[..<headerCount]), presentation: stamp.presentation,
            decode: stamp.decode, firstArrival: first.arrival,
            lastArrival: last.arrival, lastSourceTime: last.source,
            isKeyframe: isMainVideo && (isRandomAccess || !marksRandomAccess), damage: damage, evidence: evidence,
            parameterSets: nil)
        handler(.unit(unit))
        serial += 1
        // What may still come of the payload has no stamp of its own.
        stamp = UnitStamp()
        forgetUnit()
    }
}
