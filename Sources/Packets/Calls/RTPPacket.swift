/// One RTP packet of a call as it lies in memory: an ``RTPHeader`` with what its extensions say.
struct RTPPacket {
    var payloadType: UInt8
    var isMarked: Bool
    var sequence: UInt16
    var timestamp: UInt32
    var source: UInt32
    /// Where the payload lies, without padding.
    var payload: Range<Int>
    var extensions = RTPExtensions()

    static let headerByteCount = RTPHeader.byteCount

    /// - Parameter bytes: any bytes.
    /// - Returns: nil when it is no RTP packet, or shorter than it says.
    init?(reading bytes: Span<UInt8>, map: RTPExtensionMap) {
        guard let header = RTPHeader(reading: bytes), let body = header.body(in: bytes, from: RTPHeader.byteCount) else {
            return nil
        }
        (payloadType, isMarked, sequence) = (header.payloadType, header.isMarked, header.sequence)
        (timestamp, source, payload) = (header.timestamp, header.source, body.payload)
        if let (profile, range) = body.extensions {
            extensions = RTPExtensions(in: bytes, range, profile: profile, map: map)
        }
    }

    /// Whether a datagram is RTCP (RFC 5761, 4).
    static func isControl(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 2 && bytes[0] >> 6 == 2 && (192...223).contains(bytes[1])
    }
}
