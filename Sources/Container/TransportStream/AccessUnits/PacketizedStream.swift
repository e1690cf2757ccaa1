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
    /// Whether one counter for all streams explains the counter of the packet at hand.
    var hasSharedCounter = false
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
    private var continuity = ContinuityCheck()
    private var hasComplained = false
    private var layer = Layer.waiting
    private var header = PESHeader()
    /// Payload bytes of the PES packet still to come; -1 when not known.
    private var remaining = -1
    /// The PES packet does not say how long it is.
    private var isUnbounded = false
    /// The PES packet's length was reached with the newest packet, and so many bytes behind it were taken for padding; nil elsewhere.
    private var padding: Int?
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
        _ packet: TransportPacket, _ p: UnsafePointer<UInt8>, _ context: inout StreamContext,
        _ handler: Handler
    ) {
        guard packet.hasPayload else { return continuity.passEmpty(packet.continuity) }
        let payload = unsafe UnsafeRawBufferPointer(
            start: p + packet.payloadOffset, count: TransportPacket.size - packet.payloadOffset)
        guard unsafe isNext(packet, payload, context, handler) else { return }
        // Stuffing alone says nothing of where units end.
        if unsafe payload.isEmpty, !packet.startsUnit { return }
        if packet.isScrambled { return reportScrambling(handler) }
        if packet.startsUnit {
            if passing?.hasUnfinished ?? false { passing!.deliver(.nextStart, handler) }
            isUnbounded = false
            padding = nil
            header.begin()
            layer = .header
        }
        passing?.beginPacket(startsPES: packet.startsUnit, isRandomAccess: packet.isRandomAccess)
        video?.beginPacket(startsPES: packet.startsUnit, stuffed: packet.isStuffed, &context, handler)
        if padding != nil, dataOutweighsLength { goOnBehindLength(&context, handler) }
        unsafe process(payload, isStuffed: packet.isStuffed, &context, handler)
        video?.endPacket(stuffed: packet.isStuffed)
        if packet.isStuffed, isUnbounded, layer == .payload { passing?.endStuffedPacket(handler) }
    }

    private func process(
        _ payload: UnsafeRawBufferPointer, isStuffed: Bool, _ context: inout StreamContext, _ handler: Handler
    ) {
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
        if remaining >= 0 { unsafe bound(&body) }
        if video != nil {
            unsafe video!.append(body, &context, handler)
        } else if unsafe passing!.append(body, context, handler) == false {
            layer = .waiting
        }
        if remaining == 0 {
            layer = .waiting
            if video != nil {
                video!.lengthReached(declared: header.declaredLength, stuffed: isStuffed, &context, handler)
            } else if passing!.hasUnfinished {
                passing!.deliver(.length, handler)
            }
        }
    }

    // MARK: Lengths that are wrong

    /// Some muxers state the length of a large unit modulo 65,536, or without what they add later. Of pictures and sound all bytes
    /// count then. Of other streams the length does.
    private var dataOutweighsLength: Bool { isMainVideo || description.codec.isVideo || description.codec.isSound }

    /// Leaves out what lies beyond the PES packet's length, or forgets the length where that cannot be padding.
    private func bound(_ body: inout UnsafeRawBufferPointer) {
        let beyond = body.count - remaining
        if beyond > 0 {
            if dataOutweighsLength, unsafe body.suffix(beyond).contains(where: { $0 != 0xFF }) {
                remaining = -1
                isUnbounded = true
                video?.lengthWasWrong()
                return
            }
            unsafe body = UnsafeRawBufferPointer(rebasing: body.prefix(remaining))
        }
        remaining -= body.count
        if remaining == 0 { padding = max(0, beyond) }
    }

    /// A packet continues a PES packet whose length was reached.
    private func goOnBehindLength(_ context: inout StreamContext, _ handler: Handler) {
        let missing = padding ?? 0
        (padding, layer, remaining, isUnbounded) = (nil, .payload, -1, true)
        if video != nil {
            video!.lengthWasWrong()
        } else if !passing!.hasUnfinished {
            unsafe passing!.begin(UnitStamp(), header: UnsafeRawBufferPointer(start: nil, count: 0), context.message)
        }
        // What looked like padding was none.
        unsafe Self.ones.prefix(missing).withUnsafeBytes { bytes in
            if video != nil {
                unsafe video!.append(bytes, &context, handler)
            } else {
                _ = unsafe passing!.append(bytes, context, handler)
            }
        }
    }

    private static let ones = [UInt8](repeating: 0xFF, count: TransportPacket.size)

    // MARK: Losses

    /// Checks the continuity counter.
    /// - Returns: false for a duplicate.
    private func isNext(
        _ packet: TransportPacket, _ payload: UnsafeRawBufferPointer, _ context: StreamContext, _ handler: Handler
    ) -> Bool {
        let finding = unsafe continuity.judge(
            packet, payload: Self.digest(payload), isShared: context.hasSharedCounter, isLengthReached: padding != nil)
        switch finding {
        case .next:
            if !hasComplained, continuity.contradictions >= ContinuityCheck.complaint {
                hasComplained = true
                handler(.fault(.wrongCounters(stream: id), isMainVideo: isMainVideo))
            }
            return true
        case .duplicate:
            handler(.fault(.duplicatePacket, isMainVideo: isMainVideo))
            return false
        case .gap(let packets):
            recordLoss()
            handler(.fault(.gap(packets: packets), isMainVideo: isMainVideo))
            return true
        }
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
        padding = nil
        if layer == .header { layer = .waiting }
        video?.recordLoss()
        passing?.recordLoss()
    }

    /// Packets are missing, and continuity counters may not show it.
    func recordHiddenLoss() {
        continuity.forget()
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
            let message = context.message
            unsafe header.withBytes { unsafe passing!.begin(stamp, header: $0, message) }
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
        padding = nil
        continuity = ContinuityCheck()
    }
}
