/// One RTP packet as it lies in memory (RFC 3550, 5.1).
struct RTPPacket {
    var payloadType: UInt8
    var isMarked: Bool
    var sequence: UInt16
    var timestamp: UInt32
    var source: UInt32
    /// Where the payload lies, without padding.
    var payload: Range<Int>
    var extensions = RTPExtensions()

    static let headerByteCount = 12

    /// - Parameter bytes: any bytes.
    /// - Returns: nil when it is no RTP packet, or shorter than it says.
    init?(reading bytes: Span<UInt8>, map: RTPExtensionMap) {
        guard bytes.count >= Self.headerByteCount, bytes[0] >> 6 == 2 else { return nil }
        isMarked = bytes[1] & 0x80 != 0
        payloadType = bytes[1] & 0x7f
        sequence = UInt16(bytes.bigEndian(at: 2, 2))
        timestamp = UInt32(bytes.bigEndian(at: 4, 4))
        source = UInt32(bytes.bigEndian(at: 8, 4))
        var start = Self.headerByteCount + Int(bytes[0] & 15) * 4
        var end = bytes.count
        if bytes[0] & 0x10 != 0 {
            guard start + 4 <= end else { return nil }
            let profile = Int(bytes.bigEndian(at: start, 2))
            let first = start + 4
            start = first + Int(bytes.bigEndian(at: start + 2, 2)) * 4
            guard start <= end else { return nil }
            extensions = RTPExtensions(in: bytes, first..<start, profile: profile, map: map)
        }
        if bytes[0] & 0x20 != 0 {
            guard end > start, bytes[end - 1] > 0 else { return nil }
            end -= Int(bytes[end - 1])
        }
        guard start <= end else { return nil }
        payload = start..<end
    }

    /// Whether a datagram is RTCP (RFC 5761, 4).
    static func isControl(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 2 && bytes[0] >> 6 == 2 && (192...223).contains(bytes[1])
    }
}
