import Media
import Packets
import Synchronization
import WebRTC

/// The publisher's end of a call: their packets go to the stream's source.
final class PublisherCall: PeerReceiver {
    private let inbox: CallInbox
    private let tracks: [RTPTrack]
    private let changed: @Sendable (PeerChange) -> Void
    private let wire = PeerWire()
    private let hasBegun = Atomic<Bool>(false)

    /// - Parameter changed: called with each change, on the port's thread.
    init(_ inbox: CallInbox, _ tracks: [RTPTrack], changed: @escaping @Sendable (PeerChange) -> Void) {
        (self.inbox, self.tracks, self.changed) = (inbox, tracks, changed)
    }

    /// Whom feedback goes to. Set once, before the peer can connect.
    func use(_ peer: Peer) { wire.use(peer) }

    func receive(_ kind: PacketKind, _ packet: UnsafeRawBufferPointer, arrival: MonotonicTime) {
        unsafe inbox.push(packet, arrival: arrival)
    }

    func peerChanged(_ change: PeerChange) {
        switch change {
        case .connected(let address, _):
            hasBegun.store(true, ordering: .relaxed)
            inbox.begin(tracks, peer: "\(address)", feedback: wire)
        case .moved: break
        // One that never connected has no call in the inbox, where another one may be.
        case .ended(let end): if hasBegun.load(ordering: .relaxed) { inbox.end(reason: "\(end)") }
        }
        changed(change)
    }
}

/// A viewer's end of a call: the output's packets go to them from the moment that they are connected, and their feedback comes back.
final class ViewerCall: PeerReceiver {
    private let viewers: RTPViewers
    private let tracks: [RTPTrack]
    private let name: String
    private let changed: @Sendable (PeerChange) -> Void
    private let wire = PeerWire()
    private let state: Lock<(viewer: RTPViewer?, layer: ViewerLayer?)>

    /// - Parameters:
    ///   - name: what the answer calls our sources by.
    ///   - layer: what they ask for; nil for what their link carries.
    ///   - changed: called with each change, on the port's thread.
    init(
        _ viewers: RTPViewers, _ tracks: [RTPTrack], name: String, layer: ViewerLayer? = nil,
        changed: @escaping @Sendable (PeerChange) -> Void
    ) {
        (self.viewers, self.tracks, self.name, self.changed) = (viewers, tracks, name, changed)
        state = Lock((nil, layer))
    }

    /// The viewer while they are connected.
    var present: RTPViewer? { state.withLock { $0.viewer } }

    /// The viewer asks for another layer; nil is the one that their link carries.
    func choose(_ layer: ViewerLayer?) {
        state.withLock { state in
            state.layer = layer
            state.viewer?.request = layer
        }
    }

    /// Whom the output's packets go to. Set once, before the peer can connect.
    func use(_ peer: Peer) { wire.use(peer) }

    func receive(_ kind: PacketKind, _ packet: UnsafeRawBufferPointer, arrival: MonotonicTime) {
        guard kind == .rtcp, let viewer = present else { return }
        unsafe viewer.receive(packet, at: arrival)
    }

    func peerChanged(_ change: PeerChange) {
        switch change {
        case .connected(let address, _):
            let added = viewers.add(tracks, wire, peer: "\(address)", name: name, request: state.withLock { $0.layer })
            state.withLock { state in
                state.viewer = added
                // They may have asked for another one meanwhile.
                added?.request = state.layer
            }
        case .moved: break
        case .ended:
            let former = state.withLock { state in
                defer { state.viewer = nil }
                return state.viewer
            }
            if let former { viewers.remove(former) }
        }
        changed(change)
    }
}

/// Sends packets to a peer. One thread at a time sends.
final class PeerWire: RTPSendWire {
    /// No packet of a call is longer than an Ethernet frame.
    private static let largest = 2048

    private let peer = Lock<Peer?>(nil)
    private let memory = AlignedMemory(byteCount: largest)

    func use(_ peer: Peer) { self.peer.withLock { $0 = peer } }

    func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
        let room = packet.count + Peer.trailerRoom
        guard let peer = peer.withLock({ $0 }), room <= memory.byteCount else { return .notConnected }
        let copy = unsafe UnsafeMutableRawBufferPointer(start: memory.pointer(), count: room)
        unsafe copy.copyMemory(from: packet)
        return switch unsafe peer.send(isControl ? .rtcp : .rtp, copy, count: packet.count) {
        case .sent: .sent
        case .wouldBlock: .wouldBlock
        case .notConnected, .malformed: .notConnected
        }
    }
}
