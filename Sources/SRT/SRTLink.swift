import CSRT
import Endpoint
import Glibc
import Media
import Packets
import Synchronization

/// Keeps one SRT leg connected: a thread of its own calls, listens, waits and calls again, and publishes the present
/// connection's socket for the frame path to use. Thread-safe.
final class SRTLink: Sendable {
    enum Direction { case input, output }

    static let connectTimeout = Nanoseconds.seconds(3)
    /// A connection that has held for so long makes the next failure's wait short again.
    static let holdsAfter = Nanoseconds.seconds(2)
    /// So many of a host's addresses are tried before the first call counts as failed.
    static let mostAddresses = 8
    /// How often the thread samples a connection's state. libsrt has no call that waits for a break or a silent peer; this is
    /// far less than the timeouts that depend on it.
    static let connectionPollInterval = Nanoseconds.milliseconds(20)
    /// How often it samples a call that is under way and a listener that waits for one: part of the time to the first
    /// picture.
    static let attemptPollInterval = Nanoseconds.milliseconds(2)
    static let acceptPollInterval = Nanoseconds.milliseconds(4)
    /// A listener's peer that has been silent for so long gives way to a new caller, which waits for that: libsrt's callers
    /// ask for three seconds whether they are admitted.
    static let peerSilenceTimeout = Nanoseconds.seconds(1)
    /// The reader gets this long to read what a lost connection has left in libsrt's buffer.
    static let drainTimeout = Nanoseconds.seconds(1)

    let endpoint: SRTEndpoint
    let place: String
    let direction: Direction
    let events = EventQueue()
    /// Wakes the thread that reads from the leg: a packet, an event or an interruption has come.
    let signal = ReaderSignal()
    let health: ArrivalHealth

    /// The present connection's socket, or -1.
    let socket = Atomic<Int32>(-1)
    /// The last socket that the reader found empty and broken.
    let drained = Atomic<Int32>(-1)
    /// The last socket that its user has abandoned.
    private let abandoned = Atomic<Int32>(-1)
    /// The number of the present connection's first packet, or -1.
    let firstSequence = Atomic<Int32>(-1)
    /// Messages read early whose packets left no stamp. Counted by the reader.
    let messagesUnstamped = Atomic<Int64>(0)
    /// Another thread wants the reader to return.
    let isInterrupted = Atomic<Bool>(false)
    private let presentTap = Lock<ArrivalTap?>(nil)
    private let window = Atomic<Int64>(0)
    private let readsEarly = Atomic<Bool>(true)
    /// The verdict on the next connection, where the endpoint leaves the choice to us.
    let nextReadsEarly = Atomic<Bool>(true)
    private let hasReportedHealth = Atomic<Bool>(false)

    private let stopping = Atomic<Bool>(false)
    private let counters = ConnectionCounters()
    private let firstFailure = Lock<TransportError?>(nil)
    private let presentTrouble = Lock<LegTrouble?>(nil)
    /// Why calls failed, as far as it was reported since the last connection. A host's addresses may fail for different reasons.
    private let reportedFailures = Lock<[String]>([])
    private static let mostReportedFailures = 8
    /// The host has addresses that have not been called yet.
    let hasUntriedAddress = Atomic<Bool>(false)
    private let thread = Lock<StageThread?>(nil)
    private let resolver: any NameResolver
    /// Nil for a caller, and once the link is stopped: the port is free then.
    private let listener = Lock<SRTListener?>(nil)
    private let present = PresentPeer()
    /// The peer was kicked and is not called before this time.
    private let silentUntil = Lock(MonotonicTime(nanoseconds: 0))
    /// The listener's port, 0 for a caller.
    let localPort: UInt16

    /// Opens the endpoint and begins to connect.
    /// - Parameters:
    ///   - health: whether messages can be read early; the process's own, except in tests.
    ///   - resolver: looks up whom a caller calls.
    /// - Throws: `cannotBind` or `unresolvable` for a listener that cannot be had; a caller fails later.
    init(
        _ endpoint: SRTEndpoint, direction: Direction, health: ArrivalHealth = .shared,
        resolver: any NameResolver = NameResolution.resolver
    ) throws(TransportError) {
        _ = SRTLibrary.started
        self.endpoint = endpoint
        self.direction = direction
        self.health = health
        self.resolver = resolver
        place = endpoint.description
        nextReadsEarly.store(endpoint.ingest != .tsbpd, ordering: .relaxed)
        let wantsEarly = direction == .input && endpoint.ingest != .tsbpd
        if endpoint.mode == .listener {
            let listener = try SRTListener(
                endpoint, direction: direction, place: place, readingEarly: wantsEarly && health.failure == nil,
                signal: signal, health: health)
            localPort = listener.port
            self.listener.withLock { $0 = listener }
            events.append(.listening(ListeningPlace("srt", listener.address)))
            start { $0.serve(listener) }
        } else {
            localPort = 0
            start { $0.call() }
        }
        if wantsEarly { health.beginProof() }
    }

