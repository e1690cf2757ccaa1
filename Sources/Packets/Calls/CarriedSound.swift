import Media

/// When packets of sound carry earlier ones along: while a receiver's link loses some, so that nobody pays for it otherwise. Both formats
/// are agreed on then, and each packet says which one it has.
///
/// A pure value.
struct SoundProtection: Sendable {
    /// Less is what a decoder conceals well.
    static let leastLoss = 0.01
    /// With so much lost, two packets in a row are.
    static let heavyLoss = 0.08
    /// Reports of sound come every five seconds or so, and losses in bursts.
    static let time = Nanoseconds.seconds(15)
    /// A link that carries less loses what is too much for it: bits make that worse.
    static let leastRate: UInt64 = 128_000

    private var light = MonotonicTime(nanoseconds: .min)
    private var heavy = MonotonicTime(nanoseconds: .min)

    /// - Parameter lost: the share of the packets that a report tells of, 0…1.
    mutating func observe(lost: Double, at now: MonotonicTime) {
        if lost >= Self.leastLoss { light = now + Self.time }
        if lost >= Self.heavyLoss { heavy = now + Self.time }
    }

    /// How many earlier packets the next one is to carry.
    /// - Parameter rate: bits a second that the link carries; nil where nobody knows.
    func count(rate: UInt64?, at now: MonotonicTime) -> Int {
        guard now < light, rate ?? .max >= Self.leastRate else { return 0 }
        return now < heavy ? CarriedSound.most : 1
    }
}

/// The newest packets of sound of one receiver, for the next ones to carry along (RFC 2198).
///
/// Fixed memory, allocated by `init`. Owned by one thread at a time.
@safe struct CarriedSound: ~Copyable {
    /// So many are kept.
    static let most = 2
    private static let room = RedundantBlocks.mostBytes

    private struct Slot {
        var timestamp: UInt32 = 0
        /// Zero for one that no packet can carry.
        var byteCount = 0
    }

    /// The newest first.
    private var slots = [Slot](repeating: Slot(), count: most)
    /// Where the newest lies.
    private var place = 0
    private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: most * room, alignment: 16)

    init() {}
    deinit { unsafe bytes.deallocate() }

    /// How many of the earlier packets fit, the newest first.
    /// - Parameters:
    ///   - most: more are not wanted.
    ///   - room: bytes for them and all headers.
    func count(before timestamp: UInt32, most: Int, room: Int) -> Int {
        var (count, left) = (0, room - RedundantBlocks.ownHeaderByteCount)
        while count < min(most, Self.most) {
            let slot = slots[count]
            left -= RedundantBlocks.headerByteCount + slot.byteCount
            let age = timestamp &- slot.timestamp
            guard slot.byteCount > 0, left >= 0, (1...RedundantBlocks.mostAge).contains(age) else { break }
            count += 1
        }
        return count
    }

    /// Writes the headers and the blocks of so many earlier packets, as ``count(before:most:room:)`` allows, up to the packet's own block.
    /// - Returns: how many bytes that are.
    func write(_ count: Int, before timestamp: UInt32, type: UInt8, to memory: UnsafeMutableRawBufferPointer) -> Int {
        var at = 0
        for index in (0..<count).reversed() {
            let slot = slots[index]
            unsafe memory[at] = 0x80 | type
            unsafe memory.setBigEndian(UInt64(timestamp &- slot.timestamp) << 10 | UInt64(slot.byteCount), at: at + 1, 3)
            at += RedundantBlocks.headerByteCount
        }
        unsafe memory[at] = type
        at += RedundantBlocks.ownHeaderByteCount
        for index in (0..<count).reversed() {
            let start = ((place + index) % Self.most) * Self.room
            let end = start + slots[index].byteCount
            unsafe UnsafeMutableRawBufferPointer(rebasing: memory[at...]).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[start..<end]))
            at += slots[index].byteCount
        }
        return at
    }

    /// Keeps a packet, in the place of the oldest.
    mutating func keep(_ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, timestamp: UInt32) {
        place = (place + Self.most - 1) % Self.most
        for index in stride(from: Self.most - 1, to: 0, by: -1) { slots[index] = slots[index - 1] }
        let count = head.count + body.count
        slots[0] = Slot(timestamp: timestamp, byteCount: count <= Self.room ? count : 0)
        guard count <= Self.room else { return }
        let start = place * Self.room
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start...]).copyMemory(from: head)
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[(start + head.count)...]).copyMemory(from: body)
    }
}
