import Endpoint
import Media
import Synchronization

/// Reads what a viewer reports, and hears of its end. The calls come from the receiving thread: ``PeerReceiver`` says what that means.
public protocol CallViewer: Sendable {
    /// An RTCP datagram.
    func receive(_ packet: UnsafeRawBufferPointer, arrival: MonotonicTime)
    /// Nothing more goes to this viewer.
    func left(_ end: PeerEnd)
}

/// Why an offer gets no answer.
public struct CallFault: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Kind: Hashable, Sendable {
        /// It is no session description.
        case malformed
        /// Nothing in it can be answered.
        case unacceptable
        /// Somebody publishes already.
        case occupied
        /// As many watch as may.
        case full
        /// The stream has no such side, or is closed.
        case unavailable
    }
    public let kind: Kind
    /// One line.
    public let description: String

    init(_ kind: Kind, _ text: String) { (self.kind, description) = (kind, text) }
}

/// The calls of one stream on one port: one publisher at a time, and viewers.
///
/// **The publisher** is read like a socket: ``read(into:)`` and ``wait(until:)``, by the one thread that reads. That thread drives
/// the port, so no packet waits for another thread. Packets have the numbers of ``CallNumbers``. Where ``Configuration/publisher``
/// is nil, a thread of the port's own receives.
///
/// **Viewers** come and go. When one is connected, ``Configuration/join`` makes what sends to it.
///
/// Thread-safe but for what the reading thread owns. ``close()`` must be called in the end.
public final class StreamCalls: Sendable {
    public struct Configuration: Sendable {
        public var port: WebRTCPort.Configuration
        /// What publishers may send; nil where nobody may publish.
        public var publisher: CallRules?
        /// What viewers can get; nil where nobody may watch.
        public var viewer: CallRules?
        public var mostViewers: Int
        /// Begins to send to a viewer: with the peer to send by, what both sides agree on, and the sources that the answer names. It
        /// returns nil when the viewer cannot be served, and the call ends.
        public var join: @Sendable (Peer, [CallTrack], CallSources, PeerAddress) -> (any CallViewer)?

        public init(
            port: WebRTCPort.Configuration, publisher: CallRules?, viewer: CallRules?, mostViewers: Int = 16,
            join: @escaping @Sendable (Peer, [CallTrack], CallSources, PeerAddress) -> (any CallViewer)? = { _, _, _, _ in nil }
        ) {
            (self.port, self.publisher, self.viewer) = (port, publisher, viewer)
            (self.mostViewers, self.join) = (mostViewers, join)
        }
    }

    /// A publisher that has been silent for so long gives way to another one.
    static let silenceTimeout = Nanoseconds.seconds(5)

    public let port: WebRTCPort
    private let configuration: Configuration
    private let inbox = PacketInbox()
    private let isInterrupted = Atomic<Bool>(false)
    private let state = Lock(State())

    private struct State {
        var publisher: Call?
        /// By the number of the offer.
        var calls: [UInt64: Call] = [:]
        var onEnd: (@Sendable (UInt64) -> Void)?
        /// Why the last publisher has gone.
        var publisherEnd: String?
        var publisherAddress: PeerAddress?
        var isClosed = false
        var viewers: Int { calls.values.reduce(0) { $0 + ($1.kind == .viewer ? 1 : 0) } }
    }

    /// Opens the port.
    public init(_ configuration: Configuration, identity: DTLSIdentity) throws(TransportError) {
        var wanted = configuration.port
        // Those whose handshakes are not complete count, too.
        wanted.mostPeers = max(wanted.mostPeers, configuration.mostViewers + 4)
        port = try WebRTCPort(wanted, identity: identity)
        self.configuration = configuration
        if configuration.publisher == nil { port.start() }
    }

    /// What is to be done when a call that was answered is over, whoever ended it.
    public func onEnd(_ done: @escaping @Sendable (UInt64) -> Void) { state.withLock { $0.onEnd = done } }

    // MARK: Offers

