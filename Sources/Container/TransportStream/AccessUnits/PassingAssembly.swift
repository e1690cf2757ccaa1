import Media

/// Puts together the PES payloads of a stream that passes through.
struct PassingAssembly {
    let stream: Int
    private let storage = UnitStorage(capacity: 4096)
    private var stamp = UnitStamp()
    private var first = MessageTime(arrival: MonotonicTime(nanoseconds: 0), source: nil)
    private var last = MessageTime(arrival: MonotonicTime(nanoseconds: 0), source: nil)
    private var serial = 0
    var damage: StreamUnit.Damage = []

    init(stream: Int) { self.stream = stream }

    mutating func begin(_ stamp: UnitStamp, _ message: MessageTime) {
        self.stamp = stamp
        first = message
        last = message
        damage = []
        storage.removeAll()
    }

    /// - Returns: false when the unit grew over the limit and was dropped.
    mutating func append(
        _ bytes: UnsafeRawBufferPointer, _ context: StreamContext, _ handler: PacketizedStream.Handler
    ) -> Bool {
        // A packet that came late delays those behind it.
        last = MessageTime(arrival: max(last.arrival, context.message.arrival), source: context.message.source)
        if unsafe storage.append(bytes, limit: context.unitLimit) { return true }
        storage.removeAll()
        handler(.fault(.oversizedUnit(presentation: stamp.presentation, isKeyframe: false), isMainVideo: false))
        return false
    }

    /// Bytes before the next ones are missing.
    mutating func recordLoss() { if storage.count > 0 { damage.insert(.packetsLost) } }

    /// Whether a unit is begun.
    var hasUnfinished: Bool { storage.count > 0 }

    mutating func deliver(_ evidence: EndEvidence, _ handler: PacketizedStream.Handler) {
        let unit = unsafe StreamUnit(
            stream: stream, codec: nil, serial: serial, bytes: storage.bytes,
            presentation: stamp.presentation, decode: stamp.decode, firstArrival: first.arrival,
            lastArrival: last.arrival, lastSourceTime: last.source, isKeyframe: false, damage: damage,
            evidence: evidence)
        handler(.unit(unit))
        serial += 1
        damage = []
        storage.removeAll()
    }
}
