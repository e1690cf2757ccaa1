/// An RTP packet's header (RFC 3550, 5.1).
struct RTPHeader: Hashable, Sendable {
    /// The fixed part, without contributing sources and extension.
    static let byteCount = 12
    /// MPEG transport streams (RFC 3551, table 5).
    static let transportStream: UInt8 = 33

    var payloadType: UInt8
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
    /// - Parameter bytes: at least ``byteCount``.
    /// - Returns: nil when it is not a header of this version.
    init?(reading bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.byteCount, unsafe bytes[0] >> 6 == 2 else { return nil }
        contributors = unsafe Int(bytes[0] & 0x0f)
        isExtended = unsafe bytes[0] & 0x10 != 0
        isPadded = unsafe bytes[0] & 0x20 != 0
        // The marker bit above it means nothing for transport streams.
        payloadType = unsafe bytes[1] & 0x7f
        sequence = unsafe UInt16(truncatingIfNeeded: bytes.bigEndian(at: 2, 2))
        timestamp = unsafe UInt32(truncatingIfNeeded: bytes.bigEndian(at: 4, 4))
        source = unsafe UInt32(truncatingIfNeeded: bytes.bigEndian(at: 8, 4))
    }

    /// Where the payload lies in the bytes after the fixed part.
    /// - Returns: nil when the packet is shorter than its header says.
    func payload(in rest: UnsafeRawBufferPointer) -> Range<Int>? {
        var start = contributors * 4
        if isExtended {
            guard rest.count >= start + 4 else { return nil }
            start += unsafe 4 + Int(rest.bigEndian(at: start + 2, 2)) * 4
        }
        var end = rest.count
        if isPadded {
            // The last byte counts the padding, itself included.
            guard end > start, let last = unsafe rest.last, last > 0 else { return nil }
            end -= Int(last)
        }
        return start <= end ? start..<end : nil
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

extension UnsafeRawBufferPointer {
    /// A number of so many bytes, the highest first. The caller has checked that they are there.
    func bigEndian(at start: Int, _ count: Int) -> UInt64 {
        var value: UInt64 = 0
        for i in start..<start + count { value = unsafe value << 8 | UInt64(self[i]) }
        return value
    }
}

extension UnsafeMutableRawBufferPointer {
    func setBigEndian(_ value: UInt64, at start: Int, _ count: Int) {
        for i in 0..<count {
            unsafe self[start + i] = UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - i)))
        }
    }
}
