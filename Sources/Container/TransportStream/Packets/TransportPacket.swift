/// The header and adaptation field of one 188-byte transport packet (ISO/IEC 13818-1, 2.4.3.2 to 2.4.3.5).
struct TransportPacket {
    static let size = 188
    static let syncByte: UInt8 = 0x47
    static let nullPID = 0x1FFF

    var pid: Int
    var hasError: Bool
    /// `payload_unit_start_indicator`: a PES packet or a section begins in the payload.
    var startsUnit: Bool
    var isScrambled: Bool
    var continuity: UInt8
    var hasPayload: Bool
    /// Where the payload begins, from the packet's first byte; it runs to the packet's end, and may be empty.
    var payloadOffset = 4
    /// The adaptation field is longer than what it says: the payload did not fill the packet.
    var isStuffed = false
    var isDiscontinuous = false
    var isRandomAccess = false

    /// Reads the packet that begins at `p`, of which all 188 bytes are readable.
    /// - Returns: nil for an adaptation field that does not fit or a reserved adaptation field control.
    init?(_ p: UnsafePointer<UInt8>) {
        hasError = unsafe p[1] & 0x80 != 0
        startsUnit = unsafe p[1] & 0x40 != 0
        pid = unsafe Int(p[1] & 0x1F) << 8 | Int(p[2])
        isScrambled = unsafe p[3] & 0xC0 != 0
        continuity = unsafe p[3] & 0x0F
        hasPayload = unsafe p[3] & 0x10 != 0
        let hasAdaptation = unsafe p[3] & 0x20 != 0
        guard hasAdaptation else {
            if !hasPayload { return nil }
            return
        }
        let length = unsafe Int(p[4])
        // Some muxers fill a packet that is to have payload with stuffing alone, although the standard leaves room for a byte.
        guard length <= 183 else { return nil }
        payloadOffset = 5 + length
        guard length > 0 else {
            isStuffed = true
            return
        }
        let flags = unsafe p[5]
        isDiscontinuous = flags & 0x80 != 0
        isRandomAccess = flags & 0x40 != 0
        var used = 1
        // The clock references, the splice countdown, private data and the extension.
        if flags & 0x10 != 0, length >= used + 6 { used += 6 }
        if flags & 0x08 != 0 { used += 6 }
        if flags & 0x04 != 0 { used += 1 }
        if flags & 0x02 != 0, used < length { used += 1 + (unsafe Int(p[5 + used])) }
        if flags & 0x01 != 0, used < length { used += 1 + (unsafe Int(p[5 + used])) }
        isStuffed = flags == 0 || used < length
    }
}
