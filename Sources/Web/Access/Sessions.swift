import Media

/// The browsers that have logged in with the token. Each holds a random number in a cookie, never the token itself.
///
/// Thread-safe.
final class Sessions: Sendable {
    private struct Session {
        var secret: Token
        var end: MonotonicTime
    }

    private let sessions = Lock<[Session]>([])

    static let most = 64
    static let length = Nanoseconds.seconds(12 * 3600)

    /// Opens a session and returns its secret. When there are too many, the oldest ends.
    func open(at now: MonotonicTime) -> String {
        var random = SystemRandomNumberGenerator()
        let digits = (0..<4).map { _ in
            let digits = String(random.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        let secret = digits.joined()
        sessions.withLock { sessions in
            sessions.removeAll { $0.end <= now }
            if sessions.count >= Self.most { sessions.removeFirst() }
            sessions.append(Session(secret: Token(secret), end: now + Self.length))
        }
        return secret
    }

    func isOpen(_ secret: some StringProtocol, at now: MonotonicTime) -> Bool {
        sessions.withLock { sessions in
            var isOpen = false
            for session in sessions where session.end > now && session.secret.matches(secret) { isOpen = true }
            return isOpen
        }
    }

    func close(_ secret: some StringProtocol) {
        sessions.withLock { sessions in sessions.removeAll { $0.secret.matches(secret) } }
    }
}
