import Foundation
import Media

/// The last events of the service and its streams, numbered, and those who wait for more.
///
/// Thread-safe.
public final class EventLog: Sendable {
    /// How many events are kept.
    public static let capacity = 1000
    /// How many subscribers there may be.
    public static let mostSubscribers = 64

    private struct State {
        var events: [ServiceEvent] = []
        var lastNumber: UInt64 = 0
        var subscribers: [UInt64: AsyncStream<ServiceEvent>.Continuation] = [:]
        var lastSubscriber: UInt64 = 0
        var isFinished = false
    }

    private let state = Lock(State())
    private let clock: @Sendable () -> Double

    /// - Parameter clock: seconds since 1970.
    public init(clock: @escaping @Sendable () -> Double = { Date().timeIntervalSince1970 }) { self.clock = clock }

    /// The number of the newest event; 0 before the first.
    public var lastNumber: UInt64 { state.withLock { $0.lastNumber } }

    /// The events that are kept, oldest first.
    public var events: [ServiceEvent] { state.withLock { $0.events } }

    @discardableResult public func record(_ kind: EventKind, stream: String? = nil, _ text: String) -> ServiceEvent {
        let time = clock()
        return state.withLock { state in
            state.lastNumber += 1
            let event = ServiceEvent(
                number: state.lastNumber, time: time, stream: stream, kind: kind.rawValue, text: text)
            state.events.append(event)
            // In pieces, since each removal moves all that stay.
            if state.events.count > Self.capacity + 100 { state.events.removeFirst(state.events.count - Self.capacity) }
            for continuation in state.subscribers.values { continuation.yield(event) }
            return event
        }
    }

    /// The events after `number` that are still kept, then those to come. A number that no event has yet is one of an earlier
    /// run of the service: all events are new then. A subscriber that does not read loses the oldest; the numbers show it. Ends at once when there are ``mostSubscribers`` already.
    public func events(since number: UInt64) -> AsyncStream<ServiceEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ServiceEvent.self, bufferingPolicy: .bufferingNewest(Self.capacity + 100))
        let subscriber = state.withLock { state -> UInt64? in
            guard !state.isFinished, state.subscribers.count < Self.mostSubscribers else { return nil }
            let last = number <= state.lastNumber ? number : 0
            for event in state.events where event.number > last { continuation.yield(event) }
            state.lastSubscriber += 1
            state.subscribers[state.lastSubscriber] = continuation
            return state.lastSubscriber
        }
        guard let subscriber else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.subscribers[subscriber] = nil }
        }
        return stream
    }

    /// Ends all subscriptions.
    public func finish() {
        let all = state.withLock { state -> [AsyncStream<ServiceEvent>.Continuation] in
            state.isFinished = true
            let all = Array(state.subscribers.values)
            state.subscribers = [:]
            return all
        }
        // Outside of the lock: each calls its termination handler.
        for continuation in all { continuation.finish() }
    }
}
