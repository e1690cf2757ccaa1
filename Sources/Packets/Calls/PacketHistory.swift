import Media

/// The newest packets that were sent to one receiver, to be sent again when it asks.
///
/// Fixed memory, allocated by `init`. Owned by one thread at a time.
@safe struct PacketHistory: ~Copyable {
    private struct Slot {
        var sequence: UInt16 = 0
        var byteCount = 0
        var sent = MonotonicTime(nanoseconds: 0)
        var repeated: MonotonicTime?
        /// Where the payload begins.
        var payload = 0
    }

    /// The most bytes of a packet.
    static let room = 1500
    private var slots: [Slot]
    private let bytes: UnsafeMutableRawBufferPointer

    /// - Parameter capacity: a power of two.
    init(capacity: Int) {
        slots = Array(repeating: Slot(), count: capacity)
        unsafe bytes = .allocate(byteCount: capacity * Self.room, alignment: 64)
    }

    deinit { unsafe bytes.deallocate() }

    private func index(of sequence: UInt16) -> Int { Int(sequence) & (slots.count - 1) }

    /// Memory for the packet with a number, in the place of an older one.
    func memory(for sequence: UInt16) -> UnsafeMutableRawBufferPointer {
        let start = index(of: sequence) * Self.room
        return unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + Self.room])
    }

    mutating func record(_ sequence: UInt16, byteCount: Int, payload: Int, at now: MonotonicTime) {
        slots[index(of: sequence)] = Slot(sequence: sequence, byteCount: byteCount, sent: now, payload: payload)
    }

    /// The size of a packet that is to be sent again. A request that comes twice within a round trip is answered once.
    /// - Parameter since: what was sent earlier is too old.
    /// - Returns: nil when it is not here any more, too old, or on its way.
    func byteCount(
        ofRepeat sequence: UInt16, at now: MonotonicTime, roundTrip: Nanoseconds, since: MonotonicTime
    ) -> Int? {
        let slot = slots[index(of: sequence)]
        guard slot.byteCount > 0, slot.sequence == sequence, slot.sent >= since else { return nil }
        if let repeated = slot.repeated, now - repeated < roundTrip { return nil }
        return slot.byteCount
    }

    /// Of the newest packets the largest that has no more than so many bytes, or else the smallest; nil where there are none.
    func number(ofAtMost bytes: Int, before next: UInt16) -> UInt16? {
        var best: (number: UInt16, bytes: Int)?
        for age in 1...UInt16(min(slots.count, 64)) {
            let slot = slots[index(of: next &- age)]
            guard slot.sequence == next &- age, slot.byteCount > 0 else { continue }
            let former = best?.bytes ?? .max
            guard former > bytes ? slot.byteCount < former : former < slot.byteCount && slot.byteCount <= bytes else {
                continue
            }
            best = (slot.sequence, slot.byteCount)
        }
        return best?.number
    }

    /// A packet that ``byteCount(ofRepeat:at:roundTrip:since:)`` knows. It counts as sent again.
    mutating func claim(_ sequence: UInt16, at now: MonotonicTime) -> (packet: UnsafeMutableRawBufferPointer, payload: Int) {
        let index = index(of: sequence)
        slots[index].repeated = now
        let start = index * Self.room
        return unsafe (
            UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + slots[index].byteCount]), slots[index].payload
        )
    }
}