    /// Answers an offer.
    /// - Parameters:
    ///   - number: by which the caller knows the call.
    ///   - reachableAt: ``WebRTCPort/add(_:reachableAt:receiver:)``.
    /// - Returns: the answer, as SDP.
    public func answer(
        _ number: UInt64, _ kind: CallKind, _ description: String, reachableAt: PeerAddress? = nil
    ) throws(CallFault) -> String {
        guard let rules = kind == .publisher ? configuration.publisher : configuration.viewer else {
            throw CallFault(
                .unavailable, kind == .publisher ? "the stream's input is no call" : "no output of the stream is a call")
        }
        let offer = try Self.read(description, kind, rules)
        if let former = try makeRoom(for: kind) { port.close(former) }
        let sources = CallSources(
            video: .random(in: 1 ... .max), videoRetransmission: .random(in: 1 ... .max), audio: .random(in: 1 ... .max))
        let call = Call(number, kind, offer.tracks, sources, self)
        do throws(PeerRefusal) {
            let (peer, transport) = try port.add(offer.request, reachableAt: reachableAt, receiver: call)
            call.peer.withLock { $0 = peer }
            let isOpen = state.withLock { state in
                guard !state.isClosed else { return false }
                state.calls[number] = call
                if kind == .publisher { state.publisher = call }
                return true
            }
            guard isOpen else {
                port.close(peer)
                throw PeerRefusal.closed
            }
            return offer.answer(transport, sending: sources, session: number).text
        } catch {
            throw CallFault(error == .full(most: port.mostPeers) ? .full : .unavailable, "\(error)")
        }
    }

    private static func read(_ text: String, _ kind: CallKind, _ rules: CallRules) throws(CallFault) -> CallOffer {
        let description: SessionDescription
        do throws(SDPFault) {
            description = try SessionDescription(parsing: text)
        } catch {
            throw CallFault(.malformed, "\(error)")
        }
        do throws(OfferFault) {
            return try CallOffer(description, kind: kind, rules: rules)
        } catch {
            throw CallFault(.unacceptable, error.description)
        }
    }

    /// - Returns: a publisher that gives way: one that has not connected, or has been silent.
    private func makeRoom(for kind: CallKind) throws(CallFault) -> Peer? {
        let now = MonotonicTime.now()
        let most = configuration.mostViewers
        let room: Result<Call?, CallFault> = state.withLock { state in
            if state.isClosed { return .failure(CallFault(.unavailable, "the stream ends")) }
            switch kind {
            case .viewer:
                return state.viewers < most ? .success(nil) : .failure(CallFault(.full, "\(most) watch already; more may not"))
            case .publisher:
                guard let former = state.publisher else { return .success(nil) }
                let newest = former.newestPacket.load(ordering: .relaxed)
                guard former.isConnected, now.nanoseconds - newest < Self.silenceTimeout.count else { return .success(former) }
                return .failure(CallFault(.occupied, "somebody publishes to this stream already"))
            }
        }
        return try room.get()?.peer.withLock { $0 }
    }

    /// Ends a call. One that has ended already is no fault.
    public func hangUp(_ number: UInt64) {
        guard let call = state.withLock({ $0.calls[number] }), let peer = call.peer.withLock({ $0 }) else { return }
        port.close(peer)
    }

    /// Ends all calls with goodbyes. Its thread must not be inside ``wait(until:)`` for longer: interrupt it.
    public func close() {
        state.withLock { $0.isClosed = true }
        port.close()
    }

    // MARK: What the reading thread owns

    /// The publisher's next packet, RTP or RTCP, if one has come. Never waits.
    public func read(into buffer: UnsafeMutableRawBufferPointer) -> (byteCount: Int, arrival: MonotonicTime)? {
        unsafe inbox.pop(into: buffer)
    }

    /// Handles what comes until there is something to read, or the publisher has gone, or the time has come.
    /// - Returns: false when ``interrupt()`` was called.
    public func wait(until limit: MonotonicTime) -> Bool {
        guard inbox.isEmpty, !isInterrupted.exchange(false, ordering: .acquiringAndReleasing) else { return !inbox.isEmpty }
        port.turn(until: limit)
        return !isInterrupted.exchange(false, ordering: .acquiringAndReleasing)
    }

    // MARK: Any thread

    /// Ends the present ``wait(until:)``, or the next one.
    public func interrupt() {
        isInterrupted.store(true, ordering: .releasing)
        port.interrupt()
    }

