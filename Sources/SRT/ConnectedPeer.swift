import CSRT
import Media
import Packets
import Synchronization

/// A connection that a leg has now.
public struct ConnectedPeer: Hashable, Sendable {
    /// No other connection of this process has, had or will have this number.
    public var id: UInt64
    /// The other end's address and port.
    public var peer: String
    /// The same without the port.
    public var host: String
    /// The stream that it asked for, or that we asked it for; empty when none was named.
    public var streamID: String
    public var connectedAt: MonotonicTime
    /// The connection's own figures; the leg's have those of earlier connections in them.
    public var statistics: LegFigures
    /// What another process needs to say goodbye for this one; nil while it is not known.
    public var farewell: SRTFarewell?
}

/// The present connection of an SRT leg, and the wish to end it. Thread-safe.
final class PresentPeer: Sendable {
    private struct State {
        var peer: ConnectedPeer?
        var socket: SRTSOCKET = -1
        var host: String?
        var kickedUntil: MonotonicTime?
    }

    private static let lastID = Atomic<UInt64>(0)
    private let state = Lock(State())

    func begin(
        _ socket: SRTSOCKET, peer: SocketAddress?, streamID: String, farewell: SRTFarewell?
    ) {
        let id = Self.lastID.add(1, ordering: .relaxed).newValue
        let connected = ConnectedPeer(
            id: id, peer: peer?.description ?? CallerAdmission.unknown, host: peer?.host ?? CallerAdmission.unknown,
            streamID: streamID, connectedAt: .now(), statistics: LegFigures(), farewell: farewell)
        state.withLock { $0 = State(peer: connected, socket: socket, host: peer?.host) }
    }

    func end() { state.withLock { $0 = State() } }

    func peer(window: Nanoseconds) -> ConnectedPeer? {
        let (found, socket) = state.withLock { ($0.peer, $0.socket) }
        guard var peer = found else { return nil }
        // libsrt says nothing of a connection that has just broken.
        peer.statistics = LegFigures(of: socket, window: window) ?? .unknown
        return peer
    }

    /// - Returns: false when this is not the present connection.
    func kick(_ id: UInt64, until time: MonotonicTime) -> Bool {
        state.withLock { state in
            guard state.peer?.id == id else { return false }
            state.kickedUntil = time
            return true
        }
    }

    /// Until when the present peer is kept out, and its host; nil while nobody has kicked it.
    var kicked: (until: MonotonicTime, host: String?)? {
        state.withLock { state in state.kickedUntil.map { ($0, state.host) } }
    }
}
