import CSRT
import CSRTArrival
import Endpoint
import Media
import Packets

/// Decides on libsrt's thread which callers of one leg are admitted, and remembers them until it is known what became
/// of them: libsrt checks the passphrase only afterwards and does not tell the outcome. Thread-safe.
final class CallerAdmission: Sendable {
    struct Rules {
        var readingEarly: Bool
        var place: SRTListener.Place
    }

    private enum Verdict { case admitted, unanswered, refused(RefusalReason) }

    /// A caller that has got no answer yet and asks again and again. The book keeps them in the order of ``last``.
    private struct Unanswered {
        var from: String
        var since: MonotonicTime
        var last: MonotonicTime
    }

    private struct Candidate {
        var id: SRTSOCKET
        var from: String
        var since: MonotonicTime
    }

    private struct Barred {
        var host: String
        var until: MonotonicTime
    }

    private struct Book {
        var candidates: [Candidate] = []
        var unanswered: [Unanswered] = []
        var barred: [Barred] = []
        /// Have been admitted and wait to be accepted, unless they have gone.
        var next: [SRTSOCKET] = []
        /// Connections that wait for ``CallerAdmission/claimArrived()``.
        var arrived: [SRTSOCKET] = []
        /// Nobody claims them any more.
        var isClosed = false
        private(set) var refusals: [String] = []
        private(set) var counts = RefusalCounts()
        /// One for each of ``RefusalReason``, in their order.
        private var kinds: [RepeatedRefusal]

        init(hasPassphrase: Bool) {
            kinds = RefusalReason.allCases.map {
                RepeatedRefusal(reason: $0.whatCallerDid(hasPassphrase: hasPassphrase))
            }
        }

        /// How many have been admitted and wait to be accepted.
        var waiting: Int {
            mutating get {
                next.removeAll(where: CallerAdmission.hasGone)
                return next.count
            }
        }

        mutating func record(_ kind: RefusalReason, from caller: String, at now: MonotonicTime) {
            counts[kind] += 1
            append(kinds[RefusalReason.allCases.firstIndex(of: kind)!].record(caller, at: now))
        }

        /// Allocates nothing while there are none: the frame path asks again and again.
        mutating func removeRefusals(at now: MonotonicTime) -> [String] {
            for index in kinds.indices { append(kinds[index].due(at: now)) }
            if refusals.isEmpty { return [] }
            defer { refusals.removeAll() }
            return refusals
        }

        private mutating func append(_ refusal: String?) {
            if let refusal, refusals.count < CallerAdmission.most { refusals.append(refusal) }
        }
    }

    /// More than so many of a kind at a time are a flood; the oldest are forgotten.
    private static let most = 64
    private static let candidateTimeout = Nanoseconds.seconds(10)
    /// Who has not asked again for so long has gone: libsrt's callers do so every 250 ms.
    private static let unansweredTimeout = Nanoseconds.seconds(1)
    static let unknown = "an unknown address"

    let endpoint: SRTEndpoint
    let direction: SRTLink.Direction
    let rules: Lock<Rules>
    private let book: Lock<Book>
    /// Nil before the listener is open, and once it is closed, which this object outlives.
    private let tap = Lock<ArrivalTap?>(nil)
    private let signal: ReaderSignal
    private let health: ArrivalHealth

    init(
        _ endpoint: SRTEndpoint, direction: SRTLink.Direction, rules: Rules, signal: ReaderSignal, health: ArrivalHealth
    ) {
        self.endpoint = endpoint
        self.direction = direction
        self.rules = Lock(rules)
        self.signal = signal
        self.health = health
        book = Lock(Book(hasPassphrase: endpoint.passphrase != nil))
    }

    func open(_ tap: ArrivalTap) { self.tap.withLock { $0 = tap } }

    /// The listener is closed: nobody is admitted any more.
    func close() {
        let tap = tap.withLock { $0.take() }
        let left = book.withLock { book in
            defer { book.arrived.removeAll() }
            book.isClosed = true
            return book.arrived
        }
        for id in left {
            srt_close(id)
            tap?.pin(id, false)
        }
    }

    /// Whether callers could mean either of two legs.
    func isNamed(like other: CallerAdmission) -> Bool {
        endpoint.streamID == other.endpoint.streamID && direction == other.direction
    }

    /// Whether the caller may go on with the handshake.
    /// - Parameter mayCost: whether the port has time to check one more passphrase. Asked only about who would be admitted.
    func judge(_ id: SRTSOCKET, from: String, host: String, mayCost: () -> Bool) -> Bool {
        guard let tap = tap.withLock({ $0 }) else { return false }
        switch decide(on: from, host: host, mayCost: mayCost) {
        case .admitted: break
        case .unanswered:
            srt_setrejectreason(id, Int32(burnish_srt_no_answer_yet))
            return false
        case .refused(let reason):
            srt_setrejectreason(id, reason.code)
            return false
        }
        let asked = burnish_srt_window_of_caller()
        let readingEarly = rules.withLock { $0.readingEarly }
        do throws(SRTFailure) {
            try SRTSocket.configure(id, for: endpoint)
            try SRTSocket.setIngest(early: readingEarly, windowAsked: asked, on: id, tap: tap, raising: signal)
        } catch {
            return false
        }
        // Without a memory nothing would wake its reader.
        guard tap.knows(id) else {
            srt_setrejectreason(id, RefusalReason.tooManyCalls.code)
            record(.tooManyCalls, from: from)
            return false
        }
        book.withLock {
            if $0.candidates.count == Self.most { $0.candidates.removeFirst() }
            $0.candidates.append(Candidate(id: id, from: from, since: .now()))
            $0.next.append(id)
        }
        return true
    }

