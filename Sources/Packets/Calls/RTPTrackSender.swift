import Media

/// One track of a session that sends: its numbers, time stamps, and what it remembers. Owned by its session.
@safe final class RTPTrackSender {
    let track: RTPTrack
    let source: UInt32
    let retransmissionSource: UInt32
    private let stampBase = UInt32.random(in: 0 ... .max)
    private var sequence = UInt16.random(in: 0...0x7fff)
    private var retransmissionSequence = UInt16.random(in: 0...0x7fff)
    private var sound = SoundStamps()
    private var history: PacketHistory
    /// Where the receiver reads packets that carry earlier ones along.
    private var carried: CarriedSound?
    /// Packets that were sent earlier are not sent again.
    private var oldestRepeated = MonotonicTime(nanoseconds: .min)
    private(set) var packets: UInt32 = 0
    private(set) var bytes: UInt32 = 0
    private(set) var hasBegun = false
    /// Packets that carried earlier ones along.
    private(set) var carrying: Int64 = 0
    /// Whether packets that are sent again are packets of their own, and not the same bytes.
    var hasOwnRepeats: Bool { track.formats[0].retransmission != nil }
    /// Whether packets of pictures were sent, and can leave again so.
    var isRepeatedApart: Bool { track.isVideo && hasBegun && hasOwnRepeats }
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: PacketHistory.room + 2, alignment: 16)

    /// The most bytes of a payload.
    static let mostPayload = PacketHistory.room - RTPPacketWriter.mostBytes

    /// Packets that were sent earlier are of no use to anybody.
    static let longestAge = Nanoseconds.seconds(1)

    init(_ track: RTPTrack) {
        self.track = track
        // Where nothing is sent again, a packet stays until the next one is built.
        history = PacketHistory(capacity: track.feedback.contains(.retransmission) ? 512 : 1)
        carried = track.formats[0].redundancy == nil ? nil : CarriedSound()
        source = track.source ?? .random(in: 1 ... .max)
        retransmissionSource = track.retransmissionSource ?? .random(in: 1 ... .max)
    }

    deinit { unsafe scratch.deallocate() }

    /// The RTP time stamp of a packet. All packets of a picture have the same.
    func timestamp(ofPacket presentation: MediaTime, at now: MonotonicTime) -> UInt32 {
        track.isVideo ? count(presentation) : count(sound.time(of: presentation, at: now))
    }

    /// The RTP time stamp of a time of the stream, as the packets sent last count it.
    func timestamp(_ presentation: MediaTime) -> UInt32 {
        track.isVideo ? count(presentation) : count(sound.time(presentation))
    }

    private func count(_ presentation: MediaTime) -> UInt32 {
        let rate = Int64(track.formats[0].clockRate)
        let (seconds, rest) = presentation.ticks.quotientAndRemainder(dividingBy: MediaTime.ticksPerSecond)
        return stampBase
            &+ UInt32(truncatingIfNeeded: seconds * rate + rest * rate / MediaTime.ticksPerSecond)
    }

    /// Builds a packet and remembers it.
    /// - Parameter earlier: so many of the packets before it carries along, where the receiver reads that and there is room.
    /// - Returns: the packet, valid until the next one; nil when the payload is too large.
    func build(
        _ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, timestamp: UInt32, isMarked: Bool,
        _ extensions: RTPExtensions, carrying earlier: Int = 0, at now: MonotonicTime
    ) -> UnsafeRawBufferPointer? {
        // Before anything is written: the place still has an older packet, which may be asked for.
        guard head.count + body.count <= Self.mostPayload else { return nil }
        let memory = unsafe history.memory(for: sequence)
        let format = track.formats[0]
        let fitting =
            carried?.count(before: timestamp, most: earlier, room: Self.mostPayload - head.count - body.count) ?? 0
        let header = unsafe RTPPacketWriter.writeHeader(
            to: memory, payloadType: fitting > 0 ? format.redundancy ?? format.payloadType : format.payloadType,
            isMarked: isMarked, sequence: sequence, timestamp: timestamp, source: source, extensions, track)
        var start = header
        if fitting > 0 {
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[start...])
            start += unsafe carried?.write(fitting, before: timestamp, type: format.payloadType, to: room) ?? 0
            carrying += 1
        }
        unsafe carried?.keep(head, body, timestamp: timestamp)
        let count = start + head.count + body.count
        if head.count > 0 {
            unsafe UnsafeMutableRawBufferPointer(rebasing: memory[start...]).copyMemory(from: head)
        }
        if body.count > 0 {
            unsafe UnsafeMutableRawBufferPointer(rebasing: memory[(start + head.count)...]).copyMemory(from: body)
        }
        history.record(sequence, byteCount: count, payload: header, at: now)
        sequence &+= 1
        packets &+= 1
        bytes &+= UInt32(truncatingIfNeeded: count - header)
        hasBegun = true
        return unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count])
    }

    /// The size of a packet that is to be sent again; nil when it is not to be.
    func byteCount(ofRepeat lost: UInt16, at now: MonotonicTime, roundTrip: Nanoseconds) -> Int? {
        history.byteCount(
            ofRepeat: lost, at: now, roundTrip: roundTrip, since: max(oldestRepeated, now - Self.longestAge))
    }

    /// The number of the next packet.
    var nextNumber: UInt16 { sequence }

    /// Builds the newest packet once more. Only where ``hasOwnRepeats`` and a packet was sent.
    func rebuildNewest(_ extensions: RTPExtensions, at now: MonotonicTime) -> UnsafeRawBufferPointer {
        unsafe rebuild(sequence &- 1, extensions, at: now)
    }

    /// One of the newest packets, to leave again as a probe: with no more than so many bytes if there is one.
    func packet(ofAtMost bytes: Int) -> UInt16? { history.number(ofAtMost: bytes, before: sequence) }

    /// Nothing that was sent before a time is of use to the receiver any more.
    func forget(before time: MonotonicTime) { oldestRepeated = time }

    /// Builds a packet that is sent again: in the format for it, or as it was.
    /// - Parameter lost: one whose size ``byteCount(ofRepeat:at:roundTrip:)`` knows.
    /// - Returns: the packet, valid until the next call.
    func rebuild(_ lost: UInt16, _ extensions: RTPExtensions, at now: MonotonicTime) -> UnsafeRawBufferPointer {
        let (old, payload) = unsafe history.claim(lost, at: now)
        guard let type = track.formats[0].retransmission else {
            // To the byte: SRTP's cipher would tell its key otherwise.
            return UnsafeRawBufferPointer(old)
        }
        // RFC 4588, 4: the number that the packet had stands before its payload.
        unsafe scratch.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(old)[..<payload]))
        unsafe scratch[1] = scratch[1] & 0x80 | type
        unsafe scratch.setBigEndian(UInt64(retransmissionSequence), at: 2, 2)
        unsafe scratch.setBigEndian(UInt64(retransmissionSource), at: 8, 4)
        unsafe RTPPacketWriter.refresh(extensions, track, in: scratch)
        unsafe scratch.setBigEndian(UInt64(lost), at: payload, 2)
        unsafe UnsafeMutableRawBufferPointer(rebasing: scratch[(payload + 2)...]).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(old)[payload...]))
        retransmissionSequence &+= 1
        return unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(scratch)[..<(old.count + 2)])
    }
}

