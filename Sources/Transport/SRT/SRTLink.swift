import CSRT
import CSRTArrival
import Glibc
import Media
import Synchronization

/// Keeps one SRT leg connected: a thread of its own calls, listens, waits and calls again, and publishes the present
/// connection's socket for the frame path to use. Thread-safe.
final class SRTLink: Sendable {
    enum Direction { case input, output }

    static let connectTime = Nanoseconds.seconds(3)
    /// A connection that has held for so long makes the next failure's wait short again.
    static let holdsAfter = Nanoseconds.seconds(2)
    /// How often the thread looks at a connection, and how often at an attempt.
    static let lookEvery = Nanoseconds.milliseconds(20)
    static let lookSoon = Nanoseconds.milliseconds(2)
    /// A listener's peer that has been silent for so long gives way to a new caller, which waits for that at the door:
    /// libsrt's callers ask for three seconds whether they may come in.
    static let givesWayAfter = Nanoseconds.seconds(1)
    /// The reader gets this long to take what a lost connection has left in libsrt's buffer.
    static let drainTime = Nanoseconds.seconds(1)

    let endpoint: SRTEndpoint
    let place: String
    let direction: Direction
    let events = EventBox()

    /// The present connection's socket, or -1.
    let socket = Atomic<Int32>(-1)
    /// The last socket that the reader found empty and broken.
    let drained = Atomic<Int32>(-1)
    /// The last socket that its user has given up.
    private let givenUp = Atomic<Int32>(-1)
    /// The number of the present connection's first packet, or -1.
    let firstSequence = Atomic<Int32>(-1)
    private let window = Atomic<Int64>(0)
    private let readsEarly = Atomic<Bool>(true)
    /// What the next connection is to do when the endpoint leaves the choice to us.
    let nextReadsEarly = Atomic<Bool>(true)

    private let stopping = Atomic<Bool>(false)
    private let totals = Lock(LegStatistics())
    private let firstFailure = Lock<TransportError?>(nil)
    private let thread = Lock<StageThread?>(nil)
    private let resolver: NameLookup.Resolver
    /// The listener's port, 0 for a caller.
    let localPort: UInt16

    /// Opens the endpoint and begins to connect.
    /// - Parameter resolver: looks up whom a caller calls.
    /// - Throws: `cannotBind` or `unresolvable` for a listener that cannot be had; a caller fails later.
    init(
        _ endpoint: SRTEndpoint, direction: Direction,
        resolver: @escaping NameLookup.Resolver = { (host, port, place) throws(TransportError) in
            try SocketAddress.resolve(host: host, port: port, place: place)
        }
    ) throws(TransportError) {
        self.endpoint = endpoint
        self.direction = direction
        self.resolver = resolver
        place = endpoint.description
        nextReadsEarly.store(endpoint.ingest != .tsbpd, ordering: .relaxed)
        if endpoint.mode == .listener {
            let listener = try SRTListener(
                endpoint, place: place, readingEarly: direction == .input && endpoint.ingest != .tsbpd)
            localPort = listener.port
            events.put(.listening(port: listener.port))
            start { $0.serve(listener) }
        } else {
            localPort = 0
            start { $0.call() }
        }
    }

    private func start(_ run: @escaping @Sendable (SRTLink) -> Void) {
        let link = self
        SRTLibrary.live.withLock { $0.append(link) }
        thread.withLock { $0 = StageThread(name: direction == .input ? "srt-in" : "srt-out") { run(link) } }
    }

    /// Closes the connection and ends the thread, which calls nothing that cannot be left soon.
    func stop() {
        stopping.store(true, ordering: .releasing)
        burnish_srt_arrivals_wake()
        thread.withLock { $0.take() }?.join()
        SRTLibrary.live.withLock { $0.removeAll { $0 === self } }
    }

    var negotiatedWindow: Nanoseconds { Nanoseconds(window.load(ordering: .acquiring)) }
    /// Whether the present connection is read with TSBPD off.
    var isEarly: Bool { readsEarly.load(ordering: .acquiring) }
    /// Why no connection has come about yet; nil when one has, or nothing has been tried.
    var failureBeforeFirstConnection: TransportError? { firstFailure.withLock { $0 } }

    /// Closes a connection of which nothing is to be had any more, if it is still the present one.
    func giveUp(_ id: SRTSOCKET) { givenUp.store(id, ordering: .relaxed) }

    func statistics() -> LegStatistics {
        let id = socket.load(ordering: .acquiring)
        let earlier = totals.withLock { $0 }
        guard id >= 0, var now = LegStatistics(of: id, window: negotiatedWindow) else { return earlier }
        now.addCounters(of: earlier)
        now.connections = earlier.connections
        return now
    }

    // MARK: The thread

