import Media
import Synchronization

/// Events on their way from the thread that finds them to the one that reads messages. A full queue drops the newest: 64
/// unread events mean that nobody reads. Refusals fill half of it at most, because any unknown caller can cause as many as
/// it likes and the reader depends on the events about connections. Thread-safe.
package final class EventQueue: Sendable {
    private let queue = BoundedQueue<LegEvent>(capacity: 64)
    private let waiting = Atomic<Int>(0)

    package init() {}

    package func append(_ event: LegEvent) {
        if case .refused = event, queue.count >= queue.capacity / 2 { return }
        if queue.offer(event) == nil { waiting.add(1, ordering: .releasing) }
    }

    /// Removes the oldest event. Costs one atomic load when there is none, so it may be asked before every message.
    package func pop() -> LegEvent? {
        guard waiting.load(ordering: .acquiring) > 0, let event = queue.pop(until: MonotonicTime(nanoseconds: 0)) else {
            return nil
        }
        waiting.subtract(1, ordering: .relaxed)
        return event
    }
}
