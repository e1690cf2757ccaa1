import Endpoint
import Media
import Packets
import Synchronization

/// One UDP port for the WebRTC calls of a process, and a TCP port beside it where it is given one: ICE's lite side, DTLS and SRTP for
/// many peers. It knows nothing of codecs:
/// plain RTP and RTCP packets come up and go down.
///
/// **Threads.** One thread at a time receives: it calls ``turn(until:)`` again and again, or ``start()`` makes a thread that does.
/// Packets are handed to their peers' receivers on that thread, without a queue between. ``Peer/send(_:_:count:)`` may be called by
/// any thread, and goes straight to the kernel. Everything else is thread-safe; it waits at most as long as a step of a handshake
/// takes, about a millisecond.
///
/// **Sandbox.** The port needs UDP sockets, a pipe, and random bytes of the kernel. ``SRTPLibrary/prepare()`` and
/// ``DTLSIdentity/init()`` must come before the sandbox is entered, because they load libraries and read OpenSSL's configuration.
public final class WebRTCPort: Sendable {
    public struct Configuration: Sendable {
        /// Where to listen. `::` means all addresses of both families; port 0 lets the kernel choose.
        public var local: PeerAddress
        /// What answers name as our addresses, where these are not the local one: behind a NAT, or when bound to all. Each with the
        /// port that reaches us; 0 means the local one.
        public var advertised: [PeerAddress]
        /// More peers are refused.
        public var mostPeers: Int

        public init(local: PeerAddress, advertised: [PeerAddress] = [], mostPeers: Int = 64) {
            (self.local, self.advertised, self.mostPeers) = (local, advertised, mostPeers)
        }
    }

    private let configuration: Configuration
    private let identity: DTLSIdentity
    private let wire: Wire
    private let core: Lock<PeerCore>
    private let receiving: Lock<Receiving>
    private let thread = Lock<StageThread?>(nil)
    private let isClosed = Atomic<Bool>(false)

    /// The socket, which peers keep as long as they may send.
    private final class Wire: DatagramOutput {
        let socket: PortSocket
        let listener: TCPListener?

        init(_ socket: consuming PortSocket, _ listener: TCPListener?) {
            self.socket = socket
            self.listener = listener
        }

        func send(_ datagram: UnsafeRawBufferPointer, to address: PeerAddress) -> Bool {
            guard address.isTCP else { return unsafe socket.send(datagram, to: address) }
            return unsafe listener?.send(datagram, to: address) ?? false
        }

        func wait(until limit: MonotonicTime) {
            if let listener { listener.wait(or: socket.bell, until: limit) } else { socket.wait(until: limit) }
        }
    }

    /// What belongs to the receiving thread.
    private struct Receiving: ~Copyable {
        /// No datagram of a call is longer than an Ethernet frame; a longer one is cut and dropped.
        static let largestDatagram = 2048
        let buffer = AlignedMemory(byteCount: largestDatagram)
        var nextTick = MonotonicTime(nanoseconds: 0)
        var outgoing: [PeerCore.Outgoing] = []
        var changes: [(peer: Peer, change: PeerChange)] = []
    }

    /// TCP connections beside the one of each peer: of those that are no peer's yet.
    private static let mostUnknownConnections = 32

    /// Opens the socket.
    /// - Parameter listener: a listening TCP socket that does not block, for peers whose network carries no UDP.
    package init(
        _ configuration: Configuration, identity: DTLSIdentity, listener: SharedDescriptor? = nil
    ) throws(TransportError) {
        let socket = try PortSocket(boundTo: configuration.local)
        self.configuration = configuration
        self.identity = identity
        var tcp: TCPListener?
        if let listener {
            tcp = try TCPListener(
                listener, beside: socket.number, socket.bell, most: configuration.mostPeers + Self.mostUnknownConnections)
        }
        wire = Wire(socket, tcp)
        core = Lock(PeerCore(identity: identity, mostPeers: configuration.mostPeers))
        receiving = Lock(Receiving())
    }

    /// What the socket is bound to, with the port that the kernel chose.
    public var local: PeerAddress { wire.socket.local }