/// Writes RTP packets' headers.
enum RTPPacketWriter {
    /// The most bytes of a header: 16, and two for each element with its 3, 2, 3, 16 and 16 bytes.
    static let mostBytes = 68

    /// - Parameter bytes: at least ``mostBytes``.
    /// - Returns: where the payload begins.
    static func writeHeader(
        to bytes: UnsafeMutableRawBufferPointer, payloadType: UInt8, isMarked: Bool, sequence: UInt16, timestamp: UInt32,
        source: UInt32, _ extensions: RTPExtensions, _ track: RTPTrack
    ) -> Int {
        unsafe bytes[0] = 0x80
        unsafe bytes[1] = payloadType | (isMarked ? 0x80 : 0)
        unsafe bytes.setBigEndian(UInt64(sequence), at: 2, 2)
        unsafe bytes.setBigEndian(UInt64(timestamp), at: 4, 4)
        unsafe bytes.setBigEndian(UInt64(source), at: 8, 4)
        let map = track.extensions
        guard map.largest > 0 else { return RTPPacket.headerByteCount }
        var at = 16
        let isLong = map.largest > 14
        if let time = extensions.absoluteSendTime, map.absoluteSendTime > 0 {
            at = unsafe element(bytes, at, map.absoluteSendTime, 3, isLong)
            unsafe bytes.setBigEndian(UInt64(time), at: at - 3, 3)
        }
        if let number = extensions.transportSequence, map.transportSequence > 0 {
            at = unsafe element(bytes, at, map.transportSequence, 2, isLong)
            unsafe bytes.setBigEndian(UInt64(number), at: at - 2, 2)
        }
        if let least = extensions.leastPlayoutDelay, let most = extensions.mostPlayoutDelay, map.playoutDelay > 0 {
            at = unsafe element(bytes, at, map.playoutDelay, 3, isLong)
            unsafe bytes.setBigEndian(UInt64(least & 0xfff) << 12 | UInt64(most & 0xfff), at: at - 3, 3)
        }
        if let capture = extensions.captureTime, map.absoluteCaptureTime > 0 {
            let count = extensions.captureClockOffset == nil ? 8 : 16
            at = unsafe element(bytes, at, map.absoluteCaptureTime, count, isLong)
            unsafe bytes.setBigEndian(capture, at: at - count, 8)
            if let offset = extensions.captureClockOffset {
                unsafe bytes.setBigEndian(UInt64(bitPattern: offset), at: at - 8, 8)
            }
        }
        // A part of the name would be another track's, and 16 bytes are the most of an element's short form.
        if let name = track.mid?.utf8, map.mid > 0, (1...16).contains(name.count) {
            at = unsafe element(bytes, at, map.mid, name.count, isLong)
            var place = at - name.count
            for byte in name {
                unsafe bytes[place] = byte
                place += 1
            }
        }
        guard at > 16 else { return RTPPacket.headerByteCount }
        while at % 4 != 0 {
            unsafe bytes[at] = 0
            at += 1
        }
        unsafe bytes[0] = 0x90
        unsafe bytes.setBigEndian(isLong ? 0x1000 : 0xbede, at: 12, 2)
        unsafe bytes.setBigEndian(UInt64((at - 16) / 4), at: 14, 2)
        return at
    }