    private func start(_ run: @escaping @Sendable (SRTLink) -> Void) {
        let link = self
        SRTLibrary.add(link)
        thread.withLock { $0 = StageThread(name: direction == .input ? "srt-in" : "srt-out") { run(link) } }
    }

    var negotiatedWindow: Nanoseconds { Nanoseconds(window.load(ordering: .acquiring)) }
    /// Whether the present connection is read with TSBPD off.
    var isEarly: Bool { readsEarly.load(ordering: .acquiring) }
    /// Sees the present connection's packets; nil before the first connection.
    var tap: ArrivalTap? { presentTap.withLock { $0 } }
    /// Why no connection has come about yet; nil when one has, or nothing has been tried.
    var failureBeforeFirstConnection: TransportError? { firstFailure.withLock { $0 } }

    /// What keeps the leg from a peer; nil while one is connected, or nothing has failed.
    var trouble: LegTrouble? { presentTrouble.withLock { $0 } }

    /// Has the reader return, now or at its next wait.
    func interrupt() {
        isInterrupted.store(true, ordering: .releasing)
        signal.raise()
    }

    /// Closes a connection that is of no use any more, if it is still the present one.
    func abandon(_ id: SRTSOCKET) { abandoned.store(id, ordering: .relaxed) }

    func statistics() -> LegFigures {
        var figures = counters.sum()
        if let listener = listener.withLock({ $0 }) {
            figures.refusals = listener.refusalCounts
            figures.handshakesDropped = listener.handshakesDropped
        }
        figures.messagesUnstamped = messagesUnstamped.load(ordering: .relaxed)
        if wantsEarly { figures.earlyIngest = health.state }
        return figures
    }

    /// The present connection.
    var peers: [ConnectedPeer] { present.peer(window: negotiatedWindow).map { [$0] } ?? [] }

    /// Ends the present connection, if it has this number, and keeps its peer out for so long: a listener refuses its host, a
    /// caller does not call.
    /// - Returns: false when there is no such connection.
    func kick(_ id: UInt64, for time: Nanoseconds) -> Bool { present.kick(id, until: .now() + time) }

    // MARK: The thread

    private var isStopping: Bool { stopping.load(ordering: .acquiring) }
    private var wantsEarly: Bool { direction == .input && endpoint.ingest != .tsbpd }
    /// Whether the next connection is to be read early.
    private var willReadEarly: Bool {
        direction == .input && nextReadsEarly.load(ordering: .relaxed) && health.failure == nil
    }

    private func call() {
        var backoff = CallerBackoff(seed: UInt64(bitPattern: MonotonicTime.now().nanoseconds) ^ UInt64(getpid()))
        var attempt = 0
        var ports: [CallingPort] = []
        while !isStopping {
            pause(until: silentUntil.withLock { $0 })
            var isLast = true
            do throws(TransportError) {
                guard let (address, count) = try findPeer(attempt: attempt) else { return }
                attempt += 1
                isLast = attempt >= min(count, Self.mostAddresses)
                hasUntriedAddress.store(!isLast, ordering: .releasing)
                let early = willReadEarly
                let port = try port(for: address, among: &ports)
                let connection = try connect(to: address, early: early, from: port)
                let began = MonotonicTime.now()
                let asked = port.tap.windowOfPeer(of: connection.id)
                attend(
                    connection, tap: port.tap, peer: address, streamID: endpoint.streamID ?? "", early: early,
                    windowAsked: asked
                ) { _, _ in false }
                if MonotonicTime.now() - began > Self.holdsAfter { backoff.reset() }
            } catch {
                if isStopping { return }
                record(error, isLast: isLast)
                // Each of a host's addresses has its try before anybody waits.
                if !isLast { continue }
            }
            // Both sides of a rendezvous must call most of the time, or they do not meet.
            if endpoint.mode == .rendezvous { backoff.reset() }
            pause(until: .now() + backoff.next())
        }
    }

    private func serve(_ listener: SRTListener) {
        while !isStopping {
            admitCallers(of: listener, to: .free)
            guard let caller = listener.accept() else {
                pause(until: .now() + Self.acceptPollInterval)
                continue
            }
            let (early, windowAsked) = (caller.early, caller.windowAsked)
            let connection = caller.connection
            let streamID = connection.text(SRTO_STREAMID)
            let peer = connection.peer
            attend(
                connection, tap: listener.tap, peer: peer, streamID: streamID, early: early, windowAsked: windowAsked
            ) {
                self.givesWay($0, figures: $1, to: listener)
            }
        }
    }

