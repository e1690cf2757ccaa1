import Media

/// Keeps messages that came past a gap until the gap is filled or abandoned, and delivers them in the sender's order. With
/// TSBPD off, libsrt delivers messages past a gap where their sender does not mark them as ordered (srt-live-transmit,
/// GStreamer).
///
/// Fixed memory, allocated by `init`. Owned by one thread.
@safe package struct HoldBuffer: ~Copyable {
    private struct Slot {
        static let none = Int64.min
        /// ``none`` where nothing is held.
        var sequence = Slot.none
        var packets = 1
        var byteCount = 0
        var arrival = MonotonicTime(nanoseconds: 0)
        var sourceTime: MonotonicTime?
        /// When the messages missing before this one stop being worth a wait.
        var gapDeadline = MonotonicTime(nanoseconds: 0)
    }

    private let capacity: Int
    private let room: Int
    private var slots: [Slot]
    private let bytes: UnsafeMutableRawBufferPointer
    private(set) var count = 0
    /// The earliest of the messages that are held, if any are.
    private var first: Int64 = 0
    /// The sequence of the message that is to be delivered next; nil before the first message of a connection.
    package private(set) var expected: Int64?

    /// - Parameters:
    ///   - capacity: how many messages may be held.
    ///   - room: the most bytes that one of them may have.
    package init(capacity: Int, room: Int = Message.largest) {
        self.capacity = capacity
        self.room = room
        slots = Array(repeating: Slot(), count: capacity)
        unsafe bytes = .allocate(byteCount: capacity * room, alignment: 64)
    }

    deinit { unsafe bytes.deallocate() }

    /// Says which message is the first of a connection.
    package mutating func begin(at sequence: Int64) { expected = sequence }

    /// What to do with a message that has just come.
    enum Verdict { case deliver, held, duplicate }

    /// Forgets everything: a new connection numbers its messages anew.
    mutating func reset() {
        for i in slots.indices { slots[i].sequence = Slot.none }
        count = 0
        expected = nil
    }

    /// Files a message that has just come.
    /// - Parameters:
    ///   - packets: how many numbers it takes up, from its sequence on.
    ///   - gapDeadline: until when to wait for what is missing before it.
    /// - Returns: `deliver` when it is the one that is due: the caller delivers it.
    mutating func accept(
        _ message: Message, _ contents: UnsafeRawBufferPointer, packets: Int = 1, gapDeadline: MonotonicTime
    ) -> Verdict {
        guard let expected, message.sequence != expected else {
            advance(to: message.sequence + Int64(packets))
            return .deliver
        }
        guard message.sequence > expected else { return .duplicate }
        let index = index(of: message.sequence)
        if slots[index].sequence == message.sequence { return .duplicate }
        unsafe keep(message, contents, packets: packets, gapDeadline: gapDeadline)
        return .held
    }

    /// Skips a message that has come and cannot be used.
    /// - Returns: false when it is not the one that is due: it counts as missing.
    mutating func skip(_ sequence: Int64, packets: Int) -> Bool {
        guard sequence == expected else { return false }
        advance(to: sequence + Int64(packets))
        return true
    }

    private mutating func keep(
        _ message: Message, _ contents: UnsafeRawBufferPointer, packets: Int, gapDeadline: MonotonicTime
    ) {
        precondition((0...room).contains(message.byteCount), "the message would overwrite its neighbour")
        precondition(!isFar(message.sequence), "the message would overwrite an earlier one")
        let index = index(of: message.sequence)
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[(index * room)...]).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: contents[..<message.byteCount]))
        slots[index] = Slot(
            sequence: message.sequence, packets: packets, byteCount: message.byteCount, arrival: message.arrival,
            sourceTime: message.sourceTime, gapDeadline: gapDeadline)
        first = count == 0 ? message.sequence : min(first, message.sequence)
        count += 1
    }

    /// Forgets what is held before the new place. No honest sender's message lies within another one's numbers.
    private mutating func advance(to next: Int64) {
        var sequence = expected ?? next
        let end = min(next, sequence + Int64(capacity))
        expected = next
        while count > 0 && sequence < end {
            let index = index(of: sequence)
            if slots[index].sequence == sequence {
                slots[index].sequence = Slot.none
                count -= 1
            }
            sequence += 1
        }
        guard count > 0 else { return }
        first = max(first, next)
        while slots[index(of: first)].sequence != first { first += 1 }
    }

    /// A connection may begin shortly before its numbers wrap: earlier ones are negative then.
    private func index(of sequence: Int64) -> Int {
        let place = Int(sequence % Int64(capacity))
        return place < 0 ? place + capacity : place
    }

    /// Abandons what is missing before this message, but first what is missing before a held one that comes earlier.
    /// - Returns: how many messages that are; zero when this message is due, or others are due before it.
    mutating func skipGap(before sequence: Int64) -> Int64 {
        guard let expected else { return 0 }
        let next = count > 0 ? min(first, sequence) : sequence
        guard next > expected else { return 0 }
        self.expected = next
        return next - expected
    }

    /// Whether a message with this sequence is too far ahead to be kept: what is missing before it must be abandoned
    /// first (``skipGap(before:)``).
    func isFar(_ sequence: Int64) -> Bool { expected.map { sequence - $0 >= Int64(capacity) } ?? false }

    /// Removes the message that is due, if it is here.
    mutating func popDue(into buffer: UnsafeMutableRawBufferPointer) -> Message? {
        guard count > 0, let expected else { return nil }
        let index = index(of: expected)
        let slot = slots[index]
        guard slot.sequence == expected else { return nil }
        precondition(slot.byteCount <= buffer.count, "the buffer must hold the message")
        let start = index * room
        unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + slot.byteCount]))
        advance(to: expected + Int64(slot.packets))
        return Message(
            byteCount: slot.byteCount, arrival: slot.arrival, sourceTime: slot.sourceTime, sequence: slot.sequence)
    }

    /// Until when the messages that are missing before the first held one are worth a wait; nil when none is missing.
    var gapDeadline: MonotonicTime? {
        guard count > 0 else { return nil }
        return slots[index(of: first)].gapDeadline
    }

    /// Abandons what is missing before the first held message.
    /// - Returns: how many messages that are.
    mutating func skipGap() -> Int64 {
        guard count > 0 else { return 0 }
        return skipGap(before: first)
    }
}
