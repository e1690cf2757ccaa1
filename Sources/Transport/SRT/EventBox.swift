import Media
import Synchronization

/// Events on their way from the thread that finds them to the one that reads messages. A full box drops its newest: 64
/// unread events mean that nobody reads. Refusals, of which any stranger can cause as many as he likes, fill half of it at
/// most: who sends goes by what is told of connections.
final class EventBox: Sendable {
    private let queue = BoundedQueue<LegEvent>(capacity: 64)
    private let waiting = Atomic<Int>(0)

    func put(_ event: LegEvent) {
        if case .refused = event, queue.count >= queue.capacity / 2 { return }
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
