/// The blocks of a payload that carries earlier packets along (RFC 2198): the earlier ones, the oldest first, and the packet's own.
///
/// A pure value: it says where the blocks lie. A block has no number. Senders of calls put the packets right before this one into it, so
/// the block before the own one is the packet before, as libwebrtc and LiveKit have it.
struct RedundantBlocks: Hashable, Sendable {
    struct Block: Hashable, Sendable {
        var payloadType: UInt8
        /// How many ticks of the time stamp it is older than the packet, below 16,384.
        var age: UInt32
        var bytes: Range<Int>
    }

    /// More earlier blocks are no honest payload: libwebrtc reads as many.
    static let most = 31
    /// The bytes before an earlier block, and before the own one.
    static let headerByteCount = 4
    static let ownHeaderByteCount = 1
    /// A block's length has 10 bits, its age 14.
    static let mostBytes = 1 << 10 - 1
    static let mostAge: UInt32 = 1 << 14 - 1

    /// How many earlier blocks there are.
    let count: Int
    /// The packet's own block; its age is 0.
    let own: Block
    private var at: Int
    private var start: Int

    /// - Parameters:
    ///   - bytes: a packet, any bytes.
    ///   - payload: where its payload lies.
    /// - Returns: nil when a header or a block does not fit the payload, or there are more than ``most``.
    init?(reading bytes: Span<UInt8>, _ payload: Range<Int>) {
        var (at, length, count) = (payload.lowerBound, 0, 0)
        while at < payload.upperBound, bytes[at] & 0x80 != 0 {
            guard at + Self.headerByteCount <= payload.upperBound, count < Self.most else { return nil }
            length += Self.length(bytes, at)
            at += Self.headerByteCount
            count += 1
        }
        guard at < payload.upperBound, at + Self.ownHeaderByteCount + length <= payload.upperBound else { return nil }
        start = at + Self.ownHeaderByteCount
        own = Block(payloadType: bytes[at], age: 0, bytes: start + length..<payload.upperBound)
        self.count = count
        self.at = payload.lowerBound
    }

    private static func length(_ bytes: Span<UInt8>, _ at: Int) -> Int { Int(bytes[at + 2] & 3) << 8 | Int(bytes[at + 3]) }

    /// Removes the oldest of the earlier blocks that are left.
    /// - Parameter bytes: those that were read.
    mutating func next(in bytes: Span<UInt8>) -> Block? {
        guard at + Self.headerByteCount < own.bytes.lowerBound, bytes[at] & 0x80 != 0 else { return nil }
        let end = start + Self.length(bytes, at)
        defer { (at, start) = (at + Self.headerByteCount, end) }
        return Block(
            payloadType: bytes[at] & 0x7f, age: UInt32(bytes.bigEndian(at: at + 1, 2) >> 2), bytes: start..<end)
    }
}
