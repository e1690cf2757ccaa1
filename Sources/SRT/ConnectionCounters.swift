import CSRT
import Media
import Packets

/// The figures of a leg's connections: of those that are there, and what those that have gone have left. No counter of the sum ever
/// falls, although libsrt says nothing of a connection that has broken. Thread-safe.
final class ConnectionCounters: Sendable {
    private struct Present {
        let id: SRTSOCKET
        let window: Nanoseconds
        /// What libsrt said last.
        var newest = LegFigures()

        /// - Returns: nil where libsrt says nothing any more.
        mutating func sample() -> LegFigures? {
            guard let now = LegFigures(of: id, window: window) else { return nil }
            newest = now
            return now
        }
    }

    private struct State {
        /// The counters of connections that have ended.
        var ended = LegFigures()
        var present: [Present] = []
    }

    /// A connection is sampled, and moves from one to the other, under this lock.
    private let state = Lock(State())

    /// A connection has come about.
    func begin(_ id: SRTSOCKET, window: Nanoseconds) {
        state.withLock { state in
            state.ended.connections += 1
            state.present.append(Present(id: id, window: window))
        }
    }

    /// The figures of one connection now; nil where libsrt says nothing any more.
    func sample(_ id: SRTSOCKET) -> LegFigures? {
        state.withLock { state in
            guard let index = state.present.firstIndex(where: { $0.id == id }) else { return nil }
            return state.present[index].sample()
        }
    }

    /// A connection is over. Call it before its socket is closed.
    func end(_ id: SRTSOCKET) {
        state.withLock { state in
            guard let index = state.present.firstIndex(where: { $0.id == id }) else { return }
            _ = state.present[index].sample()
            state.ended.addCounters(of: state.present.remove(at: index).newest)
        }
    }

    /// How many connections have come about.
    var connections: Int64 { state.withLock { $0.ended.connections } }

    /// The listener is closed: these are its last counts.
    func keep(_ refusals: RefusalCounts, handshakesDropped: Int64) {
        state.withLock { ($0.ended.refusals, $0.ended.handshakesDropped) = (refusals, handshakesDropped) }
    }

    /// All connections together.
    func sum() -> LegFigures {
        state.withLock { state in
            var sum = state.ended
            for index in state.present.indices {
                _ = state.present[index].sample()
                let now = state.present[index].newest
                sum.isConnected = true
                sum.addGauges(of: now)
                sum.timeBuffered = max(sum.timeBuffered, now.timeBuffered)
                sum.addCounters(of: now)
            }
            return sum
        }
    }
}
