import Media

/// Packets that have come and wait to be read, the oldest first. When it is full, the newest one is dropped and counted: whoever
/// reads is stuck. Thread-safe; allocates nothing after `init`.
@safe final class PacketInbox: Sendable {
    /// A frame of a call at 8 Mb/s and 30 frames a second has 30 packets.
    private static let capacity = 1024
    private static let largest = 1536

    private struct Ring: ~Copyable {
        let memory = AlignedMemory(byteCount: PacketInbox.capacity * PacketInbox.largest)
        var entries: [(count: Int, arrival: MonotonicTime)] = Array(
            repeating: (0, MonotonicTime(nanoseconds: 0)), count: PacketInbox.capacity)
        var first = 0
        var count = 0
        var dropped: Int64 = 0
    }
    private let ring = Lock(Ring())

    /// Copies a packet.
    func push(_ packet: UnsafeRawBufferPointer, arrival: MonotonicTime) {
        let lent = unsafe LentBuffer(UnsafeMutableRawBufferPointer(mutating: packet))
        ring.withLock { ring in
            let packet = unsafe lent.bytes
            guard ring.count < Self.capacity, packet.count <= Self.largest else {
                ring.dropped += 1
                return
            }
            let place = (ring.first + ring.count) % Self.capacity
            ring.entries[place] = (packet.count, arrival)
            unsafe ring.memory.pointer(at: place * Self.largest).copyMemory(from: packet.baseAddress!, byteCount: packet.count)
            ring.count += 1
        }
    }

    /// Copies the oldest packet into the buffer and forgets it; nil when there is none. What has no room is cut.
    func pop(into buffer: UnsafeMutableRawBufferPointer) -> (byteCount: Int, arrival: MonotonicTime)? {
        let lent = unsafe LentBuffer(buffer)
        return ring.withLock { ring in
            guard ring.count > 0 else { return nil }
            let (count, arrival) = ring.entries[ring.first]
            let room = unsafe lent.bytes
            let copied = min(count, room.count)
            if copied > 0 {
                unsafe room.baseAddress!.copyMemory(from: ring.memory.pointer(at: ring.first * Self.largest), byteCount: copied)
            }
            ring.first = (ring.first + 1) % Self.capacity
            ring.count -= 1
            return (copied, arrival)
        }
    }

    var isEmpty: Bool { ring.withLock { $0.count == 0 } }
    var dropped: Int64 { ring.withLock { $0.dropped } }
    func removeAll() { ring.withLock { $0.count = 0 } }
}