    private var isStopping: Bool { stopping.load(ordering: .acquiring) }

    private func call() {
        var backoff = Backoff(seed: UInt64(bitPattern: MonotonicTime.now().nanoseconds) ^ UInt64(getpid()))
        while !isStopping {
            do throws(TransportError) {
                let early = nextReadsEarly.load(ordering: .relaxed)
                guard let address = try findPeer() else { return }
                let connection = try connect(to: address, early: early)
                let began = MonotonicTime.now()
                let asked = burnish_srt_window_asked_by_listener(connection.id)
                attend(
                    connection, peer: address, streamID: endpoint.streamID ?? "", early: early && direction == .input,
                    windowAsked: asked
                ) { _, _ in false }
                if MonotonicTime.now() - began > Self.holdsAfter { backoff.reset() }
            } catch {
                if isStopping { return }
                note(error)
            }
            // Two who want to meet must both be there most of the time.
            if endpoint.mode == .rendezvous { backoff.reset() }
            pause(until: .now() + backoff.next())
        }
    }

    private func serve(_ listener: SRTListener) {
        while !isStopping {
            tend(listener, place: .free)
            guard let caller = listener.accept() else {
                pause(until: .now() + Self.lookSoon * 2)
                continue
            }
            let (early, windowAsked) = (caller.early, caller.windowAsked)
            let connection = caller.connection
            let streamID = connection.text(SRTO_STREAMID)
            let peer = connection.peer
            attend(connection, peer: peer, streamID: streamID, early: early, windowAsked: windowAsked) {
                self.givesWay($0, figures: $1, to: listener)
            }
        }
    }

    /// Whether a listener's peer is to go, as somebody else has come in. Has the door open while it may.
    private func givesWay(_ peer: PeerHearing, figures: LegStatistics, to listener: SRTListener) -> Bool {
        let isSilent = peer.silence >= Self.givesWayAfter
        // A receiver that has been sent nothing for so long need not say anything, and nobody waits to hear it.
        let isIdle =
            direction == .output && figures.packetsBuffered == 0 && .now() - peer.atEarliest >= Self.givesWayAfter
        tend(listener, place: isSilent ? .free : isIdle ? .taken : .held(heard: peer.atEarliest))
        guard listener.someoneWaits else { return false }
        guard isSilent else {
            // It sends on after all, and nobody waits for ever at its side.
            listener.dismiss()
            return false
        }
        // What libsrt hands out by the clock may be due only after the next caller has come, whose messages wait: at the door
        // it would send none, and who calls is mostly the same sender, started again. With windows beyond the silence, it
        // may be sent away yet. What lies behind a hole is not handed out at all.
        return direction == .output || figures.packetsBuffered == 0
            || peer.silence >= Self.givesWayAfter + negotiatedWindow
    }

    private func tell(_ event: LegEvent) {
        events.put(event)
        burnish_srt_arrivals_wake()
    }

    private func tend(_ listener: SRTListener, place: SRTListener.Place) {
        listener.admit(readingEarly: direction == .input && nextReadsEarly.load(ordering: .relaxed), to: place)
        for refusal in listener.refusals() { tell(.refused(reason: refusal)) }
    }

    /// The address to call; nil when the leg is stopped before it is known.
    private func findPeer() throws(TransportError) -> SocketAddress? {
        if let address = SocketAddress.numeric(host: endpoint.host, port: endpoint.port) { return address }
        let lookup = NameLookup.begin(
            host: endpoint.host, port: endpoint.port, place: place, resolver: resolver)
        while !isStopping {
            if let result = lookup.result { return try result.get() }
            pause(until: .now() + Self.lookSoon)
        }
        return nil
    }

    /// One attempt of a caller (or of one side of a rendezvous).
    private func connect(to address: SocketAddress, early: Bool) throws(TransportError) -> SRTSocket {
        let socket: SRTSocket
        do {
            socket = try begin(to: address, early: early)
        } catch {
            throw TransportError(.system, place: place, error.text)
        }
        let limit = MonotonicTime.now() + Self.connectTime
        while true {
            switch socket.progress {
            case .connected: return socket
            case .underWay: break
            case .failed: throw failure(of: socket)
            }
            if isStopping || MonotonicTime.now() > limit { throw failure(of: socket) }
            pause(until: .now() + Self.lookSoon)
        }
    }

    private func begin(to address: SocketAddress, early: Bool) throws(SRTFailure) -> SRTSocket {
        let socket = try SRTSocket()
        try socket.configure(for: endpoint, early: early && direction == .input)
        if endpoint.mode == .rendezvous {
            let local = address.anyAddress(port: endpoint.localPort ?? endpoint.port)
            unsafe try socket.use(local, with: srt_bind)
        }
        unsafe try socket.use(address, with: srt_connect)
        return socket
    }

