import Media
import Synchronization

/// The stages of a stream, in the order in which a frame passes them.
public enum StageName: String, CaseIterable, Sendable {
    case ingest, decode, enhance, encode, send

    fileprivate var index: Int {
        switch self {
        case .ingest: 0
        case .decode: 1
        case .enhance: 2
        case .encode: 3
        case .send: 4
        }
    }
}

/// Channel: when each stage's loop turned last. A loop turns for each frame, and at least every ``idleInterval`` while nothing
/// comes or the next stage has no room. So a source that is silent and a stage that is stuck can be told apart.
///
/// - Writer: each stage, its own time.
/// - Reader: ``Relay/stalledStages(now:limit:)``, on any thread.
/// - Read together: nothing.
///
/// Thread-safe; one atomic each.
final class StageTurns: Sendable {
    /// How long a stage waits for something at most before its loop turns.
    static let idleInterval = Nanoseconds.milliseconds(200)

    private struct Times: ~Copyable {
        /// By ``StageName/index``; 0 where the stage does not run.
        var last: InlineArray<5, Atomic<Int64>> = .init { _ in Atomic(0) }
    }

    private let times = Times()

    /// A stage's loop turns.
    func record(_ stage: StageName, at now: MonotonicTime = .now()) {
        times.last[stage.index].store(now.nanoseconds, ordering: .relaxed)
    }

    /// A stage has ended.
    func end(_ stage: StageName) { times.last[stage.index].store(0, ordering: .relaxed) }

    /// The stages that run and have not turned for longer than a limit.
    func stalled(now: MonotonicTime, limit: Nanoseconds) -> [StageName] {
        StageName.allCases.filter { stage in
            let last = times.last[stage.index].load(ordering: .relaxed)
            return last != 0 && now - MonotonicTime(nanoseconds: last) > limit
        }
    }

    /// Removes the oldest element of a queue, waiting for one. The stage turns meanwhile.
    /// - Returns: nil when the queue is closed and empty.
    func pop<Element: ~Copyable & Sendable>(from queue: BoundedQueue<Element>, as stage: StageName) -> Element? {
        while true {
            let now = MonotonicTime.now()
            record(stage, at: now)
            if let element = queue.pop(until: now + Self.idleInterval) { return element }
            if queue.isClosed, queue.count == 0 { return nil }
        }
    }

    /// Adds an element to a queue, waiting for room. The stage turns meanwhile.
    /// - Returns: nil when it was added; the element itself when the queue is closed.
    func push<Element: ~Copyable & Sendable>(
        _ element: consuming Element, to queue: BoundedQueue<Element>, as stage: StageName
    ) -> Element? {
        var pending: Element? = element
        while let next = pending.take() {
            let now = MonotonicTime.now()
            record(stage, at: now)
            guard let refused = queue.push(next, until: now + Self.idleInterval) else { return nil }
            if queue.isClosed { return refused }
            pending = consume refused
        }
        return nil
    }

    /// Waits until a time. The stage turns meanwhile.
    func sleep(until time: MonotonicTime, as stage: StageName) {
        while true {
            let now = MonotonicTime.now()
            record(stage, at: now)
            if now >= time { return }
            min(time, now + Self.idleInterval).sleep()
        }
    }
}
