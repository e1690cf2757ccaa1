/// The descriptor before a part of a VP8 frame (RFC 7741, 4.2).
struct VP8Descriptor: Hashable, Sendable {
    /// A partition begins with this payload.
    var beginsPartition = false
    /// The partition that the payload begins in.
    var partition = 0
    /// No other frame refers to this one.
    var isDiscardable = false
    /// 7 or 15 bits; nil where it is not sent.
    var picture: UInt16?
    var hasLongPicture = false
    var keyPictureIndex: UInt8?
    var temporalLayer: UInt8?
    var isLayerSync = false
    var keyIndex: UInt8?
    /// Of the descriptor.
    private(set) var byteCount = 1

    /// The payload is a frame's beginning.
    var beginsFrame: Bool { beginsPartition && partition == 0 }

    /// Reads a descriptor.
    /// - Returns: nil when the payload ends in it, or holds nothing else.
    init?(reading payload: Span<UInt8>) {
        guard payload.count > 1 else { return nil }
        let first = payload[0]
        beginsPartition = first & 0x10 != 0
        partition = Int(first & 0x07)
        isDiscardable = first & 0x20 != 0
        guard first & 0x80 != 0 else { return }
        let extensions = payload[1]
        byteCount = 2
        if extensions & 0x80 != 0 {
            guard payload.count > byteCount else { return nil }
            hasLongPicture = payload[byteCount] & 0x80 != 0
            guard payload.count > byteCount + (hasLongPicture ? 1 : 0) else { return nil }
            picture =
                hasLongPicture
                ? UInt16(payload[byteCount] & 0x7f) << 8 | UInt16(payload[byteCount + 1]) : UInt16(payload[byteCount])
            byteCount += hasLongPicture ? 2 : 1
        }
        if extensions & 0x40 != 0 {
            guard payload.count > byteCount else { return nil }
            keyPictureIndex = payload[byteCount]
            byteCount += 1
        }
        if extensions & 0x30 != 0 {
            guard payload.count > byteCount else { return nil }
            let layers = payload[byteCount]
            if extensions & 0x20 != 0 {
                temporalLayer = layers >> 6
                isLayerSync = layers & 0x20 != 0
            }
            if extensions & 0x10 != 0 { keyIndex = layers & 0x1f }
            byteCount += 1
        }
        guard payload.count > byteCount else { return nil }
    }
}

/// Puts VP8 frames together.
struct VP8Depacketiser {
    private var hasBeginning = false

    mutating func beginUnit() { hasBeginning = false }

    static func beginning(of payload: Span<UInt8>) -> PayloadBeginning {
        guard let descriptor = VP8Descriptor(reading: payload) else { return .nothing }
        return descriptor.beginsFrame ? .picture : .part
    }

    /// Appends a part of a frame. It is broken where the frame's beginning has not come.
    mutating func append(_ payload: Span<UInt8>, to storage: UnitStorage, limit: Int) -> PayloadOutcome {
        guard let descriptor = VP8Descriptor(reading: payload) else { return PayloadOutcome(hasStrayBytes: true) }
        if descriptor.beginsFrame, storage.count == 0 { hasBeginning = true }
        guard hasBeginning else { return PayloadOutcome(isBroken: true) }
        let isWhole = storage.append(payload.extracting(descriptor.byteCount..<payload.count), limit: limit)
        return PayloadOutcome(isOversized: !isWhole)
    }
}

/// Cuts VP8 frames into RTP payloads.
@safe public struct VP8Packetiser: ~Copyable {
    /// The most bytes of a payload.
    public let largest: Int
    private var picture = UInt16.random(in: 0..<0x8000)
    private let head = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 4)

    /// - Parameter largest: at least 64.
    public init(largest: Int) {
        precondition(largest >= 64, "a payload has room for a descriptor and some bytes")
        self.largest = largest
    }

    deinit { unsafe head.deallocate() }

    /// Emits a frame's payloads, each in two pieces that belong behind each other.
    public mutating func packetise(
        _ frame: UnsafeRawBufferPointer,
        emit: (_ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, _ isLast: Bool) -> Void
    ) {
        let room = unsafe largest - head.count
        let count = max(1, (frame.count + room - 1) / room)
        var at = 0
        for part in 0..<count where frame.count > 0 {
            let end = frame.count * (part + 1) / count
            unsafe head[0] = part == 0 ? 0x90 : 0x80
            unsafe head[1] = 0x80
            unsafe head[2] = 0x80 | UInt8(picture >> 8)
            unsafe head[3] = UInt8(picture & 0xff)
            unsafe emit(UnsafeRawBufferPointer(head), UnsafeRawBufferPointer(rebasing: frame[at..<end]), part == count - 1)
            at = end
        }
        picture = (picture + 1) & 0x7fff
    }
}
