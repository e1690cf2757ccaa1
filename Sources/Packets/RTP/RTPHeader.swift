/// An RTP packet's header (RFC 3550, 5.1).
struct RTPHeader: Hashable, Sendable {
    /// The fixed part, without contributing sources and extension.
    static let byteCount = 12
    /// MPEG transport streams (RFC 3551, table 5).
    static let transportStream: UInt8 = 33

    var payloadType: UInt8
    /// What it means depends on the payload; nothing for transport streams.
    var isMarked = false
    var sequence: UInt16
    /// In ticks of 90 kHz for transport streams.
    var timestamp: UInt32
    /// The synchronisation source: who sends.
    var source: UInt32

    // What else surrounds the payload.
    private var contributors = 0
    private var isExtended = false
    private var isPadded = false

    /// A plain header.
    init(payloadType: UInt8 = transportStream, sequence: UInt16, timestamp: UInt32, source: UInt32) {
        self.payloadType = payloadType
        self.sequence = sequence
        self.timestamp = timestamp
        self.source = source
    }

    /// Reads the fixed part.
    /// - Returns: nil when there are fewer bytes than ``byteCount``, or when it is not a header of this version.
    init?(reading bytes: Span<UInt8>) {
        guard bytes.count >= Self.byteCount, bytes[0] >> 6 == 2 else { return nil }
        contributors = Int(bytes[0] & 0x0f)
        isExtended = bytes[0] & 0x10 != 0
        isPadded = bytes[0] & 0x20 != 0
        isMarked = bytes[1] & 0x80 != 0
        payloadType = bytes[1] & 0x7f
        sequence = UInt16(bytes.bigEndian(at: 2, 2))
        timestamp = UInt32(bytes.bigEndian(at: 4, 4))
        source = UInt32(bytes.bigEndian(at: 8, 4))
    }

    /// What comes after the fixed part. Ranges count from the span's first byte.
    struct Body {
        /// The two bytes that name the extension's form, and its bytes behind its own four-byte header.
        var extensions: (profile: Int, Range<Int>)?
        /// Without padding.
        var payload: Range<Int>
    }

    /// - Parameters:
    ///   - bytes: the packet, or what of it comes after the fixed part.
    ///   - start: where in them the fixed part ends.
    /// - Returns: nil when the packet is shorter than its header says.
    func body(in bytes: Span<UInt8>, from start: Int) -> Body? {
        var body = Body(payload: start + contributors * 4..<Int.max)
        if isExtended {
            let at = body.payload.lowerBound
            guard bytes.count >= at + 4 else { return nil }
            let end = at + 4 + Int(bytes.bigEndian(at: at + 2, 2)) * 4
            body.extensions = (Int(bytes.bigEndian(at: at, 2)), at + 4..<end)
            body.payload = end..<Int.max
        }
        var end = bytes.count
        if isPadded {
            // The last byte counts the padding, itself included.
            guard end > body.payload.lowerBound, bytes[end - 1] > 0 else { return nil }
            end -= Int(bytes[end - 1])
        }
        guard body.payload.lowerBound <= end else { return nil }
        body.payload = body.payload.lowerBound..<end
        return body
    }

    /// Writes a plain header, without contributors, extension and padding.
    /// - Parameter bytes: at least ``byteCount``.
    func write(to bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes[0] = 0x80
        unsafe bytes[1] = payloadType
        unsafe bytes.setBigEndian(UInt64(sequence), at: 2, 2)
        unsafe bytes.setBigEndian(UInt64(timestamp), at: 4, 4)
        unsafe bytes.setBigEndian(UInt64(source), at: 8, 4)
    }
}

extension UnsafeMutableRawBufferPointer {
    func setBigEndian(_ value: UInt64, at start: Int, _ count: Int) {
        for i in 0..<count {
            unsafe self[start + i] = UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - i)))
        }
    }
}
