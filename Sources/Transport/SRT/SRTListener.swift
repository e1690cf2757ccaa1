import CSRT
import CSRTArrival
import Glibc
import Media
import Synchronization

/// A listening SRT socket. Who may come in is decided while the handshake runs, and who was turned away is told.
/// Used by one thread; libsrt's own thread calls the door.
final class SRTListener: Sendable {
    private let socket: SRTSocket
    private let door: Door
    /// Accepted, not yet taken.
    private let next = Atomic<SRTSOCKET>(SRT_INVALID_SOCK)

    let port: UInt16

    /// Binds and listens.
    /// - Parameter readingEarly: how callers are met until ``admit(readingEarly:to:)`` says otherwise: one may come at
    ///   once.
    init(_ endpoint: SRTEndpoint, place: String, readingEarly: Bool) throws(TransportError) {
        let address = try SocketAddress.resolve(host: endpoint.host, port: endpoint.port, place: place)
        do throws(SRTFailure) {
            let socket = try SRTSocket()
            let door = Door(
                hasPassphrase: endpoint.passphrase != nil, wantedStreamID: endpoint.streamID,
                rules: Door.Rules(readingEarly: readingEarly, place: .free))
            try socket.configure(for: endpoint, early: false)
            if address.family == AF_INET6 { try socket.set(SRTO_IPV6ONLY, Int32(address.isAnyIPv6 ? 0 : 1)) }
            unsafe try socket.use(address, with: srt_bind)
            port = socket.localPort
            // Never released: libsrt's thread may be inside the hook while the socket is closed. One per listener.
            let opaque = unsafe Unmanaged.passRetained(door).toOpaque()
            unsafe srt_listen_callback(socket.id, judgeCaller, opaque)
            guard srt_listen(socket.id, 4) != SRT_ERROR else { throw .last }
            self.socket = socket
            self.door = door
        } catch {
            throw TransportError(.cannotBind, place: place, "cannot listen there: \(error.text)")
        }
    }

    deinit {
        let left = next.load(ordering: .acquiring)
        if left >= 0 { srt_close(left) }
    }

    /// The place that one caller at a time has.
    enum Place {
        /// Whoever calls first may have it.
        case free
        /// Others are turned away at once.
        case taken
        /// Somebody has it who gives it up when silent for long enough, and was heard of at this time or later. Others
        /// get no answer until it is heard of again, which turns them away, or has given the place up.
        case held(heard: MonotonicTime)
    }

    /// How callers are met from now on. While one that has come in waits for ``accept()``, a free place is not given to
    /// another.
    func admit(readingEarly: Bool, to place: Place) {
        door.rules.withLock { $0 = Door.Rules(readingEarly: readingEarly, place: place) }
    }

    /// How many callers are without an answer.
    var callersUnanswered: Int { door.unanswered }

    /// Whether a caller has come in that ``accept()`` will return.
    var someoneWaits: Bool {
        if next.load(ordering: .relaxed) < 0 {
            let id = srt_accept(socket.id, nil, nil)
            if id >= 0 { next.store(id, ordering: .relaxed) }
        }
        return next.load(ordering: .relaxed) >= 0
    }

    /// A caller that has come in, and whether it is read early; does not wait. It may have come long ago: its socket
    /// itself says how it was met. It has the place from now on, and has been heard of.
    func accept() -> Caller? {
        guard someoneWaits else { return nil }
        // Before its turn is over, or another one would be let in meanwhile, to be sent away again.
        door.rules.withLock { $0.place = .held(heard: .now()) }
        return takeNext()
    }

    private func takeNext() -> Caller {
        let id = next.exchange(SRT_INVALID_SOCK, ordering: .relaxed)
        door.accepted(id)
        let connection = SRTSocket(adopting: id)
        let early = connection.integer(SRTO_TSBPDMODE) == 0
        return Caller(
            connection: connection, early: early, windowAsked: early ? burnish_srt_window_wanted(id) : -1)
    }

    /// Turns away whoever has come in, after all.
    func dismiss() {
        guard someoneWaits else { return }
        door.turnAway(takeNext().connection.peer?.description)
    }

    struct Caller: ~Copyable {
        let connection: SRTSocket
        /// Whether it is read with TSBPD off.
        let early: Bool
        /// Where it is read early: the larger one of our window and the one that it asked for, in milliseconds, or -1.
        let windowAsked: Int32
    }

    /// Who was turned away since the last call, and why.
    func refusals(now: MonotonicTime = .now()) -> [String] { door.refusals(now: now) }
}

private func judgeCaller(
    _ opaque: UnsafeMutableRawPointer?, _ candidate: SRTSOCKET, _: Int32, _ peer: UnsafePointer<sockaddr>?,
    _ streamID: UnsafePointer<CChar>?
) -> Int32 {
    guard let opaque = unsafe opaque else { return -1 }
    let door = unsafe Unmanaged<Door>.fromOpaque(opaque).takeUnretainedValue()
    var from: SocketAddress?
    if let peer = unsafe peer {
        let isIPv6 = unsafe Int32(peer.pointee.sa_family) == AF_INET6
        let length = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        from = unsafe SocketAddress(copying: peer, length: socklen_t(length))
    }
    let wanted = unsafe streamID.map { unsafe String(cString: $0) } ?? ""
    return door.judge(candidate, from: from?.description ?? Door.unknown, streamID: wanted) ? 0 : -1
}

/// Judges callers on libsrt's thread, and remembers them until it is known what became of them: libsrt checks the
/// passphrase only afterwards and tells nobody.
private final class Door: Sendable {
    struct Rules {
        var readingEarly: Bool
        var place: SRTListener.Place
    }

    private enum Verdict { case comesIn, asksAgain, isTurnedAway }