    /// Writes an element's header.
    /// - Returns: where the element ends.
    private static func element(
        _ bytes: UnsafeMutableRawBufferPointer, _ at: Int, _ id: Int, _ count: Int, _ isLong: Bool
    ) -> Int {
        if isLong {
            unsafe bytes[at] = UInt8(id)
            unsafe bytes[at + 1] = UInt8(count)
            return at + 2 + count
        }
        unsafe bytes[at] = UInt8(id << 4 | (count - 1))
        return at + 1 + count
    }

    /// Writes anew what a packet says of its own sending. Other elements stay.
    static func refresh(_ extensions: RTPExtensions, _ track: RTPTrack, in packet: UnsafeMutableRawBufferPointer) {
        guard unsafe packet[0] & 0x10 != 0 else { return }
        let map = track.extensions
        let isLong = map.largest > 14
        // The order in which they were written.
        var at = 16
        if let time = extensions.absoluteSendTime, map.absoluteSendTime > 0 {
            at += (isLong ? 2 : 1) + 3
            unsafe packet.setBigEndian(UInt64(time), at: at - 3, 3)
        }
        if let number = extensions.transportSequence, map.transportSequence > 0 {
            at += (isLong ? 2 : 1) + 2
            unsafe packet.setBigEndian(UInt64(number), at: at - 2, 2)
        }
    }
}
