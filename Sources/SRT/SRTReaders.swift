import CSRT
import Endpoint
import Media
import Packets
import Synchronization

/// A listening SRT output: admits readers up to a cap, publishes their sockets for the frame path, and watches them, all on one
/// thread of its own. Thread-safe.
final class SRTReaders: Sendable {
    /// Where one reader at a time is.
    final class Place: Sendable {
        /// The reader's socket, or -1.
        let socket = Atomic<Int32>(-1)
        /// The last socket that its user has abandoned.
        let abandoned = Atomic<Int32>(-1)
        fileprivate let window = Atomic<Int64>(0)
        fileprivate let present = PresentPeer()

        fileprivate var negotiatedWindow: Nanoseconds { Nanoseconds(window.load(ordering: .acquiring)) }
    }

    /// What every network carries (IPv4's least); a whole message where libsrt cannot spread one over several packets. A message in
    /// packets of a few bytes would cost a packet for each.
    private static let smallestPackets: Int32 = SRTLibrary.spreadsMessages ? 576 : 1360

    let places: [Place]
    let events = EventQueue()
    let localPort: UInt16
    private let stopping = Atomic<Bool>(false)
    private let counters = ConnectionCounters()
    private let presentTrouble = Lock<LegTrouble?>(nil)
    private let thread = Lock<StageThread?>(nil)
    /// Nil once this is stopped: the port is free then.
    private let listener: Lock<SRTListener?>

    /// Opens the port.
    /// - Parameters:
    ///   - readers: how many are served at a time.
    init(_ endpoint: SRTEndpoint, readers: Int) throws(TransportError) {
        _ = SRTLibrary.started
        // libsrt raises the signal; nobody waits for it, because an output reads nothing.
        let listener = try SRTListener(
            endpoint, direction: .output, place: endpoint.description, readingEarly: false, signal: ReaderSignal()
        )
        places = (0..<max(1, readers)).map { _ in Place() }
        localPort = listener.port
        self.listener = Lock(listener)
        events.append(.listening(ListeningPlace("srt", listener.address)))
        SRTLibrary.add(self)
        thread.withLock { $0 = StageThread(name: "srt-out") { [self] in serve(listener) } }
    }

    /// All readers together, see ``ConnectionCounters/sum()``.
    func statistics() -> LegFigures {
        var sum = counters.sum()
        if let listener = listener.withLock({ $0 }) {
            sum.refusals = listener.refusalCounts
            sum.handshakesDropped = listener.handshakesDropped
        }
        return sum
    }

    /// The last caller was refused, and nobody has come since.
    var trouble: LegTrouble? { presentTrouble.withLock { $0 } }

    var peers: [ConnectedPeer] { places.compactMap { $0.present.peer(window: $0.negotiatedWindow) } }

    /// - Returns: false when there is no such connection.
    func kick(_ id: UInt64, for time: Nanoseconds) -> Bool {
        places.contains { $0.present.kick(id, until: .now() + time) }
    }

    // MARK: The thread

    private var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// A reader that is connected. Confined to the thread.
    private final class Reader {
        let place: Place
        let connection: SRTSocket
        let peer: String
        private let counters: ConnectionCounters
        private var silence = PeerSilence(since: .now(), samplingEvery: SRTLink.connectionPollInterval)
        /// The last ones. libsrt gives none of a broken connection.
        private(set) var figures = LegFigures()

        init(_ connection: consuming SRTSocket, at place: Place, _ counters: ConnectionCounters) {
            self.counters = counters
            peer = connection.peer?.description ?? CallerAdmission.unknown
            self.connection = connection
            self.place = place
        }

        var silentFor: Nanoseconds { silence.duration }
        var lastHeard: MonotonicTime { silence.lastHeard }
        var isSilent: Bool { silence.duration >= SRTLink.peerSilenceTimeout }
        /// It has been sent nothing for so long that it need not say anything: callers would wait for nothing.
        var isIdle: Bool {
            figures.packetsBuffered == 0 && .now() - silence.lastHeard >= SRTLink.peerSilenceTimeout
        }

