import CSRT
import CSRTArrival
import Media

/// Decides on libsrt's thread which callers of a listener are admitted, and remembers them until it is known what became
/// of them: libsrt checks the passphrase only afterwards and does not tell the outcome. Thread-safe.
final class CallAdmission: Sendable {
    struct Rules {
        var readingEarly: Bool
        var place: SRTListener.Place
    }

    private enum Verdict { case admitted, unanswered, refused }

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

    private struct Book {
        var candidates: [Candidate] = []
        var unanswered: [Unanswered] = []
        /// Has been admitted and waits to be accepted, unless it has gone.
        var next: SRTSOCKET?
        private(set) var refusals: [String] = []
        var busy = RepeatedRefusal(reason: "called while another caller is served")
        var wrongStream = RepeatedRefusal(reason: "asked for a stream ID that is not served here")
        var wrongPassphrase: RepeatedRefusal

        init(passphraseFault: String) { wrongPassphrase = RepeatedRefusal(reason: passphraseFault) }

        mutating func record(
            _ kind: WritableKeyPath<Book, RepeatedRefusal>, from caller: String, at now: MonotonicTime
        ) {
            append(self[keyPath: kind].record(caller, at: now))
        }

        mutating func removeRefusals(at now: MonotonicTime) -> [String] {
            append(busy.due(at: now))
            append(wrongStream.due(at: now))
            append(wrongPassphrase.due(at: now))
            defer { refusals.removeAll() }
            return refusals
        }

        private mutating func append(_ refusal: String?) {
            if let refusal, refusals.count < CallAdmission.most { refusals.append(refusal) }
        }
    }

    /// More than so many of a kind at a time are a flood; the oldest are forgotten.
    private static let most = 64
    private static let candidateTimeout = Nanoseconds.seconds(10)
    /// Who has not asked again for so long has gone: libsrt's callers do so every 250 ms.
    private static let unansweredTimeout = Nanoseconds.seconds(1)
    static let unknown = "an unknown address"

    let rules: Lock<Rules>
    private let wantedStreamID: String?
    private let book: Lock<Book>
    /// Nil once the listener is closed, which this object outlives.
    private let tap: Lock<ArrivalTap?>
    private let health: ArrivalHealth

    init(hasPassphrase: Bool, wantedStreamID: String?, rules: Rules, tap: ArrivalTap, health: ArrivalHealth) {
        self.rules = Lock(rules)
        self.tap = Lock(tap)
        self.health = health
        self.wantedStreamID = wantedStreamID
        let fault =
            hasPassphrase ? "called with a wrong passphrase or none" : "called with a passphrase, and none is set here"
        book = Lock(Book(passphraseFault: fault))
    }

    /// The listener is closed: nobody is admitted any more.
    func close() { tap.withLock { $0 = nil } }

    /// Whether the caller may go on with the handshake.
    func judge(_ id: SRTSOCKET, from: String, streamID: String) -> Bool {
        guard let tap = tap.withLock({ $0 }) else { return false }
        if let wantedStreamID, streamID != wantedStreamID {
            srt_setrejectreason(id, 1404)  // SRT_REJX_NOTFOUND
            book.withLock { $0.record(\.wrongStream, from: from, at: .now()) }
            return false
        }
        switch decide(on: from) {
        case .admitted: break
        case .unanswered:
            srt_setrejectreason(id, Int32(burnish_srt_no_answer_yet))
            return false
        case .refused:
            srt_setrejectreason(id, 1409)  // SRT_REJX_CONFLICT: in use by another caller
            return false
        }
        let asked = burnish_srt_window_of_caller()
        let readingEarly = rules.withLock { $0.readingEarly }
        do throws(SRTFailure) {
            try SRTSocket.setIngest(early: readingEarly, windowAsked: asked, on: id, tap: tap)
        } catch {
            return false
        }
        book.withLock {
            if $0.candidates.count == Self.most { $0.candidates.removeFirst() }
            $0.candidates.append(Candidate(id: id, from: from, since: .now()))
            $0.next = id
        }
        return true
    }

    private func decide(on from: String) -> Verdict {
        let now = MonotonicTime.now()
        // An unanswered call needs the tap, which does not send the refusal.
        let maySayNothing = health.failure == nil
        return book.withLock { book in
            // `accept()` changes the place before it removes the admitted caller from the book.
            let place = rules.withLock { $0.place }
            let index = book.unanswered.firstIndex { $0.from == from }
            var caller = index.map { book.unanswered.remove(at: $0) } ?? Unanswered(from: from, since: now, last: now)
            switch place {
            // libsrt calls from one thread, one caller after the other: the last one is connected or has gone.
            case .free where book.next.map(Self.hasGone) ?? true: return .admitted
            case .held(let heard) where heard >= caller.since: fallthrough
            case .taken: break
            case .free, .held:
                guard maySayNothing else { break }
                caller.last = now
                if book.unanswered.count == Self.most { book.unanswered.removeFirst() }
                book.unanswered.append(caller)
                return .unanswered
            }
            book.record(\.busy, from: from, at: now)
            return .refused
        }
    }

    private static func hasGone(_ id: SRTSOCKET) -> Bool {
        let state = srt_getsockstate(id)
        return state == SRTS_CLOSED || state == SRTS_NONEXIST || state == SRTS_BROKEN
    }

    var unanswered: Int { book.withLock { $0.unanswered.count } }

    func recordTurnedAway(_ from: String?) {
        book.withLock { $0.record(\.busy, from: from ?? Self.unknown, at: .now()) }
    }

    func recordAccepted(_ id: SRTSOCKET) {
        book.withLock { book in
            book.candidates.removeAll { $0.id == id }
            if book.next == id { book.next = nil }
        }
    }

    /// Who was refused since the last call, and why.
    func refusals(now: MonotonicTime) -> [String] {
        book.withLock { book in
            let haveLeft = book.unanswered.prefix { now - $0.last > Self.unansweredTimeout }
            book.unanswered.removeFirst(haveLeft.count)
            for caller in haveLeft { book.record(\.busy, from: caller.from, at: now) }
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
            for caller in turnedAway { book.record(\.wrongPassphrase, from: caller, at: now) }
            return book.removeRefusals(at: now)
        }
    }
}
