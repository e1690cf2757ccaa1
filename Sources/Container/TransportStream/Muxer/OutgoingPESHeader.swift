import Media

/// The header of a PES packet that goes out (ISO/IEC 13818-1, 2.4.3.7), with its length wherever 16 bits hold it.
@safe struct OutgoingPESHeader {
    /// A header that came goes out in one transport packet, beside the clock's adaptation field.
    private static let longestOriginal = 160
    /// The longest payload whose length fits, behind a header of so many bytes that came, or any of ours.
    static func longestPayload(behind header: Int) -> Int { 65535 - max(13, header - 6) }

    let streamID: UInt8
    let presentationTime: MediaTime?
    let decodeTime: MediaTime?
    /// The payload's bytes.
    let payload: Int
    /// The payload begins with an access unit.
    var isAligned = false
    /// A header that goes out as it came, with other times and another length; empty for one that is made here.
    private let original: UnsafeRawBufferPointer

    init(
        streamID: UInt8, presentationTime: MediaTime?, decodeTime: MediaTime?, payload: Int, isAligned: Bool = false
    ) {
        self.streamID = streamID
        self.presentationTime = presentationTime
        self.decodeTime = decodeTime
        self.payload = payload
        self.isAligned = isAligned
        unsafe original = UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// The header of a stream that passes, as it came.
    /// - Parameters:
    ///   - original: valid for as long as the value.
    ///   - presentationTime: nil exactly where it has none; else a new header is made.
    init(
        as original: UnsafeRawBufferPointer, presentationTime: MediaTime?, decodeTime: MediaTime?, payload: Int
    ) {
        streamID = unsafe original[3]
        self.payload = payload
        let flags = unsafe original.count >= 9 ? original[7] : 0
        let needed = 9 + (flags & 0x80 == 0 ? 0 : 5) + (flags & 0xc0 == 0xc0 ? 5 : 0)
        let isUsable = original.count < 9 ? presentationTime == nil : (flags & 0x80 != 0) == (presentationTime != nil)
        self.presentationTime = presentationTime
        if isUsable, original.count < 9 || original.count >= needed, original.count <= Self.longestOriginal {
            self.decodeTime = flags & 0xc0 == 0xc0 ? decodeTime ?? presentationTime : nil
            unsafe self.original = original
        } else {
            self.decodeTime = decodeTime
            isAligned = unsafe original.count >= 9 && original[6] & 4 != 0
            unsafe self.original = UnsafeRawBufferPointer(start: nil, count: 0)
        }
    }

    /// The header's own bytes.
    var length: Int {
        unsafe original.isEmpty ? 9 + (presentationTime == nil ? 0 : 5) + (decodeTime == nil ? 0 : 5) : original.count
    }
    /// The packet says how long it is.
    var hasLength: Bool { length - 6 + payload <= 65535 }

    func write(to bytes: UnsafeMutablePointer<UInt8>) {
        let total = hasLength ? length - 6 + payload : 0
        if unsafe !original.isEmpty { return unsafe copy(total, to: bytes) }
        unsafe bytes[0] = 0
        unsafe bytes[1] = 0
        unsafe bytes[2] = 1
        unsafe bytes[3] = streamID
        unsafe bytes[4] = UInt8(total >> 8)
        unsafe bytes[5] = UInt8(total & 0xff)
        unsafe bytes[6] = isAligned ? 0x84 : 0x80
        unsafe bytes[7] = (presentationTime == nil ? 0 : 0x80) | (decodeTime == nil ? 0 : 0x40)
        unsafe bytes[8] = UInt8(length - 9)
        guard let presentationTime else { return }
        unsafe Self.write(presentationTime, marker: decodeTime == nil ? 2 : 3, to: bytes + 9)
        if let decodeTime { unsafe Self.write(decodeTime, marker: 1, to: bytes + 14) }
    }

    private func copy(_ total: Int, to bytes: UnsafeMutablePointer<UInt8>) {
        unsafe UnsafeMutableRawPointer(bytes).copyMemory(from: original.baseAddress!, byteCount: original.count)
        unsafe bytes[4] = UInt8(total >> 8)
        unsafe bytes[5] = UInt8(total & 0xff)
        guard let presentationTime else { return }
        unsafe Self.write(presentationTime, marker: decodeTime == nil ? 2 : 3, to: bytes + 9)
        if let decodeTime { unsafe Self.write(decodeTime, marker: 1, to: bytes + 14) }
    }

    private static func write(_ time: MediaTime, marker: UInt8, to bytes: UnsafeMutablePointer<UInt8>) {
        let ticks = UInt64(bitPattern: time.ticks) & 0x1_ffff_ffff
        unsafe bytes[0] = marker << 4 | UInt8(ticks >> 30 & 7) << 1 | 1
        unsafe bytes[1] = UInt8(ticks >> 22 & 0xff)
        unsafe bytes[2] = UInt8(ticks >> 15 & 0x7f) << 1 | 1
        unsafe bytes[3] = UInt8(ticks >> 7 & 0xff)
        unsafe bytes[4] = UInt8(ticks & 0x7f) << 1 | 1
    }
}