        /// - Returns: why the connection is over; nil while it is not.
        func sample(_ listener: SRTListener) -> String? {
            let begin = MonotonicTime.now()
            if var now = counters.sample(connection.id) {
                now.packetsBuffered = now.knowsBuffered ? now.packetsBuffered : figures.packetsBuffered
                figures = now
            }
            silence.sample(packets: figures.packetsFromPeer, from: begin, to: .now())
            // A receiver that has all that was sent need not say anything.
            if figures.packetsBuffered == 0 { silence.expectNothing() }
            if connection.state != SRTS_CONNECTED { return "the peer has gone" }
            if place.abandoned.load(ordering: .relaxed) == connection.id { return SendStall.words }
            if let kicked = place.present.kicked {
                if let host = kicked.host { listener.bar(host, until: kicked.until) }
                return "ended on request"
            }
            return nil
        }
    }

    private func serve(_ listener: SRTListener) {
        var readers: [Reader] = []
        while !isStopping {
            for reader in readers {
                if let reason = reader.sample(listener) { end(reader, reason, &readers) }
            }
            listener.admit(readingEarly: false, to: rule(for: readers))
            for refusal in listener.refusals() {
                if readers.isEmpty { presentTrouble.withLock { $0 = LegTrouble(.callerRefused, refusal) } }
                events.append(.refused(reason: refusal))
            }
            while listener.someoneWaits { seat(listener, &readers) }
            let wait = readers.isEmpty ? SRTLink.acceptPollInterval : SRTLink.connectionPollInterval
            (MonotonicTime.now() + wait).sleep()
        }
        for reader in readers { end(reader, "stopped", &readers) }
    }

    /// How the next callers are met.
    private func rule(for readers: [Reader]) -> SRTListener.Place {
        let free = places.count - readers.count
        if free > 0 { return .room(free) }
        if readers.contains(where: \.isSilent) { return .free }
        return readers.filter { !$0.isIdle }.map(\.lastHeard).min().map { .held(heard: $0) } ?? .taken
    }

    /// Gives a place to the caller that waits. Where there is none, the reader that has been silent for longest gives way.
    private func seat(_ listener: SRTListener, _ readers: inout [Reader]) {
        if readers.count == places.count {
            let silent = readers.filter(\.isSilent).max { $0.silentFor < $1.silentFor }
            // It is heard of after all, and nobody waits for ever beside it.
            guard let silent else { return listener.dismiss() }
            end(silent, "silent while another caller came", &readers)
        }
        let left = places.count - readers.count - 1
        guard let place = places.first(where: { $0.socket.load(ordering: .relaxed) < 0 }),
            let caller = listener.accept(leaving: left > 0 ? .room(left) : .held(heard: .now()))
        else { return }
        let reader = Reader(caller.connection, at: place, counters)
        let id = reader.connection.id
        if let size = reader.connection.integer(SRTO_MSS), size < Self.smallestPackets {
            listener.tap.pin(id, false)
            events.append(
                .refused(
                    reason: "\(reader.peer) asks for packets of \(size) bytes, and gets none below \(Self.smallestPackets)"))
            return
        }
        let (peer, streamID) = (reader.connection.peer, reader.connection.text(SRTO_STREAMID))
        let milliseconds = reader.connection.integer(SRTO_PEERLATENCY) ?? 0
        place.window.store(Int64(milliseconds) * 1_000_000, ordering: .releasing)
        place.present.begin(
            id, peer: peer, streamID: streamID,
            farewell: SRTFarewell(peer: peer, socket: listener.tap.peerSocket(of: id), local: listener.address))
        // Its memory of arrivals is of no further use to one that only receives.
        listener.tap.pin(id, false)
        counters.begin(id, window: place.negotiatedWindow)
        readers.append(reader)
        place.socket.store(id, ordering: .releasing)
        events.append(
            .connected(Connection(peer: reader.peer, streamID: streamID, window: place.negotiatedWindow)))
    }

    private func end(_ reader: Reader, _ reason: String, _ readers: inout [Reader]) {
        reader.place.socket.store(-1, ordering: .releasing)
        reader.place.present.end()
        counters.end(reader.connection.id)
        reader.connection.close()
        readers.removeAll { $0 === reader }
        events.append(.disconnected(reason: places.count > 1 ? "\(reader.peer): \(reason)" : reason))
    }
}

extension SRTReaders: SRTLibraryUser {
    /// Begins what ``stop()`` waits for.
    func beginStopping() { stopping.store(true, ordering: .releasing) }

    /// Closes all connections and ends the thread.
    func stop() {
        beginStopping()
        thread.withLock { $0.take() }?.join()
        let figures = statistics()
        counters.keep(figures.refusals, handshakesDropped: figures.handshakesDropped)
        listener.withLock { $0 = nil }
        SRTLibrary.remove(self)
    }
}
