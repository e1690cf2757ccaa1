import Media

/// The header of a PES packet that goes out (ISO/IEC 13818-1, 2.4.3.7), with its length wherever 16 bits hold it.
struct OutgoingPESHeader {
    /// The longest payload whose length fits with any header of ours.
    static let longestPayload = 65535 - 13

    let streamID: UInt8
    let presentationTime: MediaTime?
    let decodeTime: MediaTime?
    /// The payload's bytes.
    let payload: Int
    /// The payload begins with an access unit.
    let isAligned: Bool

    /// The header's own bytes.
    var length: Int { 9 + (presentationTime == nil ? 0 : 5) + (decodeTime == nil ? 0 : 5) }
    /// The packet says how long it is.
    var hasLength: Bool { length - 6 + payload <= 65535 }

    func write(to bytes: UnsafeMutablePointer<UInt8>) {
        let total = hasLength ? length - 6 + payload : 0
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

    private static func write(_ time: MediaTime, marker: UInt8, to bytes: UnsafeMutablePointer<UInt8>) {
        let ticks = UInt64(bitPattern: time.ticks) & 0x1_ffff_ffff
        unsafe bytes[0] = marker << 4 | UInt8(ticks >> 30 & 7) << 1 | 1
        unsafe bytes[1] = UInt8(ticks >> 22 & 0xff)
        unsafe bytes[2] = UInt8(ticks >> 15 & 0x7f) << 1 | 1
        unsafe bytes[3] = UInt8(ticks >> 7 & 0xff)
        unsafe bytes[4] = UInt8(ticks & 0x7f) << 1 | 1
    }
}
