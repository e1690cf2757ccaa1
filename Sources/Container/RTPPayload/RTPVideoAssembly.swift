import Bitstream
import Media

/// Puts the pictures of an RTP stream together. A picture is complete with its marked packet, as far as the sender's markers are
/// believed (``MarkerTrust``), or when a packet comes that begins another one.
///
/// Where packets of a picture are missing, the picture is torn. Of H.264 the slices that came go on, marked as damaged: a
/// decoder conceals the rest. A torn frame of VP8 cannot be decoded and is dropped. Either way what follows is wrong until the
/// next keyframe, so ``needsKeyframe`` is true until then. What belongs to no picture is skipped.
///
/// Parameter sets that came alone, whatever their marker and time stamp say, stand before the next picture.
struct RTPVideoAssembly {
    typealias Handler = (ContainerEvent) -> Void

    let stream: Int
    let format: RTPPayloadFormat
    private let storage = UnitStorage(capacity: 256 * 1024)
    private var h264 = H264Depacketiser()
    private var vp8 = VP8Depacketiser()
    private var scanner = AccessUnitScanner(.h264)
    private var sets: DescribedParameterSets
    private(set) var parameters: VideoParameters?

    /// A unit is being put together. As long as it has no picture, it holds what stands before the next one.
    private var isOpen = false
    /// The unit's newest packet is marked.
    private var isMarked = false
    private var trust = MarkerTrust()
    private var hasMarkers = false
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
    /// The picture that ended with its marker, until another packet shows whether it really did.
    private var delivered: (timestamp: UInt32, place: Int)?
    /// What comes is the rest of a picture that was handed on too soon.
    private var skipsRest = false
    /// Nothing that is to come can be decoded well before a keyframe.
    private(set) var needsKeyframe = true

    /// What stands before a picture has no more bytes.
    private static let mostBeforePicture = 1 << 20

    init(_ description: RTPStreamDescription, format: RTPPayloadFormat) {
        stream = description.id
        self.format = format
        sets = DescribedParameterSets(description.parameterSets)
        if format == .h264 { sets.teach(&scanner) }
    }

    var newestParameters: VideoParameters? { format == .h264 ? scanner.newestParameters : parameters }
    var lastFault: BitstreamFault? { scanner.lastFault }

    /// A picture has begun, whether or not its beginning has come.
    private var hasPicture: Bool { isOpen && (format == .vp8 || h264.hasSlice || !damage.isEmpty || isDropped) }

    mutating func push(_ payload: Span<UInt8>, _ packet: RTPPacketFacts, limit: Int, _ handler: Handler) {
        recordLoss(of: packet.lost, handler)
        let beginning = format == .h264 ? h264.beginning(of: payload) : VP8Depacketiser.beginning(of: payload)
        if hasPicture {
            if !goesOn(with: beginning, packet) {
                deliver(beginning == .head && packet.timestamp == timestamp ? .delimiter : .nextStart, limit, handler)
            } else if isMarked, beginning != .tail, beginning != .nothing {
                trust.contradict()
                isMarked = false
                if hasLossBefore { damage.insert(.packetsLost) }
            }
        }
        if skips(beginning, packet, handler) { return }
        if beginning != .nothing { prepare(for: packet) }
        append(payload, packet, limit: limit, handler)
        if packet.isMarked, hasPicture, beginning != .nothing || packet.timestamp == timestamp { mark(limit, handler) }
    }

    /// Whether a packet belongs to the picture that has begun.
    private func goesOn(with beginning: PayloadBeginning, _ packet: RTPPacketFacts) -> Bool {
        let isSameTime = packet.timestamp == timestamp
        switch beginning {
        case .nothing: return true
        // A second picture with the same time stamp goes with the first: a decoder reads it as well.
        case .picture: return isSameTime && !isMarked
        case .head: return false
        // Some senders stamp each slice with a time of its own.
        case .slice(let place): return isSameTime || !hasLossBefore && h264.hasSlice && place > h264.newestPlace
        case .part: return isSameTime || !hasLossBefore && h264.hasFragment
        case .tail: return isSameTime
        }
    }

    /// Whether a packet is left out: it belongs to a picture that was handed on too soon, or it is filler that stands alone.
    private mutating func skips(_ beginning: PayloadBeginning, _ packet: RTPPacketFacts, _ handler: Handler) -> Bool {
        guard !hasPicture else { return false }
        switch beginning {
        case .nothing: return false
        case .tail: return true
        case .picture, .head:
            (delivered, skipsRest) = (nil, false)
            return false
        case .slice, .part:
            guard let last = delivered, !hasLossBefore, !isOpen else { return false }
            var isRest = packet.timestamp == last.timestamp
            if case .slice(let place) = beginning, place > last.place { isRest = true }
            guard isRest else { return false }
            if !skipsRest {
                trust.contradict()
                skipsRest = true
                tear(serial - 1, handler)
            }
            return true
        }
    }

    /// Opens a unit, or gives what stands before a picture that picture's times.
    private mutating func prepare(for packet: RTPPacketFacts) {
        if !isOpen || !hasPicture && packet.timestamp != timestamp {
            begin(packet)
        } else if !hasPicture, hasLossBefore {
            // A parameter set may be among what is missing.
            damage.insert(.packetsLost)
            isAfterLoss = true
        }
        hasLossBefore = false
        lastArrival = max(lastArrival, packet.arrival)
        sourceTime = packet.sourceTime
    }