    private func failure(of socket: borrowing SRTSocket) -> TransportError {
        let reason = srt_getrejectreason(socket.id)
        switch UInt32(bitPattern: reason) {
        case SRT_REJ_UNKNOWN.rawValue, SRT_REJ_TIMEOUT.rawValue:
            return TransportError(.unreachable, place: place, "nobody answers there")
        case SRT_REJ_BADSECRET.rawValue:
            return TransportError(.refused, place: place, "the passphrase is wrong")
        case SRT_REJ_UNSECURE.rawValue:
            let remedy = endpoint.passphrase == nil ? "the peer wants a passphrase" : "the peer has no passphrase"
            return TransportError(.refused, place: place, remedy)
        default:
            let text = unsafe String(cString: srt_rejectreason_str(reason))
            return TransportError(.refused, place: place, "the peer refused: \(text) (code \(reason))")
        }
    }

    private func note(_ error: TransportError) {
        firstFailure.withLock { failure in
            if failure == nil && totals.withLock({ $0.connections }) == 0 { failure = error }
        }
        tell(.refused(reason: error.message))
    }

    /// Publishes a connection and stays with it until it breaks, somebody takes its place, or the leg is stopped.
    /// - Parameters:
    ///   - peer: a caller's is the address that it called.
    ///   - replaced: looks at when the peer was heard of, and at the figures, whether somebody else takes its place.
    private func attend(
        _ connection: consuming SRTSocket, peer: SocketAddress?, streamID: String, early: Bool, windowAsked: Int32,
        replaced: (PeerHearing, LegStatistics) -> Bool
    ) {
        var milliseconds = connection.integer(direction == .input ? SRTO_RCVLATENCY : SRTO_PEERLATENCY) ?? 0
        // The larger wish counts. libsrt sees to that itself only while TSBPD is on.
        if early { milliseconds = max(milliseconds, windowAsked) }
        window.store(Int64(milliseconds) * 1_000_000, ordering: .releasing)
        readsEarly.store(early, ordering: .releasing)
        firstSequence.store(connection.integer(SRTO_ISN) ?? -1, ordering: .releasing)
        totals.withLock { $0.connections += 1 }
        firstFailure.withLock { $0 = nil }
        let id = connection.id
        // Who is told of the connection can send at once; who reads is told of it before its first message.
        if direction == .output { socket.store(id, ordering: .releasing) }
        tell(
            .connected(
                Connection(
                    peer: peer?.description ?? "unknown address", streamID: streamID,
                    window: negotiatedWindow, ingest: direction == .input ? (early ? .early : .tsbpd) : nil,
                    encrypted: endpoint.passphrase != nil)))
        socket.store(id, ordering: .releasing)
        burnish_srt_arrivals_wake()

        var reason = "stopped"
        // libsrt gives no figures of a broken connection: those of the last look stand for its end.
        var figures = LegStatistics()
        var hearing = PeerHearing(since: .now(), lookingEvery: Self.lookEvery)
        while !isStopping {
            let begin = MonotonicTime.now()
            if var now = LegStatistics(of: id, window: .zero) {
                if !now.knowsBuffered { now.packetsBuffered = figures.packetsBuffered }
                figures = now
            }
            hearing.look(packets: figures.packetsFromPeer, from: begin, to: .now())
            // A receiver has all that it was sent: nothing is to be heard of it.
            if direction == .output, figures.packetsBuffered == 0 { hearing.expectNothing() }
            if connection.state != SRTS_CONNECTED {
                reason = "the peer has gone"
                break
            }
            if givenUp.load(ordering: .relaxed) == id {
                reason = "it takes nothing any more"
                connection.close()
                break
            }
            if replaced(hearing, figures) {
                reason = "silent while another caller came"
                // The reader finds a lost connection, and gives out what it holds.
                connection.close()
                break
            }
            pause(until: .now() + Self.lookEvery)
        }
        if direction == .input {
            let limit = MonotonicTime.now() + Self.drainTime
            burnish_srt_arrivals_wake()
            while drained.load(ordering: .acquiring) != id && !isStopping && .now() < limit {
                pause(until: .now() + Self.lookSoon)
            }
        }
        socket.store(-1, ordering: .releasing)
        figures = LegStatistics(of: id, window: .zero) ?? figures
        totals.withLock { $0.addCounters(of: figures) }
        tell(.disconnected(reason: reason))
        burnish_srt_arrivals_wake()
    }

    /// Sleeps in short steps, so that stopping does not wait for a long backoff.
    private func pause(until time: MonotonicTime) {
        while !isStopping {
            let now = MonotonicTime.now()
            if now >= time { return }
            min(time, now + Self.lookEvery).sleep()
        }
    }
}
