import Media
import Synchronization

/// Channel: whether the stream goes on, and what happens to it.
///
/// - Writers: any thread.
/// - Readers: the stages' loops (``isStopping``), the observer (``events``, ``firstFailure``).
///
/// Thread-safe. Reporting never waits: an event that finds the queue full is lost.
final class StreamControl: Sendable {
    /// What happened that a person may want to read. The observer pops them.
    let events = BoundedQueue<RelayEvent>(capacity: 64)
    private let stopRequested = Atomic<Bool>(false)
    private let failure = Lock<RelayError?>(nil)
    /// Of what ends after the stages, as the recorder.
    private let late = Lock<[RelayEvent]>([])

    var isStopping: Bool { stopRequested.load(ordering: .acquiring) }
    func stop() { stopRequested.store(true, ordering: .releasing) }

    /// The first failure that the stream cannot live with. Later ones are its consequences.
    var firstFailure: RelayError? { failure.withLock { $0 } }

    func fail(_ error: RelayError) {
        failure.withLock { if $0 == nil { $0 = error } }
        stop()
    }

    func report(_ event: RelayEvent) {
        guard let refused = events.offer(event), events.isClosed else { return }
        late.withLock { if $0.count < 64 { $0.append(refused) } }
    }

    /// What was reported behind the stream's end, once.
    func takeLate() -> [RelayEvent] {
        late.withLock { late in
            defer { late = [] }
            return late
        }
    }
}
