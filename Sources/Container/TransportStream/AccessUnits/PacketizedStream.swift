import Media

/// When and where from a message came.
struct MessageTime {
    var arrival: MonotonicTime
    var source: MonotonicTime?
}

/// What the streams of one demuxer share while they take a packet.
struct StreamContext {
    var stamps = StampUnwrapper()
    var counters = TransportStreamCounters()
    var message = MessageTime(arrival: MonotonicTime(nanoseconds: 0), source: nil)
    let unitLimit: Int
    let believesSigns: Bool
}

/// One elementary stream of the program: continuity, PES headers and the unit in the making. What makes the main video
/// different lies in ``AccessUnitAssembly``.
final class PacketizedStream {
    typealias Handler = (TransportStreamEvent) -> Void

    private enum Layer { case waiting, header, payload }

    let id: Int
    private(set) var description: ElementaryStreamDescription
    private var continuity = -1
    private var lastPayload: UInt64 = 0
    private var layer = Layer.waiting
    private var header = PESHeader()
    /// Payload bytes of the PES packet still to come; -1 when not known.
    private var remaining = -1
    private(set) var newestDecode: MediaTime?
    private var clockIsNew = false
    /// Nothing clear has come since something scrambled.
    private(set) var isScrambled = false
    /// The main video's part; nil for the others, whose unit is the PES packet.
    var video: AccessUnitAssembly?
    private var passing: PassingAssembly?

    /// - Parameter newestDecode: where an earlier sender of this stream was: what comes is compared with it.
    init(_ description: ElementaryStreamDescription, newestDecode: MediaTime? = nil) {
        id = description.id
        self.newestDecode = newestDecode
        self.description = description
        if description.role == .mainVideo {
            video = AccessUnitAssembly(stream: id)
        } else {
            passing = PassingAssembly(stream: id)
        }
    }

    func update(_ new: ElementaryStreamDescription) { description = new }

    /// Takes one packet of this PID.
    /// - Parameter p: the packet's 188 bytes.
    func push(
        _ packet: TransportPacket, _ p: UnsafePointer<UInt8>, _ context: inout StreamContext, _ handler: Handler
    ) {
        if packet.isDiscontinuous { clockIsNew = true }
        guard packet.hasPayload else { return }
        let payload = unsafe UnsafeRawBufferPointer(
            start: p + packet.payloadOffset, count: TransportPacket.size - packet.payloadOffset)
        guard unsafe isNext(packet, payload, &context, handler) else { return }
        if packet.isScrambled { return noteScrambling(&context, handler) }
        if packet.startsUnit {
            if passing?.hasUnfinished ?? false { deliverPassing(.nextStart, &context, handler) }
            header.begin()
            layer = .header
        }
        video?.beginPacket(startsPES: packet.startsUnit, stuffed: packet.isStuffed, &context, handler)
        unsafe take(payload, packet, &context, handler)
        video?.endPacket(stuffed: packet.isStuffed, context)
    }

    private func take(
        _ payload: UnsafeRawBufferPointer, _ packet: TransportPacket, _ context: inout StreamContext,
        _ handler: Handler
    ) {
        var at = 0
        if layer == .header {
            switch unsafe header.push(payload, used: &at) {
            case .incomplete: return
            case .malformed:
                context.counters.malformedHeaders += 1
                layer = .waiting
                return
            case .complete:
                layer = header.isScrambled ? .waiting : .payload
                if header.isScrambled { noteScrambling(&context, handler) } else { isScrambled = false }
                remaining = header.payloadLength
                beginPayload(packet, &context)
            }
        }
        guard layer == .payload else {
            context.counters.orphanBytes += video == nil ? 0 : payload.count
            return
        }
        var body = unsafe UnsafeRawBufferPointer(rebasing: payload[at...])
        if remaining >= 0 {
            if body.count > remaining { unsafe body = UnsafeRawBufferPointer(rebasing: body.prefix(remaining)) }
            remaining -= body.count
        }
        if video != nil {
            unsafe video!.append(body, &context, handler)
        } else if unsafe passing!.append(body, &context, handler) == false {
            layer = .waiting
        }
        if remaining == 0 {
            layer = .waiting
            if video != nil {
                video!.lengthReached(declared: header.declaredLength, &context, handler)
            } else if passing!.hasUnfinished {
                deliverPassing(.length, &context, handler)
            }
        }
    }