    /// Sends RTCP to the publisher. Never waits.
    public func sendFeedback(_ packet: UnsafeRawBufferPointer) -> PacketSent {
        guard let peer = state.withLock({ $0.publisher })?.peer.withLock({ $0 }) else { return .notConnected }
        return unsafe peer.send(.rtcp, copying: packet)
    }

    /// Why the publisher has gone; nil while it is there, or before there was one.
    public var publisherEnd: String? { state.withLock { $0.publisherEnd } }
    /// Where the publisher is; nil while there is none.
    public var publisherAddress: PeerAddress? { state.withLock { $0.publisherAddress } }
    public var viewerCount: Int { state.withLock { $0.viewers } }
    /// Packets of the publisher that nobody read in time, and those in formats that were not agreed on.
    public var unreadPackets: Int64 { inbox.dropped }

    // MARK: Calls

    /// One call: what its peer tells the port's receiving thread.
    private final class Call: PeerReceiver {
        let number: UInt64
        let kind: CallKind
        let peer = Lock<Peer?>(nil)
        /// When the newest packet came.
        let newestPacket = Atomic<Int64>(0)
        private let connected = Atomic<Bool>(false)
        private let tracks: [CallTrack]
        private let sources: CallSources
        private let renumbering: PacketRenumbering
        private let viewer = Lock<(any CallViewer)?>(nil)
        /// The owner keeps its calls until they are over, so this ends with them.
        private let owner: StreamCalls

        init(_ number: UInt64, _ kind: CallKind, _ tracks: [CallTrack], _ sources: CallSources, _ owner: StreamCalls) {
            (self.number, self.kind, self.tracks, self.sources, self.owner) = (number, kind, tracks, sources, owner)
            renumbering = PacketRenumbering(tracks)
        }

        var isConnected: Bool { connected.load(ordering: .acquiring) }

        func receive(_ packetKind: PacketKind, _ packet: UnsafeRawBufferPointer, arrival: MonotonicTime) {
            newestPacket.store(arrival.nanoseconds, ordering: .relaxed)
            switch (kind, packetKind) {
            case (.publisher, .rtp):
                // The buffer is the receiving thread's own, and nobody reads it after this call.
                guard unsafe renumbering.apply(to: UnsafeMutableRawBufferPointer(mutating: packet)) else { return }
                unsafe owner.inbox.push(packet, arrival: arrival)
            case (.publisher, .rtcp): unsafe owner.inbox.push(packet, arrival: arrival)
            case (.viewer, .rtcp):
                guard let viewer = viewer.withLock({ $0 }) else { return }
                unsafe viewer.receive(packet, arrival: arrival)
            case (.viewer, .rtp): break
            }
        }

        func peerChanged(_ change: PeerChange) {
            switch change {
            case .connected(let address, _):
                newestPacket.store(MonotonicTime.now().nanoseconds, ordering: .relaxed)
                connected.store(true, ordering: .releasing)
                if kind == .publisher { owner.publisherChanged(address, end: nil, self) } else { join(address) }
            case .moved(let address): if kind == .publisher { owner.publisherChanged(address, end: nil, self) }
            case .ended(let end):
                connected.store(false, ordering: .releasing)
                let viewer = viewer.withLock { $0.take() }
                viewer?.left(end)
                if kind == .publisher { owner.publisherChanged(nil, end: end.description, self) }
                owner.remove(self)
            }
        }

        private func join(_ address: PeerAddress) {
            guard let peer = peer.withLock({ $0 }) else { return }
            guard let made = owner.configuration.join(peer, tracks, sources, address) else { return owner.port.close(peer) }
            viewer.withLock { $0 = made }
        }
    }

    private func publisherChanged(_ address: PeerAddress?, end: String?, _ call: Call) {
        state.withLock { state in
            // One that had to give way has nothing to say any more.
            guard state.publisher === call else { return }
            (state.publisherAddress, state.publisherEnd) = (address, end)
            if end != nil { state.publisher = nil }
        }
    }

    private func remove(_ call: Call) {
        let done = state.withLock { state in
            state.calls[call.number] = nil
            return state.onEnd
        }
        done?(call.number)
    }
}