    /// Whether a listener's peer is to go, because another caller has been admitted. Also sets who is admitted next.
    private func givesWay(_ silence: PeerSilence, figures: LegFigures, to listener: SRTListener) -> Bool {
        let isSilent = silence.duration >= Self.peerSilenceTimeout
        admitCallers(of: listener, to: isSilent ? .free : .held(heard: silence.lastHeard))
        guard listener.someoneWaits else { return false }
        guard isSilent else {
            // The peer sends again after all, and nobody waits for ever beside it.
            listener.dismiss()
            return false
        }
        // With TSBPD, messages may be due only after the next caller has been admitted, and that caller's messages wait. A
        // caller without an answer would send none, and it is mostly the same sender, started again. Where the window is
        // longer than the timeout, the caller may still be dismissed. Messages behind a gap never become due.
        return figures.packetsBuffered == 0
            || silence.duration >= Self.peerSilenceTimeout + negotiatedWindow
    }

    private func report(_ event: LegEvent) {
        events.append(event)
        signal.raise()
    }

    /// Reports once that nothing can be read early.
    private func reportHealth() {
        guard wantsEarly, let reason = health.failure, !hasReportedHealth.exchange(true, ordering: .relaxed) else { return }
        report(.earlyIngestFailed(reason: reason))
    }

    private func admitCallers(of listener: SRTListener, to place: SRTListener.Place) {
        listener.admit(readingEarly: willReadEarly, to: place)
        for refusal in listener.refusals() {
            if socket.load(ordering: .relaxed) < 0 { presentTrouble.withLock { $0 = LegTrouble(.callerRefused, refusal) } }
            report(.refused(reason: refusal))
        }
    }

    /// The address to call, of how many; nil when the leg is stopped before it is known.
    /// - Parameter attempt: counts the calls; they go to the host's addresses in turn.
    private func findPeer(attempt: Int) throws(TransportError) -> (SocketAddress, count: Int)? {
        let lookup = NameLookup.begin(
            host: endpoint.host, port: endpoint.port, place: place, resolver: resolver)
        while !isStopping {
            if let result = lookup.result {
                let addresses = try result.get()
                return (addresses[attempt % addresses.count], addresses.count)
            }
            pause(until: .now() + Self.attemptPollInterval)
        }
        return nil
    }

    /// The port to call an address from: one for each family of the host's addresses.
    private func port(
        for address: SocketAddress, among ports: inout [CallingPort]
    ) throws(TransportError) -> CallingPort {
        if let port = ports.first(where: { $0.reaches(address, for: endpoint) }) { return port }
        do throws(SRTFailure) {
            let tap = ArrivalTap(raising: signal, fault: health.fault)
            let port = try CallingPort(to: address, for: endpoint, tap: tap)
            ports.append(port)
            return port
        } catch {
            throw TransportError(.system, place: place, error.text)
        }
    }

    /// One attempt of a caller (or of one side of a rendezvous).
    private func connect(
        to address: SocketAddress, early: Bool, from port: CallingPort
    ) throws(TransportError) -> SRTSocket {
        let socket: SRTSocket
        do throws(SRTFailure) {
            socket = try port.call(address, for: endpoint, early: early)
        } catch {
            throw TransportError(.system, place: place, error.text)
        }
        let limit = MonotonicTime.now() + Self.connectTimeout
        while true {
            switch socket.progress {
            case .connected: return socket
            case .underWay: break
            case .failed: throw socket.failure(calling: endpoint, place: place)
            }
            guard !isStopping, .now() <= limit else { throw socket.failure(calling: endpoint, place: place) }
            pause(until: .now() + Self.attemptPollInterval)
        }
    }

    /// - Parameter isLast: all of the host's addresses have been called.
    private func record(_ error: TransportError, isLast: Bool) {
        firstFailure.withLock { failure in
            if failure == nil && isLast && counters.connections == 0 { failure = error }
        }
        presentTrouble.withLock { $0 = LegTrouble(error) }
        // It calls again every few seconds, for as long as it takes.
        let isNews = reportedFailures.withLock { reported in
            guard !reported.contains(error.message), reported.count < Self.mostReportedFailures else { return false }
            reported.append(error.message)
            return true
        }
        if isNews { report(.refused(reason: "\(error.message); it is tried again until it succeeds")) }
    }

