import Media

/// When a message arrived, and when its sender sent it, where that is known.
struct MessageTime {
    var arrival: MonotonicTime
    var source: MonotonicTime?
}

/// What the streams of one demultiplexer share while they process a packet.
struct StreamContext {
    var stamps = StampUnwrapper()
    var message = MessageTime(arrival: MonotonicTime(nanoseconds: 0), source: nil)
    let unitLimit: Int
}

/// The time stamps of a PES packet.
struct UnitStamp {
    var presentation: MediaTime?
    var decode: MediaTime?
}

/// One elementary stream of the program: continuity, PES headers and the unit that is being put together. What makes
/// the main video different lies in ``AccessUnitAssembly``.
final class PacketizedStream {
    typealias Handler = (ContainerEvent) -> Void

    private enum Layer { case waiting, header, payload }

    let id: Int
    private(set) var description: ElementaryStreamDescription
    private var continuity = -1
    private var lastPayload: UInt64 = 0
    private var layer = Layer.waiting
    private var header = PESHeader()
    /// Payload bytes of the PES packet still to come; -1 when not known.
    private var remaining = -1
    /// The PES packet does not say how long it is.
    private var isUnbounded = false
    /// Nothing in the clear has come since something scrambled.
    private(set) var isScrambled = false
    /// The main video's part; nil for the others, whose unit is the PES packet.
    var video: AccessUnitAssembly?
    private var passing: PassingAssembly?

    init(_ description: ElementaryStreamDescription) {
        id = description.id
        self.description = description
        if description.role == .mainVideo, let codec = description.codec.video {
            video = AccessUnitAssembly(stream: id, codec: codec)
        } else {
            passing = PassingAssembly(stream: id, isMainVideo: description.role == .mainVideo)
        }
    }

    private var isMainVideo: Bool { description.role == .mainVideo }

    func update(_ new: ElementaryStreamDescription) { description = new }

    /// Processes one packet of this PID.
    /// - Parameter p: the packet's 188 bytes.
    func push(
        _ packet: TransportPacket, _ p: UnsafePointer<UInt8>, _ context: inout StreamContext, _ handler: Handler
    ) {
        guard packet.hasPayload else { return }
        let payload = unsafe UnsafeRawBufferPointer(
            start: p + packet.payloadOffset, count: TransportPacket.size - packet.payloadOffset)
        guard unsafe isNext(packet, payload, handler) else { return }
        if packet.isScrambled { return reportScrambling(handler) }
        if packet.startsUnit {
            if passing?.hasUnfinished ?? false { passing!.deliver(.nextStart, handler) }
            isUnbounded = false
            header.begin()
            layer = .header
        }
        passing?.beginPacket(startsPES: packet.startsUnit, isRandomAccess: packet.isRandomAccess)
        video?.beginPacket(startsPES: packet.startsUnit, stuffed: packet.isStuffed, &context, handler)
        unsafe process(payload, &context, handler)
        video?.endPacket(stuffed: packet.isStuffed)
        if packet.isStuffed, isUnbounded, layer == .payload { passing?.endStuffedPacket(handler) }
    }

    private func process(_ payload: UnsafeRawBufferPointer, _ context: inout StreamContext, _ handler: Handler) {
        var at = 0
        if layer == .header {
            switch unsafe header.push(payload, used: &at) {
            case .incomplete: return
            case .malformed:
                layer = .waiting
                return handler(.fault(.brokenHeader, isMainVideo: isMainVideo))
            case .complete:
                layer = header.isScrambled ? .waiting : .payload
                if header.isScrambled { reportScrambling(handler) } else { isScrambled = false }
                remaining = header.payloadLength
                isUnbounded = remaining < 0
                beginPayload(&context)
            }
        }
        guard layer == .payload else {
            if video != nil { handler(.fault(.orphanBytes(payload.count), isMainVideo: true)) }
            return
        }
        var body = unsafe UnsafeRawBufferPointer(rebasing: payload[at...])
        if remaining >= 0 {
            if body.count > remaining { unsafe body = UnsafeRawBufferPointer(rebasing: body.prefix(remaining)) }
            remaining -= body.count
        }
        if video != nil {
            unsafe video!.append(body, &context, handler)
        } else if unsafe passing!.append(body, context, handler) == false {
            layer = .waiting
        }
        if remaining == 0 {
            layer = .waiting
            if video != nil {
                video!.lengthReached(declared: header.declaredLength, &context, handler)
            } else if passing!.hasUnfinished {
                passing!.deliver(.length, handler)
            }
        }
    }

    /// Checks the continuity counter (ISO/IEC 13818-1, 2.4.3.3).
    /// - Returns: false for a duplicate.
    private func isNext(_ packet: TransportPacket, _ payload: UnsafeRawBufferPointer, _ handler: Handler) -> Bool {
        let digest = unsafe Self.digest(payload)
        defer {
            continuity = Int(packet.continuity)
            lastPayload = digest
        }
        guard continuity >= 0, !packet.isDiscontinuous else { return true }
        let step = (Int(packet.continuity) - continuity) & 15
        if step == 1 { return true }
        if step == 0, digest == lastPayload {
            handler(.fault(.duplicatePacket, isMainVideo: isMainVideo))
            return false
        }
        recordLoss()
        handler(.fault(.gap(packets: (step - 1) & 15), isMainVideo: isMainVideo))
        return true
    }

    private func reportScrambling(_ handler: Handler) {
        isScrambled = true
        recordLoss()
        handler(.fault(.scrambledPacket, isMainVideo: isMainVideo))
    }

    /// Packets before the one at hand are missing.
    private func recordLoss() {
        // The end of a PES packet whose bytes are missing cannot be counted to.
        remaining = -1
        if layer == .header { layer = .waiting }
        video?.recordLoss()
        passing?.recordLoss()
    }

    /// Packets are missing, and continuity counters may not show it.
    func recordHiddenLoss() {
        continuity = -1
        recordLoss()
    }

    /// A number by which a payload is compared with the one before it.
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

    private func beginPayload(_ context: inout StreamContext) {
        var stamp = UnitStamp()
        if header.pts >= 0 {
            // The decoding time is unwrapped first, because it moves evenly.
            let decode = context.stamps.unwrap(header.dts >= 0 ? header.dts : header.pts)
            stamp.decode = decode
            stamp.presentation = header.dts >= 0 ? context.stamps.unwrap(header.pts) : decode
        }
        if video != nil {
            video!.beginPES(stamp)
        } else {
            passing!.begin(stamp, context.message)
        }
    }

    /// Delivers what is there.
    func finish(_ context: inout StreamContext, _ handler: Handler) {
        if video != nil {
            video!.finish(&context, handler)
        } else if passing!.hasUnfinished {
            passing!.damage.insert(.truncated)
            passing!.deliver(.endOfStream, handler)
        }
        layer = .waiting
        continuity = -1
    }
}
