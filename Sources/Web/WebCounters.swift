import Media

/// What the interface counts of itself. Thread-safe.
final class WebCounters: Sendable {
    struct Values: Sendable {
        /// Responses by the first digit of their status.
        var responses: [Int: UInt64] = [:]
        var refusals: [Problem.Kind: UInt64] = [:]
        var connections: Int = 0
        var connectionsOpened: UInt64 = 0
        var connectionsClosed: [ClosedConnection: UInt64] = [:]
        var eventStreams: Int = 0
    }

    /// Why the interface closed a connection that its client had not.
    enum ClosedConnection: String, Sendable, CaseIterable {
        /// The client sent its request too slowly.
        case request
        /// It accepted nothing of a response.
        case response
        /// It sent no further request.
        case idle
        /// Its place was needed for a new connection.
        case room
    }

    private let stored = Lock(Values())

    var values: Values { stored.withLock { $0 } }

    func answer(_ status: Int) { stored.withLock { $0.responses[status / 100, default: 0] += 1 } }
    func refuse(_ kind: Problem.Kind) { stored.withLock { $0.refusals[kind, default: 0] += 1 } }
    func open() {
        stored.withLock {
            $0.connections += 1
            $0.connectionsOpened += 1
        }
    }
    func close() { stored.withLock { $0.connections -= 1 } }
    func cut(_ why: ClosedConnection) { stored.withLock { $0.connectionsClosed[why, default: 0] += 1 } }

    func beginEventStream() { stored.withLock { $0.eventStreams += 1 } }
    func endEventStream() { stored.withLock { $0.eventStreams -= 1 } }
}