    /// Publishes a connection and stays with it until it breaks, another caller replaces it, or the leg is stopped.
    /// - Parameters:
    ///   - tap: sees its packets.
    ///   - peer: a caller's is the address that it called.
    ///   - isReplaced: decides from the peer's silence and the figures whether another caller replaces it.
    private func attend(
        _ connection: consuming SRTSocket, tap: ArrivalTap, peer: SocketAddress?, streamID: String, early: Bool,
        windowAsked: Int32, isReplaced: (PeerSilence, LegFigures) -> Bool
    ) {
        var milliseconds = connection.integer(direction == .input ? SRTO_RCVLATENCY : SRTO_PEERLATENCY) ?? 0
        // The larger wish counts. libsrt sees to that itself only while TSBPD is on.
        if early { milliseconds = max(milliseconds, windowAsked) }
        window.store(Int64(milliseconds) * 1_000_000, ordering: .releasing)
        readsEarly.store(early, ordering: .releasing)
        firstSequence.store(connection.integer(SRTO_ISN) ?? -1, ordering: .releasing)
        presentTap.withLock { $0 = tap }
        let id = connection.id
        tap.pin(id)
        let local = listener.withLock { $0 }?.address ?? connection.localAddress
        present.begin(
            id, peer: peer, streamID: streamID,
            farewell: SRTFarewell(peer: peer, socket: tap.peerSocket(of: id), local: local))
        counters.begin(id, window: negotiatedWindow)
        firstFailure.withLock { $0 = nil }
        presentTrouble.withLock { $0 = nil }
        reportedFailures.withLock { $0.removeAll() }
        // A sender that hears of the connection can send at once. A reader hears of it before its first message.
        if direction == .output { socket.store(id, ordering: .releasing) }
        report(
            .connected(
                Connection(
                    peer: peer?.description ?? "unknown address", streamID: streamID,
                    window: negotiatedWindow, ingest: direction == .input ? (early ? .early : .tsbpd) : nil)))
        socket.store(id, ordering: .releasing)
        signal.raise()

        let reason = watch(connection, isReplaced: isReplaced)
        if direction == .input {
            let limit = MonotonicTime.now() + Self.drainTimeout
            signal.raise()
            while drained.load(ordering: .acquiring) != id && !isStopping && .now() < limit {
                pause(until: .now() + Self.attemptPollInterval)
            }
        }
        // Who was kicked while the reader emptied the connection may have called again already.
        keepOutKicked()
        socket.store(-1, ordering: .releasing)
        present.end()
        tap.pin(id, false)
        counters.end(id)
        report(.disconnected(reason: reason))
    }

    /// Samples a connection until it is over.
    /// - Returns: why it is over.
    private func watch(
        _ connection: borrowing SRTSocket, isReplaced: (PeerSilence, LegFigures) -> Bool
    ) -> String {
        // The last ones. libsrt gives none of a broken connection.
        var figures = LegFigures()
        var silence = PeerSilence(since: .now(), samplingEvery: Self.connectionPollInterval)
        while !isStopping {
            let begin = MonotonicTime.now()
            if var now = counters.sample(connection.id) {
                now.packetsBuffered = now.knowsBuffered ? now.packetsBuffered : figures.packetsBuffered
                figures = now
            }
            silence.sample(packets: figures.packetsFromPeer, from: begin, to: .now())
            // A receiver that has all that was sent need not say anything.
            if direction == .output, figures.packetsBuffered == 0 { silence.expectNothing() }
            if connection.state != SRTS_CONNECTED { return "the peer has gone" }
            if abandoned.load(ordering: .relaxed) == connection.id {
                connection.close()
                return SendStall.words
            }
            if keepOutKicked() {
                connection.close()
                return "ended on request"
            }
            if isReplaced(silence, figures) {
                // The reader finds a lost connection, and delivers what it holds.
                connection.close()
                return "silent while another caller came"
            }
            pause(until: .now() + Self.connectionPollInterval)
        }
        return "stopped"
    }

    /// Keeps the present peer out, if somebody asked for that.
    /// - Returns: whether somebody did.
    @discardableResult private func keepOutKicked() -> Bool {
        guard let kicked = present.kicked else { return false }
        if let host = kicked.host { listener.withLock { $0 }?.bar(host, until: kicked.until) }
        silentUntil.withLock { $0 = kicked.until }
        return true
    }

    /// Sleeps in short steps, so that stopping does not wait for a long backoff.
    private func pause(until time: MonotonicTime) {
        while !isStopping {
            reportHealth()
            let now = MonotonicTime.now()
            if now >= time { return }
            min(time, now + Self.connectionPollInterval).sleep()
        }
    }
}

extension SRTLink: SRTLibraryUser {
    /// Begins what ``stop()`` waits for.
    func beginStopping() {
        stopping.store(true, ordering: .releasing)
        signal.raise()
    }

    /// Closes the connection and ends the thread, which calls nothing that cannot be left soon.
    func stop() {
        beginStopping()
        thread.withLock { $0.take() }?.join()
        let figures = statistics()
        counters.keep(figures.refusals, handshakesDropped: figures.handshakesDropped)
        listener.withLock { $0 = nil }
        SRTLibrary.remove(self)
    }
}