    /// Adds a peer whose description was read, and says what our description must say. Any thread.
    /// - Parameters:
    ///   - reachableAt: an address by which the peer is known to reach this machine, such as the one that its HTTP request came to. It
    ///     is named where no addresses are configured.
    ///   - receiver: gets the peer's packets. The port keeps it until the peer has ended.
    public func add(
        _ request: PeerRequest, reachableAt: PeerAddress? = nil, receiver: any PeerReceiver
    ) throws(PeerRefusal) -> (peer: Peer, answer: PeerAnswer) {
        guard !isClosed.load(ordering: .acquiring) else { throw .closed }
        let added: Result<(Peer, ICECredentials), PeerRefusal> = core.withLock { core in
            do throws(PeerRefusal) {
                return .success(try core.add(request, receiver: receiver, output: wire, at: .now()))
            } catch {
                return .failure(error)
            }
        }
        let (peer, credentials) = try added.get()
        wire.socket.interrupt()
        let answer = PeerAnswer(
            credentials: credentials, fingerprint: identity.fingerprint, role: request.role,
            candidates: candidates(reachableAt: reachableAt))
        return (peer, answer)
    }

    /// Begins an ICE restart, and says what our side of it is (RFC 8445, 9). DTLS and SRTP stay as they are. Any thread.
    /// - Parameter credentials: the peer's new ones.
    /// - Returns: nil when the peer is gone.
    public func restart(_ peer: Peer, _ credentials: ICECredentials, reachableAt: PeerAddress? = nil) -> PeerAnswer? {
        guard let ours = core.withLock({ $0.restart(peer.id, credentials, at: .now()) }) else { return nil }
        return PeerAnswer(
            credentials: ours.credentials, fingerprint: identity.fingerprint, role: ours.role,
            candidates: candidates(reachableAt: reachableAt))
    }

    private func candidates(reachableAt: PeerAddress?) -> [PeerAddress] {
        func withPort(_ address: PeerAddress) -> PeerAddress {
            var address = address
            if address.port == 0 { address.port = local.port }
            return address
        }
        if !configuration.advertised.isEmpty { return withTCP(configuration.advertised.map(withPort)) }
        guard local.isAny else { return withTCP([local]) }
        var found: [PeerAddress] = []
        if var reachableAt {
            reachableAt.port = local.port
            found.append(reachableAt)
        }
        for address in LocalRoutes.sources(port: local.port) where !found.contains(address) { found.append(address) }
        // A socket of one family is reached by that family only.
        if local.ipv4 != nil { found.removeAll { $0.ipv4 == nil } }
        // A machine without a network calls itself.
        return withTCP(found.isEmpty ? [PeerAddress(ipv4: 0x7f00_0001, port: local.port)] : found)
    }

    /// The same addresses, and behind them those at which TCP is taken.
    private func withTCP(_ addresses: [PeerAddress]) -> [PeerAddress] {
        guard let listener = wire.listener else { return addresses }
        return addresses
            + addresses.filter { !listener.isIPv4 || $0.ipv4 != nil }.map { address in
                var address = address
                (address.port, address.isTCP) = (listener.port, true)
                return address
            }
    }

    /// Ends a call with a goodbye. Its receiver is told on the receiving thread. Any thread.
    public func close(_ peer: Peer) {
        core.withLock { $0.close(peer.id) }
        wire.socket.interrupt()
    }

    /// More peers are refused.
    public var mostPeers: Int { configuration.mostPeers }
    public var peerCount: Int { core.withLock { $0.peerCount } }
    public func counts() -> PortCounts { core.withLock { $0.counts } }
    /// What came from a peer; nil when it is gone.
    public func statistics(of peer: Peer) -> InboundStatistics? { core.withLock { $0.statistics(of: peer.id) } }

    /// For how long nothing has come that only this peer can have made; nil when it is gone. A peer that vanished without a goodbye
    /// is gone after ``ICELiteAgent/consentTimeout``, and shows by its silence before: a browser checks every few seconds.
    public func silence(of peer: Peer, at now: MonotonicTime = .now()) -> Nanoseconds? {
        core.withLock { $0.lastEvidence(of: peer.id) }.map { now - $0 }
    }