    private mutating func append(_ payload: Span<UInt8>, _ packet: RTPPacketFacts, limit: Int, _ handler: Handler) {
        guard !isDropped else { return }
        let outcome =
            format == .h264
            ? h264.append(payload, to: storage, limit: limit) : vp8.append(payload, to: storage, limit: limit)
        if outcome.hasStrayBytes { handler(.fault(.brokenPacket, isMainVideo: true)) }
        guard isOpen else { return }
        if outcome.isBroken { damage.insert(.packetsLost) }
        if !hasPicture, storage.count > Self.mostBeforePicture {
            handler(.fault(.orphanBytes(storage.count), isMainVideo: true))
            clear()
        } else if outcome.isOversized {
            isDropped = true
            needsKeyframe = true
            handler(
                .fault(.oversizedUnit(presentation: presentation, isKeyframe: scanner.picture.isEntryPoint), isMainVideo: true))
        }
    }

    /// The newest packet of a picture is marked. In the middle of a NAL unit that says nothing.
    private mutating func mark(_ limit: Int, _ handler: Handler) {
        hasMarkers = true
        guard trust.verdict == .right, !h264.isInside else { return isMarked = true }
        delivered = (timestamp, h264.newestPlace)
        deliver(.marker, limit, handler)
    }

    /// When a marked picture counts as complete, if nothing comes; nil where none waits.
    var timer: MonotonicTime? { isMarked && hasPicture ? lastArrival + trust.timeout : nil }

    /// - Parameter now: everything that had come by then was pushed.
    mutating func timeout(_ now: MonotonicTime, limit: Int, _ handler: Handler) {
        guard let timer, timer <= now else { return }
        delivered = (timestamp, h264.newestPlace)
        deliver(.timer, limit, handler)
    }

    /// So many packets before the next one are missing.
    mutating func recordLoss(of packets: Int, _ handler: Handler) {
        guard packets > 0 else { return }
        handler(.fault(.gap(packets: packets), isMainVideo: true))
        needsKeyframe = true
        hasLossBefore = true
        (delivered, skipsRest) = (nil, false)
        let wasCut = h264.abandonFragment(storage)
        // Of a picture whose marker has come nothing is missing, as far as is known.
        guard hasPicture && !(isMarked && trust.verdict == .unproven) || wasCut else { return }
        damage.insert(.packetsLost)
    }

    /// The stream ends or is interrupted.
    mutating func finish(limit: Int, _ handler: Handler) {
        if hasPicture {
            // Of a sender that marks no packets nothing tells whether more would have come.
            if !isMarked, hasMarkers || h264.isInside { damage.insert(.truncated) }
            deliver(.endOfStream, limit, handler)
        }
        needsKeyframe = true
    }

    private mutating func begin(_ packet: RTPPacketFacts) {
        if !isOpen { clear() }
        isOpen = true
        timestamp = packet.timestamp
        presentation = packet.presentation
        firstArrival = packet.arrival
        lastArrival = packet.arrival
        isAfterLoss = hasLossBefore
        trust.pictureBegan(at: packet.arrival)
    }

    /// Forgets the unit.
    private mutating func clear() {
        (isOpen, isMarked, isDropped) = (false, false, false)
        damage = []
        storage.removeAll()
        h264.beginUnit()
        vp8.beginUnit()
        scanner.cut(at: Int.max)
    }

    private mutating func deliver(_ evidence: EndEvidence, _ limit: Int, _ handler: Handler) {
        defer { clear() }
        guard !isDropped else { return }
        if h264.closeFragment(storage) { damage.insert(.packetsLost) }
        let isKeyframe = format == .h264 ? scan() : readFrameHeader()
        guard let isKeyframe else {
            // No picture is left of it.
            if !damage.isEmpty { tear(serial, handler) }
            return
        }
        if !damage.isEmpty {
            tear(serial, handler)
            if format == .vp8 { return }
        } else {
            if isMarked, !hasLossBefore { trust.confirm(isKeyframe: isKeyframe) }
            if isKeyframe { (followsTorn, needsKeyframe) = (false, hasLossBefore) }
        }
        if followsTorn { damage.insert(.followsTorn) }
        if let newest = currentParameters, newest != parameters, sets.describe(isKeyframe: isKeyframe) {
            parameters = newest
            handler(.format(newest))
        }
        if format == .h264 { sets.complete(storage, scanner, h264, isKeyframe: isKeyframe, limit: limit) }
        let unit = unsafe StreamUnit(
            stream: stream, isMainVideo: true, codec: format == .h264 ? .h264 : .vp8, serial: serial, bytes: storage.bytes,
            presentation: presentation, decode: nil, firstArrival: firstArrival, lastArrival: lastArrival,
            lastSourceTime: sourceTime, isKeyframe: isKeyframe, damage: damage, evidence: evidence,
            parameterSets: isKeyframe ? scanner.keptSets : nil)
        handler(.unit(unit))
        serial += 1
    }

    /// - Parameter serial: the torn unit's.
    private mutating func tear(_ serial: Int, _ handler: Handler) {
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
