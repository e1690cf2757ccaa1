import Media
import Synchronization

/// Events on their way from the thread that finds them to the one that reads messages. A full box drops its newest: 64
/// unread events mean that nobody reads.
final class EventBox: Sendable {
    private let queue = BoundedQueue<LegEvent>(capacity: 64)
    private let waiting = Atomic<Int>(0)

    func put(_ event: LegEvent) {
        if queue.offer(event) == nil { waiting.add(1, ordering: .releasing) }
    }

    /// The oldest event. One atomic load when there is none, so that it may be asked before every message.
    func take() -> LegEvent? {
        guard waiting.load(ordering: .acquiring) > 0, let event = queue.pop(until: MonotonicTime(nanoseconds: 0)) else {
            return nil
        }
        waiting.subtract(1, ordering: .relaxed)
        return event
    }
}
