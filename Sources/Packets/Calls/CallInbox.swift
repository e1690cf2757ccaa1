import Media
import Synchronization

/// Carries the packets of calls that a transport of its own receives, such as WebRTC: it pushes what it has decrypted, and a
/// ``Source`` reads it on another thread. One call at a time.
///
/// Thread-safe. Fixed memory, allocated by `init`.
public final class CallInbox: RTPWire {
    @safe private struct Queue: ~Copyable {
        var call = RTPCall(number: 0, tracks: [])
        var peer = ""
        var feedback: (any RTPSendWire)?
        var first = 0
        var count = 0
        /// Packets that came while the queue was full.
        var dropped: Int64 = 0
        var readings = [RTPReading](
            repeating: RTPReading(byteCount: 0, arrival: MonotonicTime(nanoseconds: 0)), count: capacity)
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity * room, alignment: 64)

        deinit { unsafe bytes.deallocate() }
    }

    /// 100 ms at 40 Mb/s.
    private static let capacity = 512
    private static let room = 2048

    private let queue = Guarded(Queue())
    private let number = Atomic<Int>(0)
    private let bell = Bell()
    private let wasInterrupted = Atomic<Bool>(false)

    public init() {}

    /// A sender has come. The one before, if any, is over.
    /// - Parameters:
    ///   - tracks: what it sends.
    ///   - peer: who it is, for people.
    ///   - feedback: sends RTCP to it.
    public func begin(_ tracks: [RTPTrack], peer: String, feedback: any RTPSendWire) {
        change(to: tracks, peer: peer, feedback, reason: "another call has taken its place")
    }

    /// The sender has gone.
    public func end(reason: String) { change(to: [], peer: "", nil, reason: reason) }

    private func change(to tracks: [RTPTrack], peer: String, _ feedback: (any RTPSendWire)?, reason: String) {
        queue.withLock { queue in
            queue.call = RTPCall(number: queue.call.number + 1, tracks: tracks, endReason: reason)
            (queue.peer, queue.feedback) = (peer, feedback)
            (queue.first, queue.count) = (0, 0)
            number.store(queue.call.number, ordering: .releasing)
        }
        bell.ring()
    }

    /// Gives a plain RTP or RTCP packet of the present sender. Never waits.
    /// - Parameter packet: copied.
    public func push(_ packet: UnsafeRawBufferPointer, arrival: MonotonicTime) {
        let isFirst = queue.withLock { queue in
            guard packet.count <= Self.room, queue.count < Self.capacity else {
                queue.dropped += 1
                return false
            }
            let place = (queue.first + queue.count) % Self.capacity
            unsafe UnsafeMutableRawBufferPointer(rebasing: queue.bytes[(place * Self.room)...]).copyMemory(from: packet)
            queue.readings[place] = RTPReading(byteCount: packet.count, arrival: arrival)
            queue.count += 1
            return queue.count == 1
        }
        if isFirst { bell.ring() }
    }

    /// Packets that came while nobody read those before.
    public var packetsDropped: Int64 { queue.withLock { $0.dropped } }

    private let refused = Atomic<Int64>(0)
    public var picturesRefused: Int64 { refused.load(ordering: .relaxed) }
    /// A sender has come whose picture has no format that is known here, so that it sends sound alone.
    public func countRefusedPicture() { refused.add(1, ordering: .relaxed) }

    // MARK: For the source

    public var call: RTPCall { queue.withLock { $0.call } }
    public var callNumber: Int { number.load(ordering: .acquiring) }
    public var peer: String { queue.withLock { $0.peer } }
    public var place: ListeningPlace? { nil }
    public var keepsOrder: Bool { true }
    /// What carries them has decrypted them.
    public var isAuthentic: Bool { true }
    public func confirm() {}

    public func read(into buffer: UnsafeMutableRawBufferPointer) -> RTPReading? {
        queue.withLock { queue in
            guard queue.count > 0 else { return nil }
            let reading = queue.readings[queue.first]
            let start = queue.first * Self.room
            unsafe buffer.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(queue.bytes)[start..<start + reading.byteCount]))
            queue.first = (queue.first + 1) % Self.capacity
            queue.count -= 1
            return reading
        }
    }

    public func wait(until limit: MonotonicTime) -> Bool {
        // The bell also rings for packets.
        _ = waitForDatagrams([], or: bell, until: limit)
        return !wasInterrupted.exchange(false, ordering: .acquiring)
    }

    public func sendFeedback(_ packet: UnsafeRawBufferPointer, track: Int) {
        let feedback = queue.withLock { $0.feedback }
        _ = unsafe feedback?.send(packet, isControl: true, track: track)
    }

    public func interrupt() {
        wasInterrupted.store(true, ordering: .releasing)
        bell.ring()
    }
}
