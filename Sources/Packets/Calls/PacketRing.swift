import Media

/// The packets of one track in their sender's order: keeps those that came past a gap until the gap is filled or abandoned.
///
/// Fixed memory, allocated by `init`. Owned by one thread.
@safe struct PacketRing: ~Copyable {
    private struct Slot {
        static let none = Int64.min
        var number = Slot.none
        var byteCount = 0
        var arrival = RTPArrival()
        /// Until when what is missing before this one is worth a wait.
        var gapDeadline = MonotonicTime(nanoseconds: 0)
    }

    /// The most bytes of a payload.
    static let room = 2048
    private let capacity: Int
    private var slots: [Slot]
    private let bytes: UnsafeMutableRawBufferPointer
    private(set) var count = 0
    /// The number of the packet that is due; nil before the first.
    private(set) var expected: Int64?

    init(capacity: Int) {
        self.capacity = capacity
        slots = Array(repeating: Slot(), count: capacity)
        unsafe bytes = .allocate(byteCount: capacity * Self.room, alignment: 64)
    }

    deinit { unsafe bytes.deallocate() }

    mutating func reset() {
        for i in slots.indices { slots[i].number = Slot.none }
        count = 0
        expected = nil
    }

    private func index(of number: Int64) -> Int {
        let place = Int(number % Int64(capacity))
        return place < 0 ? place + capacity : place
    }

    /// Whether a packet is due or may come to be: it is neither delivered, abandoned nor here.
    func awaits(_ number: Int64) -> Bool {
        guard let expected else { return true }
        return number >= expected && slots[index(of: number)].number != number
    }

    /// Whether a packet lies too far ahead to be kept.
    func isFar(_ number: Int64) -> Bool { expected.map { number - $0 >= Int64(capacity) } ?? false }

    /// Keeps a packet that ``awaits(_:)`` and is not far.
    mutating func insert(
        _ payload: Span<UInt8>, _ arrival: RTPArrival, number: Int64, gapDeadline: MonotonicTime
    ) {
        if expected == nil { expected = number }
        let index = index(of: number)
        precondition(payload.count <= Self.room && awaits(number) && !isFar(number), "the packet would overwrite another one")
        unsafe payload.withUnsafeBytes { source in
            unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[(index * Self.room)...]).copyMemory(from: source)
        }
        slots[index] = Slot(number: number, byteCount: payload.count, arrival: arrival, gapDeadline: gapDeadline)
        count += 1
    }

    /// Removes the packet that is due, if it is here.
    /// - Parameter buffer: at least ``room`` bytes.
    mutating func popDue(into buffer: UnsafeMutableRawBufferPointer) -> (RTPArrival, byteCount: Int)? {
        guard count > 0, let number = expected else { return nil }
        let index = index(of: number)
        guard slots[index].number == number else { return nil }
        let start = index * Self.room
        unsafe buffer.copyMemory(
            from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[start..<start + slots[index].byteCount]))
        slots[index].number = Slot.none
        count -= 1
        expected = number + 1
        return (slots[index].arrival, slots[index].byteCount)
    }

    /// The first packet that is here, where the one that is due is not.
    private var firstHeld: Slot? {
        guard count > 0, var number = expected else { return nil }
        for _ in 0..<capacity {
            let slot = slots[index(of: number)]
            if slot.number == number { return slot }
            number += 1
        }
        return nil
    }

    /// Until when the missing packets before the first one that is here are worth a wait; nil when none is missing.
    var gapDeadline: MonotonicTime? {
        guard let first = firstHeld, first.number != expected else { return nil }
        return first.gapDeadline
    }

    /// Abandons what is missing before the first packet that is here, or before a number that is to be kept.
    /// - Returns: how many packets that are.
    mutating func skipGap(before number: Int64 = .max) -> Int64 {
        guard let expected else { return 0 }
        let next = min(firstHeld?.number ?? number, number)
        guard next < .max, next > expected else { return 0 }
        self.expected = next
        return next - expected
    }
}
