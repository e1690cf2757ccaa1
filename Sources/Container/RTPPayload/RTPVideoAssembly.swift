import Bitstream
import Media

/// Puts the pictures of an RTP stream together. A picture is complete with its marked packet, or when a packet with another
/// time stamp comes.
///
/// Where packets of a picture are missing, the picture is torn. Of H.264 the slices that came go on, marked as damaged: a
/// decoder conceals the rest. A torn frame of VP8 cannot be decoded and is dropped. Either way what follows is wrong until the
/// next keyframe, so ``needsKeyframe`` is true until then.
struct RTPVideoAssembly {
    typealias Handler = (ContainerEvent) -> Void

    let stream: Int
    let format: RTPPayloadFormat
    private let storage = UnitStorage(capacity: 256 * 1024)
    private var h264: H264Depacketiser
    private var vp8 = VP8Depacketiser()
    private var scanner = AccessUnitScanner(.h264)
    private(set) var parameters: VideoParameters?

    private var isOpen = false
    private var timestamp: UInt32 = 0
    private var presentation = MediaTime(ticks: 0)
    private var firstArrival = MonotonicTime(nanoseconds: 0)
    private var lastArrival = MonotonicTime(nanoseconds: 0)
    private var sourceTime: MonotonicTime?
    private var damage: StreamUnit.Damage = []
    /// Packets are missing before the unit's first one.
    private var isAfterLoss = false
    /// Packets are missing before the next one.
    private var hasLossBefore = false
    private var isDropped = false
    private var followsTorn = false
    private var serial = 0
    /// Nothing that is to come can be decoded well before a keyframe.
    private(set) var needsKeyframe = true

    init(_ description: RTPStreamDescription, format: RTPPayloadFormat) {
        stream = description.id
        self.format = format
        h264 = H264Depacketiser(parameterSets: description.parameterSets)
    }

    var newestParameters: VideoParameters? { format == .h264 ? scanner.newestParameters : parameters }
    var lastFault: BitstreamFault? { scanner.lastFault }

    mutating func push(_ payload: Span<UInt8>, _ packet: RTPPacketFacts, limit: Int, _ handler: Handler) {
        recordLoss(of: packet.lost, handler)
        if isOpen, packet.timestamp != timestamp { deliver(.nextStart, handler) }
        if !isOpen { begin(packet) }
        hasLossBefore = false
        lastArrival = max(lastArrival, packet.arrival)
        sourceTime = packet.sourceTime
        if !isDropped {
            let outcome =
                format == .h264
                ? h264.append(payload, to: storage, limit: limit) : vp8.append(payload, to: storage, limit: limit)
            if outcome.isBroken { damage.insert(.packetsLost) }
            if outcome.isOversized {
                isDropped = true
                needsKeyframe = true
                handler(
                    .fault(
                        .oversizedUnit(presentation: presentation, isKeyframe: scanner.picture.isEntryPoint), isMainVideo: true)
                )
            }
        }
        if packet.isMarked { deliver(.marker, handler) }
    }

    /// So many packets before the next one are missing.
    mutating func recordLoss(of packets: Int, _ handler: Handler) {
        guard packets > 0 else { return }
        handler(.fault(.gap(packets: packets), isMainVideo: true))
        needsKeyframe = true
        hasLossBefore = true
        guard isOpen else { return }
        damage.insert(.packetsLost)
        _ = h264.abandonFragment(storage)
    }

    /// The stream ends or is interrupted.
    mutating func finish(_ handler: Handler) {
        if isOpen {
            damage.insert(.truncated)
            deliver(.endOfStream, handler)
        }
        needsKeyframe = true
    }

    private mutating func begin(_ packet: RTPPacketFacts) {
        isOpen = true
        isDropped = false
        timestamp = packet.timestamp
        presentation = packet.presentation
        firstArrival = packet.arrival
        lastArrival = packet.arrival
        damage = []
        isAfterLoss = hasLossBefore
        storage.removeAll()
        scanner.cut(at: Int.max)
        h264.beginUnit()
        vp8.beginUnit()
    }

    private mutating func deliver(_ evidence: EndEvidence, _ handler: Handler) {
        isOpen = false
        guard !isDropped else { return }
        if h264.abandonFragment(storage) { damage.insert(.packetsLost) }
        let isKeyframe = format == .h264 ? scan() : readFrameHeader()
        guard let isKeyframe else {
            // No picture is left of it. Parameter sets may stand alone.
            if !damage.isEmpty { tear(handler) }
            return
        }
        if !damage.isEmpty {
            tear(handler)
            if format == .vp8 { return }
        } else if isKeyframe {
            followsTorn = false
            needsKeyframe = false
        }
        if followsTorn { damage.insert(.followsTorn) }
        if let newest = currentParameters, newest != parameters {
            parameters = newest
            handler(.format(newest))
        }
        let unit = unsafe StreamUnit(
            stream: stream, isMainVideo: true, codec: format == .h264 ? .h264 : .vp8, serial: serial, bytes: storage.bytes,
            presentation: presentation, decode: nil, firstArrival: firstArrival, lastArrival: lastArrival,
            lastSourceTime: sourceTime, isKeyframe: isKeyframe, damage: damage, evidence: evidence,
            parameterSets: isKeyframe ? scanner.keptSets : nil)
        handler(.unit(unit))
        serial += 1
    }

    private mutating func tear(_ handler: Handler) {
        followsTorn = true
        needsKeyframe = true
        handler(.fault(.tornUnit(serial: serial), isMainVideo: true))
    }

    /// The parameters of the unit in the storage.
    private var currentParameters: VideoParameters? {
        guard format == .vp8 else { return scanner.parameters }
        return unsafe VideoParameters(vp8: storage.bytes) ?? parameters
    }

    /// Scans a unit of H.264.
    /// - Returns: whether a decoder can begin with it; nil when it has no slice.
    private mutating func scan() -> Bool? {
        scanning: while true {
            switch unsafe scanner.scan(storage.bytes, isEnd: true) {
            // A second picture with the same time stamp goes with the first: a decoder reads it as well.
            case .nothing, .unitEnd: break scanning
            case .unitStart, .continuation: continue
            }
        }
        if isAfterLoss, h264.lacksFirstSlice { damage.insert(.packetsLost) }
        return scanner.picture.hasSlice ? scanner.picture.isEntryPoint : nil
    }

    /// - Returns: whether a frame of VP8 is a keyframe; nil when it is no frame. What follows one that only says that it is a keyframe
    ///   cannot be decoded either.
    private mutating func readFrameHeader() -> Bool? {
        guard storage.count > 3 else { return nil }
        guard unsafe storage.bytes[0] & 1 == 0 else { return false }
        if unsafe VP8.isKeyframe(storage.bytes) { return true }
        damage.insert(.packetsLost)
        return nil
    }
}
