import Media

/// Supplemental messages (SEI) that go before a picture's first slice: how it is to be turned (ITU-T H.264, D.1.27; H.265, D.2.17), and
/// what it carries for viewers (D.1.6; D.2.6). The wrappers of libx264 and libx265 cannot write all of them.
///
/// Confined to one thread at a time. Allocates only when a unit is larger than any before.
struct UnitMessages {
    private let codec: OutputCodec
    /// NAL units with start codes.
    private var messages: [UInt8] = []
    /// The contents of the message that is being written.
    private var payload: [UInt8] = []
    private var memory: [UInt8] = []

    private static let registeredUserData: UInt8 = 4
    private static let displayOrientation: UInt8 = 47

    init(for codec: OutputCodec) { self.codec = codec }

    var isEmpty: Bool { messages.isEmpty }

    mutating func removeAll() { messages.removeAll(keepingCapacity: true) }

    /// Upright pictures need none.
    mutating func append(_ orientation: Orientation) {
        if orientation == .upright { return }
        // Not cancelled, both flips, 16 bits of rotation, and that it holds until the next keyframe: H.264 has the repetition period 1
        // (as ue(v) 010) and no extension, HEVC one bit. Then a one to fill the last byte.
        let flips: UInt32 = (orientation.isFlippedHorizontally ? 2 : 0) + (orientation.isFlippedVertically ? 1 : 0)
        let bits = flips << 21 | UInt32(orientation.rotation) << 5 | (codec == .h264 ? 0b01001 : 0b11000)
        payload.append(UInt8(bits >> 16 & 255))
        payload.append(UInt8(bits >> 8 & 255))
        payload.append(UInt8(bits & 255))
        write(Self.displayOrientation)
    }

    mutating func append(_ data: PictureUserData) {
        if data.pieces > 0 {
            beginRegistered("GA94")
            payload.append(3)
            let count = min(data.pieces, PictureUserData.messageCapacity)
            payload.append(0x40 | UInt8(count))
            payload.append(0xFF)
            for byte in 0..<count * PictureUserData.pieceBytes { payload.append(data[byte]) }
            payload.append(0xFF)
            write(Self.registeredUserData)
        }
        if let format = data.activeFormat {
            beginRegistered("DTG1")
            payload.append(0x41)
            payload.append(0xF0 | format)
            write(Self.registeredUserData)
        }
        if let bars = data.bars {
            beginRegistered("GA94")
            payload.append(6)
            let flags = payload.count
            payload.append(0x0F)
            append(bars.endOfTop, 0x80, flags)
            append(bars.startOfBottom, 0x40, flags)
            append(bars.endOfLeft, 0x20, flags)
            append(bars.startOfRight, 0x10, flags)
            write(Self.registeredUserData)
        }
    }

    private mutating func append(_ place: UInt16?, _ flag: UInt8, _ flags: Int) {
        guard let place else { return }
        payload[flags] |= flag
        payload.append(0xC0 | UInt8(place >> 8 & 0x3F))
        payload.append(UInt8(place & 255))
    }

    /// Recommendation ITU-T T.35: the United States, and ATSC.
    private mutating func beginRegistered(_ name: StaticString) {
        payload.append(0xB5)
        payload.append(0)
        payload.append(0x31)
        unsafe payload.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    /// Writes the payload as a NAL unit, with emulation prevention (7.4.1).
    private mutating func write(_ type: UInt8) {
        let start: InlineArray<4, UInt8> = [0, 0, 0, 1]
        for place in start.indices { messages.append(start[place]) }
        switch codec {
        case .h264: messages.append(6)
        case .hevc:
            // Prefix SEI (39) of the base layer, for the lowest temporal sub-layer.
            messages.append(39 << 1)
            messages.append(1)
        }
        messages.append(type)
        var zeros = 0
        func protected(_ byte: UInt8, _ messages: inout [UInt8]) {
            if zeros >= 2, byte <= 3 {
                messages.append(3)
                zeros = 0
            }
            messages.append(byte)
            zeros = byte == 0 ? zeros + 1 : 0
        }
        protected(UInt8(payload.count), &messages)
        for byte in payload { protected(byte, &messages) }
        messages.append(0x80)
        payload.removeAll(keepingCapacity: true)
    }

    /// The access unit with the messages before its first slice. Valid until the next call.
    mutating func insert(into coded: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        let place = unsafe firstSlice(of: coded)
        memory.removeAll(keepingCapacity: true)
        unsafe memory.append(contentsOf: coded[..<place])
        memory.append(contentsOf: messages)
        unsafe memory.append(contentsOf: coded[place...])
        unsafe memory.withUnsafeBytes { unsafe body($0) }
    }

    /// Where the start code of the first slice is; the end where there is none.
    private func firstSlice(of coded: UnsafeRawBufferPointer) -> Int {
        var at = 0
        while at + 3 < coded.count {
            if unsafe coded[at] == 0, unsafe coded[at + 1] == 0, unsafe coded[at + 2] == 1 {
                if isSlice(unsafe coded[at + 3]) { return unsafe at > 0 && coded[at - 1] == 0 ? at - 1 : at }
                at += 4
            } else {
                at += 1
            }
        }
        return coded.count
    }

    /// - Parameter header: the first byte of a NAL unit.
    private func isSlice(_ header: UInt8) -> Bool {
        switch codec {
        case .h264: header & 31 == 1 || header & 31 == 5
        case .hevc: header >> 1 & 63 < 32
        }
    }
}