    /// A caller that has got no answer yet and asks again and again. In the book they are in the order of ``last``.
    private struct Asker {
        var from: String
        var since: MonotonicTime
        var last: MonotonicTime
    }

    private struct Candidate {
        var id: SRTSOCKET
        var from: String
        var since: MonotonicTime
    }

    private struct Book {
        var candidates: [Candidate] = []
        var askers: [Asker] = []
        /// Has come in and waits for its turn, unless it has gone.
        var next: SRTSOCKET?
        private(set) var refusals: [String] = []
        var turnedAway = RepeatedRefusal(reason: "called while another caller is served")
        var astray = RepeatedRefusal(reason: "asked for a stream ID that is not served here")
        var strangers: RepeatedRefusal

        mutating func note(_ kind: WritableKeyPath<Book, RepeatedRefusal>, from caller: String, at now: MonotonicTime) {
            tell(self[keyPath: kind].note(caller, at: now))
        }

        mutating func takeRefusals(at now: MonotonicTime) -> [String] {
            tell(turnedAway.due(at: now))
            tell(astray.due(at: now))
            tell(strangers.due(at: now))
            defer { refusals.removeAll() }
            return refusals
        }

        private mutating func tell(_ refusal: String?) {
            if let refusal, refusals.count < Door.most { refusals.append(refusal) }
        }
    }

    /// More than so many of a kind at a time are a flood; the oldest are forgotten.
    private static let most = 64
    private static let forgottenAfter = Nanoseconds.seconds(10)
    /// Who has not asked again for so long has gone: libsrt's callers do so every 250 ms.
    private static let givenUpAfter = Nanoseconds.seconds(1)
    static let unknown = "an unknown address"

    let rules: Lock<Rules>
    private let wantedStreamID: String?
    private let book: Lock<Book>

    init(hasPassphrase: Bool, wantedStreamID: String?, rules: Rules) {
        self.rules = Lock(rules)
        let fault =
            hasPassphrase ? "called with a wrong passphrase or none" : "called with a passphrase, and none is set here"
        book = Lock(Book(strangers: RepeatedRefusal(reason: fault)))
        self.wantedStreamID = wantedStreamID
    }

    /// Whether the caller may go on with the handshake.
    func judge(_ id: SRTSOCKET, from: String, streamID: String) -> Bool {
        if let wantedStreamID, streamID != wantedStreamID {
            srt_setrejectreason(id, 1404)  // SRT_REJX_NOTFOUND
            book.withLock { $0.note(\.astray, from: from, at: .now()) }
            return false
        }
        switch decide(on: from) {
        case .comesIn: break
        case .asksAgain:
            srt_setrejectreason(id, Int32(burnish_srt_no_answer_yet))
            return false
        case .isTurnedAway:
            srt_setrejectreason(id, 1409)  // SRT_REJX_CONFLICT: in use by somebody else
            return false
        }
        let asked = burnish_srt_window_asked_by_caller()
        let readingEarly = rules.withLock { $0.readingEarly }
        guard (try? SRTSocket.setIngest(early: readingEarly, windowAsked: asked, on: id)) != nil else { return false }
        book.withLock {
            if $0.candidates.count == Self.most { $0.candidates.removeFirst() }
            $0.candidates.append(Candidate(id: id, from: from, since: .now()))
            $0.next = id
        }
        return true
    }

    private func decide(on from: String) -> Verdict {
        let now = MonotonicTime.now()
        return book.withLock { book in
            // Looked at while nobody's turn comes: whose has come has been given the place before.
            let place = rules.withLock { $0.place }
            let index = book.askers.firstIndex { $0.from == from }
            var asker = index.map { book.askers.remove(at: $0) } ?? Asker(from: from, since: now, last: now)
            switch place {
            // libsrt calls from one thread and only after what came before: the last one is in or has gone.
            case .free where book.next.map(Self.hasGone) ?? true: return .comesIn
            case .held(let heard) where heard >= asker.since: fallthrough
            case .taken:
                book.note(\.turnedAway, from: from, at: now)
                return .isTurnedAway
            case .free, .held:
                asker.last = now
                if book.askers.count == Self.most { book.askers.removeFirst() }
                book.askers.append(asker)
                return .asksAgain
            }
        }
    }

    private static func hasGone(_ id: SRTSOCKET) -> Bool {
        let state = srt_getsockstate(id)
        return state == SRTS_CLOSED || state == SRTS_NONEXIST || state == SRTS_BROKEN
    }

    var unanswered: Int { book.withLock { $0.askers.count } }

    func turnAway(_ from: String?) { book.withLock { $0.note(\.turnedAway, from: from ?? Self.unknown, at: .now()) } }

    /// A candidate has come in.
    func accepted(_ id: SRTSOCKET) {
        book.withLock { book in
            book.candidates.removeAll { $0.id == id }
            if book.next == id { book.next = nil }
        }
    }

    func refusals(now: MonotonicTime) -> [String] {
        book.withLock { book in
            let haveLeft = book.askers.prefix { now - $0.last > Self.givenUpAfter }
            book.askers.removeFirst(haveLeft.count)
            for asker in haveLeft { book.note(\.turnedAway, from: asker.from, at: now) }
            var strangers: [String] = []
            book.candidates.removeAll { candidate in
                if Self.hasGone(candidate.id) {
                    strangers.append(candidate.from)
                    return true
                }
                // Whoever has come in is not turned away any more, even if it leaves before its turn.
                if srt_getsockstate(candidate.id) == SRTS_CONNECTED { return true }
                return now - candidate.since > Self.forgottenAfter
            }
            for stranger in strangers { book.note(\.strangers, from: stranger, at: now) }
            return book.takeRefusals(at: now)
        }
    }
}
