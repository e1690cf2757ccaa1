/// Collects and reads the header of a PES packet (ISO/IEC 13818-1, 2.4.3.6), which may span transport packets.
struct PESHeader {
    private var bytes = InlineArray<268, UInt8>(repeating: 0)
    private var count = 0
    private var needed = 6

    /// Payload bytes that the packet declares; -1 when it leaves its length open.
    private(set) var payloadLength = -1
    /// `PES_packet_length` as written.
    private(set) var declaredLength = 0
    /// The 33-bit stamps; -1 when absent.
    private(set) var pts: Int64 = -1
    private(set) var dts: Int64 = -1
    private(set) var isScrambled = false

    enum Progress { case incomplete, complete, malformed }

    mutating func begin() {
        count = 0
        needed = 6
        payloadLength = -1
        pts = -1
        dts = -1
        isScrambled = false
    }

    /// Reads header bytes from the front of `payload`. Any bytes at all.
    /// - Parameter used: how many bytes belonged to the header.
    mutating func push(_ payload: UnsafeRawBufferPointer, used: inout Int) -> Progress {
        used = 0
        while true {
            while count < needed {
                guard used < payload.count else { return .incomplete }
                bytes[count] = unsafe payload[used]
                count += 1
                used += 1
            }
            switch count {
            case 6:
                guard bytes[0] == 0, bytes[1] == 0, bytes[2] == 1 else { return .malformed }
                declaredLength = Int(bytes[4]) << 8 | Int(bytes[5])
                guard Self.hasOptionalHeader(bytes[3]) else {
                    payloadLength = declaredLength
                    return Self.isPadding(bytes[3]) ? .malformed : .complete
                }
                needed = 9
            case 9 where needed == 9 && bytes[8] > 0:
                needed = 9 + Int(bytes[8])
            default:
                return read() ? .complete : .malformed
            }
        }
    }

    /// The header as it came, for streams that pass: without a clock reference (ESCR), which would be another clock's in the output.
    mutating func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        if needed > 9, bytes[7] & 0x20 != 0 { removeClock() }
        let count = self.count
        unsafe bytes.span.withUnsafeBytes { unsafe body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    private mutating func removeClock() {
        let at = 9 + (bytes[7] & 0x80 != 0 ? 5 : 0) + (bytes[7] & 0xC0 == 0xC0 ? 5 : 0)
        bytes[7] &= ~0x20
        guard at + 6 <= count else { return }
        for i in at..<count { bytes[i] = i + 6 < count ? bytes[i + 6] : 0xFF }
    }

    private mutating func read() -> Bool {
        guard bytes[6] & 0xC0 == 0x80 else { return false }
        isScrambled = bytes[6] & 0x30 != 0
        // A length that has no room for the header is wrong, and says nothing.
        if declaredLength >= needed - 6 { payloadLength = declaredLength - (needed - 6) }
        if bytes[7] & 0x80 != 0, needed >= 14 { pts = stamp(at: 9) }
        if bytes[7] & 0xC0 == 0xC0, needed >= 19 { dts = stamp(at: 14) }
        return true
    }

    private func stamp(at i: Int) -> Int64 {
        Int64(bytes[i] >> 1 & 7) << 30 | Int64(bytes[i + 1]) << 22 | Int64(bytes[i + 2] >> 1) << 15
            | Int64(bytes[i + 3]) << 7 | Int64(bytes[i + 4] >> 1)
    }

    private static func isPadding(_ streamID: UInt8) -> Bool { streamID == 0xBE }

    /// False for the stream ids whose payload follows right after the length (table 2-21).
    private static func hasOptionalHeader(_ streamID: UInt8) -> Bool {
        switch streamID {
        case 0xBC, 0xBE, 0xBF, 0xF0, 0xF1, 0xF2, 0xF8, 0xFF: false
        default: true
        }
    }
}
