import Media
import NIOCore

/// The open connections, so that a flood cannot shut others out: when there are too many, the one that has waited longest for its
/// client is closed. A connection waits for its client until a request is whole, and while the client accepts nothing.
///
/// Thread-safe; called on the event loop.
final class Connections: Sendable {
    private struct Waiting {
        var channel: any Channel
        var since: MonotonicTime
    }
    private struct State {
        var open: [ObjectIdentifier: any Channel] = [:]
        var waiting: [ObjectIdentifier: Waiting] = [:]
    }

    private let state = Lock(State())
    let most: Int
    let counters: WebCounters

    init(most: Int, counters: WebCounters) {
        self.most = most
        self.counters = counters
    }

    /// A connection was made and waits for its first request.
    func open(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let crowdedOut: (any Channel)? = state.withLock { state in
            state.open[id] = channel
            let oldest = state.open.count > most ? state.waiting.min { $0.value.since < $1.value.since } : nil
            state.waiting[id] = Waiting(channel: channel, since: .now())
            // All others are at work: then the new one has to go.
            guard state.open.count > most else { return nil }
            let chosen = oldest?.value.channel ?? channel
            state.waiting[ObjectIdentifier(chosen)] = nil
            return chosen
        }
        counters.open()
        if let crowdedOut {
            counters.cut(.room)
            crowdedOut.close(promise: nil)
        }
    }

    /// A request is whole: the connection is at work and stays.
    func work(_ channel: any Channel) { state.withLock { $0.waiting[ObjectIdentifier(channel)] = nil } }

    /// The client's turn. What has waited goes on to wait.
    func wait(_ channel: any Channel) {
        state.withLock { state in
            let id = ObjectIdentifier(channel)
            if state.waiting[id] == nil { state.waiting[id] = Waiting(channel: channel, since: .now()) }
        }
    }

    func close(_ channel: any Channel) {
        let wasOpen = state.withLock { state in
            state.waiting[ObjectIdentifier(channel)] = nil
            return state.open.removeValue(forKey: ObjectIdentifier(channel)) != nil
        }
        if wasOpen { counters.close() }
    }

    /// Closes all that are open, whatever their clients do.
    func closeAll() {
        for channel in state.withLock({ Array($0.open.values) }) { channel.close(promise: nil) }
    }
}