    /// Continuity (2.4.3.3).
    /// - Returns: false for a duplicate.
    private func isNext(
        _ packet: TransportPacket, _ payload: UnsafeRawBufferPointer, _ context: inout StreamContext,
        _ handler: Handler
    ) -> Bool {
        let digest = unsafe Self.digest(payload)
        defer {
            continuity = Int(packet.continuity)
            lastPayload = digest
        }
        guard continuity >= 0, !packet.isDiscontinuous else { return true }
        let step = (Int(packet.continuity) - continuity) & 15
        if step == 1 { return true }
        if step == 0, digest == lastPayload {
            context.counters.duplicatePackets += 1
            return false
        }
        let lost = (step - 1) & 15
        context.counters.continuityGaps += 1
        context.counters.lostPackets += lost
        noteLoss()
        handler(.fault(.gap(packets: lost), isMainVideo: video != nil))
        return true
    }

    private func noteScrambling(_ context: inout StreamContext, _ handler: Handler) {
        isScrambled = true
        context.counters.scrambledPackets += 1
        noteLoss()
        handler(.fault(.scrambledPacket, isMainVideo: video != nil))
    }

    /// Packets are missing before the one at hand.
    func noteLoss() {
        // The end of a PES packet whose bytes are missing cannot be counted to.
        remaining = -1
        if layer == .header { layer = .waiting }
        video?.noteLoss()
        passing?.noteLoss()
    }

    /// Packets are missing, and continuity counters may not show it.
    func noteUnseenLoss() {
        continuity = -1
        noteLoss()
    }

    private static func digest(_ payload: UnsafeRawBufferPointer) -> UInt64 {
        var sum: UInt64 = UInt64(payload.count)
        var at = 0
        while at + 8 <= payload.count {
            sum = unsafe (sum << 7 | sum >> 57) ^ payload.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            at += 8
        }
        while at < payload.count {
            sum = unsafe (sum << 7 | sum >> 57) ^ UInt64(payload[at])
            at += 1
        }
        return sum
    }

    private func beginPayload(_ packet: TransportPacket, _ context: inout StreamContext) {
        var stamp = UnitStamp()
        if header.pts >= 0 {
            // The decoding time first: it moves evenly.
            let decode = context.stamps.unwrap(header.dts >= 0 ? header.dts : header.pts)
            stamp.decode = decode
            stamp.presentation = header.dts >= 0 ? context.stamps.unwrap(header.pts) : decode
            if let newestDecode {
                let step = decode - newestDecode
                stamp.isDiscontinuity = step < 0 || step > 3 * MediaTime.ticksPerSecond
            }
            newestDecode = decode
        }
        if clockIsNew { stamp.isDiscontinuity = true }
        clockIsNew = false
        if video != nil {
            video!.beginPES(stamp)
        } else {
            passing!.begin(stamp, context.message)
        }
    }

    private func deliverPassing(_ evidence: EndEvidence, _ context: inout StreamContext, _ handler: Handler) {
        passing!.deliver(evidence, &context, handler)
    }

    /// Hands on what is there.
    func finish(_ context: inout StreamContext, _ handler: Handler) {
        if video != nil {
            video!.finish(&context, handler)
        } else if passing!.hasUnfinished {
            passing!.damage.insert(.truncated)
            deliverPassing(.endOfStream, &context, handler)
        }
        layer = .waiting
        continuity = -1
    }
}

/// The time stamps of a PES packet.
struct UnitStamp {
    var presentation: MediaTime?
    var decode: MediaTime?
    var isDiscontinuity = false
}