    // MARK: Receiving

    /// Handles what has come, or waits for it until the time. Returns after one batch, soon after ``interrupt()``, and at once when the
    /// port is closed. One thread at a time.
    public func turn(until limit: MonotonicTime) {
        guard !isClosed.load(ordering: .acquiring) else { return }
        receiving.withLock { receiving in
            let now = MonotonicTime.now()
            if now >= receiving.nextTick {
                receiving.nextTick = core.withLock { $0.tick(at: now) }
                deliver(&receiving)
                wire.listener?.tick(at: now) { address in core.withLock { $0.knows(address) } }
            }
            unsafe wire.listener?.turn(at: now) { packet, sender in
                let arrived = PortSocket.Arrived(byteCount: packet.count, time: .now(), sender: sender, isCut: false)
                unsafe receive(arrived, packet, &receiving)
            } isKnown: { address in
                core.withLock { $0.knows(address) }
            }
            var isFirst = true
            for _ in 0..<Self.largestBatch {
                let buffer = unsafe UnsafeMutableRawBufferPointer(
                    start: receiving.buffer.pointer(), count: Receiving.largestDatagram)
                guard let arrived = unsafe wire.socket.receive(into: buffer) else {
                    guard isFirst else { return }
                    isFirst = false
                    // What other threads closed or added since.
                    deliver(&receiving)
                    wire.wait(until: min(limit, receiving.nextTick))
                    continue
                }
                isFirst = false
                unsafe receive(arrived, buffer, &receiving)
            }
        }
    }

    /// Timers get their turn after so many datagrams.
    private static let largestBatch = 64

    private func receive(
        _ arrived: PortSocket.Arrived, _ buffer: UnsafeMutableRawBufferPointer, _ receiving: inout Receiving
    ) {
        guard !arrived.isCut else { return core.withLock { $0.countCut() } }
        let datagram = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<arrived.byteCount])
        let lent = unsafe LentBuffer(datagram)
        let (packet, hasMore) = core.withLock { core in
            let packet = unsafe core.receive(lent.bytes, from: arrived.sender, at: arrived.time)
            return (packet, core.hasOutput)
        }
        if hasMore {
            deliver(&receiving)
            // A handshake has begun, perhaps: its timer is nearer than the next tick.
            receiving.nextTick = min(receiving.nextTick, arrived.time + .milliseconds(50))
        }
        if let packet {
            unsafe packet.peer.receiver.receive(
                packet.kind, UnsafeRawBufferPointer(rebasing: datagram[..<packet.count]), arrival: arrived.time)
        }
    }

    /// Sends and tells what the core has gathered, outside of its lock: receivers may call the port.
    private func deliver(_ receiving: inout Receiving) {
        core.withLock { $0.drain(&receiving.outgoing, &receiving.changes) }
        for datagram in receiving.outgoing {
            _ = unsafe datagram.bytes.withUnsafeBytes { unsafe wire.send($0, to: datagram.address) }
        }
        receiving.outgoing.removeAll(keepingCapacity: true)
        for (peer, change) in receiving.changes { peer.receiver.peerChanged(change) }
        receiving.changes.removeAll(keepingCapacity: true)
    }

    /// Ends the present ``turn(until:)``, or the next one.
    public func interrupt() { wire.socket.interrupt() }

    /// Receives on a thread of its own from now on, until ``close()``. The thread keeps the port alive.
    public func start() {
        thread.withLock { thread in
            guard thread == nil, !isClosed.load(ordering: .acquiring) else { return }
            thread = StageThread(name: "webrtc") {
                while !self.isClosed.load(ordering: .acquiring) { self.turn(until: .now() + .seconds(1)) }
            }
        }
    }

    /// Says goodbye to all peers, tells their receivers, and stops the thread. The socket is closed when nobody holds the port and its
    /// peers any more. Not to be called by a receiver.
    public func close() {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        core.withLock { $0.closeAll() }
        wire.socket.interrupt()
        let running = thread.withLock { thread in
            let running = thread
            thread = nil
            return running
        }
        running?.join()
        receiving.withLock { deliver(&$0) }
        wire.listener?.closeAll()
    }
}