    private func decide(on from: String, host: String, mayCost: () -> Bool) -> Verdict {
        let now = MonotonicTime.now()
        // An unanswered call needs the tap, which does not send the refusal.
        let maySayNothing = health.failure == nil
        return book.withLock { book in
            book.barred.removeAll { $0.until <= now }
            if book.barred.contains(where: { $0.host == host }) {
                book.record(.kicked, from: from, at: now)
                return .refused(.kicked)
            }
            // `accept()` changes the place before it removes the admitted caller from the book.
            let place = rules.withLock { $0.place }
            let index = book.unanswered.firstIndex { $0.from == from }
            var caller = index.map { book.unanswered.remove(at: $0) } ?? Unanswered(from: from, since: now, last: now)
            var reason = RefusalReason.busy
            switch place {
            // libsrt calls from one thread, one caller after the other: those before are connected or have gone.
            case .room(let places) where book.waiting < places:
                if mayCost() { return .admitted }
                reason = .tooManyCalls
            case .held(let heard) where heard >= caller.since: fallthrough
            case .taken:
                book.record(reason, from: from, at: now)
                return .refused(reason)
            case .room, .held: break
            }
            guard maySayNothing else {
                book.record(reason, from: from, at: now)
                return .refused(reason)
            }
            caller.last = now
            if book.unanswered.count == Self.most {
                let forgotten = book.unanswered.removeFirst()
                book.record(.tooManyCalls, from: forgotten.from, at: now)
            }
            book.unanswered.append(caller)
            return .unanswered
        }
    }

    fileprivate static func hasGone(_ id: SRTSOCKET) -> Bool {
        let state = srt_getsockstate(id)
        return state == SRTS_CLOSED || state == SRTS_NONEXIST || state == SRTS_BROKEN
    }

    var unanswered: Int { book.withLock { $0.unanswered.count } }
    var counts: RefusalCounts { book.withLock { $0.counts } }

    func record(_ reason: RefusalReason, from caller: String) {
        book.withLock { $0.record(reason, from: caller, at: .now()) }
    }

    /// Refuses callers from this host until then. The ones barred first are admitted again when there are too many.
    func bar(_ host: String, until time: MonotonicTime) {
        book.withLock { book in
            book.barred.removeAll { $0.host == host }
            if book.barred.count == Self.most { book.barred.removeFirst() }
            book.barred.append(Barred(host: host, until: time))
        }
    }

    // MARK: Connections

    /// Keeps a connection that libsrt has accepted until the leg claims it.
    /// - Returns: false when the leg is closed.
    func deliver(_ id: SRTSOCKET) -> Bool {
        guard let tap = tap.withLock({ $0 }) else { return false }
        tap.pin(id)
        // Another leg's thread delivers. This leg may have been closed since the line above.
        let isKept = book.withLock { book in
            if !book.isClosed { book.arrived.append(id) }
            return !book.isClosed
        }
        if !isKept { tap.pin(id, false) }
        return isKept
    }

    var hasArrived: Bool { book.withLock { !$0.arrived.isEmpty } }

    func claimArrived() -> SRTSOCKET? {
        book.withLock { book in
            guard !book.arrived.isEmpty else { return nil }
            let id = book.arrived.removeFirst()
            book.candidates.removeAll { $0.id == id }
            book.next.removeAll { $0 == id }
            return id
        }
    }

    /// Who was refused since the last call, and why.
    func refusals(now: MonotonicTime) -> [String] {
        book.withLock { book in
            let haveLeft = book.unanswered.prefix { now - $0.last > Self.unansweredTimeout }
            book.unanswered.removeFirst(haveLeft.count)
            for caller in haveLeft { book.record(.busy, from: caller.from, at: now) }
            var turnedAway: [String] = []
            book.candidates.removeAll { candidate in
                if Self.hasGone(candidate.id) {
                    turnedAway.append(candidate.from)
                    return true
                }
                // A connected caller was not refused, even if it leaves before it is accepted.
                if srt_getsockstate(candidate.id) == SRTS_CONNECTED { return true }
                return now - candidate.since > Self.candidateTimeout
            }
            for caller in turnedAway { book.record(.wrongPassphrase, from: caller, at: now) }
            return book.removeRefusals(at: now)
        }
    }
}

extension RefusalReason {
    /// Stands behind a caller's address, or behind the number of callers.
    fileprivate func whatCallerDid(hasPassphrase: Bool) -> String {
        switch self {
        case .busy: "called while another caller is served"
        case .unknownStream: "asked for a stream ID that is not served here"
        case .wrongMode: "asked to send where a stream goes out, or to receive where one comes in"
        case .malformedStreamID: "sent a stream ID that cannot be read (form: #!::r=name,m=publish)"
        case .wrongPassphrase:
            // libsrt does not say why it turned a caller away. Mostly it is this.
            hasPassphrase
                ? "called with a wrong passphrase or none, or not in live mode (transtype=live)"
                : "called with a passphrase, and none is set here, or not in live mode (transtype=live)"
        case .kicked: "called again, and is kept out after a kick"
        case .tooManyCalls: "called while too many others did"
        }
    }
}
