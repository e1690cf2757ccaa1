import HTTPTypes
import Hummingbird
import Media
import WorkerProtocol

/// Decides who may do what, before a route's own code runs.
struct Guard: Sendable {
    let configuration: WebConfiguration
    let sessions: Sessions
    private let token: Token?
    private let names: Set<String>

    init(_ configuration: WebConfiguration, sessions: Sessions = Sessions()) {
        self.sessions = sessions
        self.configuration = configuration
        token = configuration.token.map { Token($0) }
        // As they stand in a URL.
        names = Set(
            configuration.names.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0.lowercased())]" : $0.lowercased() })
    }

    /// A hostile page can point a name of its own at this machine (DNS rebinding). The browser then sends that name, so only
    /// known names, the service's addresses and `localhost` are answered.
    func checkHost(_ head: HTTPRequest) throws(Problem) {
        guard let authority = head.authority, !authority.isEmpty, head.headerFields[Self.host] == nil else {
            throw Problem(.badRequest, "send exactly one Host header")
        }
        guard let host = Self.host(of: authority) else {
            throw Problem(.badRequest, "the Host header is not a host and a port")
        }
        // Behind the loopback address another address is that of a proxy, whose callers are not on this machine. The
        // configuration has to name it, and then demands a token.
        let isOwn = IPAddress.isLoopback(configuration.host) ? IPAddress.isLoopback(host) : IPAddress.isAddress(host)
        if isOwn || host == "localhost" || names.contains(host) { return }
        throw Problem(
            .wrongHost, "\(host) is not one of the service's names: add it to http.allowed-hosts, or use the service's address")
    }

    /// Other sites' pages may not send requests here. Browsers say where a request comes from.
    func checkOrigin(_ head: HTTPRequest, _ access: Route.Access) throws(Problem) {
        if let origin = head.headerFields[.origin], isKnown(origin) { return }
        let isDocument =
            head.headerFields[.secFetchMode] == "navigate" && head.headerFields[.secFetchDest] == "document"
            && (head.method == .get || head.method == .head)
        if access != .open, !isDocument, let site = head.headerFields[.secFetchSite], site != "same-origin", site != "none" {
            throw Problem(.wrongOrigin, "pages of other sites cannot use this interface")
        }
        guard let origin = head.headerFields[.origin] else { return }
        let own = ["http://", "https://"].compactMap { origin.hasPrefix($0) ? origin.dropFirst($0.count).lowercased() : nil }
        guard own.first == head.authority?.lowercased() else {
            throw Problem(.wrongOrigin, "pages of other sites cannot use this interface")
        }
    }

    /// Whether the origin is one of those that the configuration allows.
    func isKnown(_ origin: String) -> Bool { configuration.origins.contains(origin.lowercased()) }

    /// The token, as a bearer or by a session's cookie.
    func checkAccess(_ head: HTTPRequest, _ access: Route.Access) throws(Problem) {
        switch access {
        case .open: return
        case .views: if configuration.isLoopbackOnly { return }
        case .changes: break
        // Which token counts depends on the stream or the room.
        case .calls, .guests: return
        }
        if token != nil, !isAuthorised(head) { throw Self.tokenNeeded }
    }

    /// The token of the stream, or the service's. Without either, a peer may publish as whoever may change streams, and watch as
    /// whoever may see them.
    /// - Parameter tokens: the stream's own for this side, each of which is right; nil where it has none, or there is no such stream.
    func checkCall(_ head: HTTPRequest, _ side: CallSide, tokens: [String]?) throws(Problem) {
        guard let tokens else {
            do throws(Problem) {
                return try checkAccess(head, side == .publish ? .changes : .views)
            } catch {
                // The same words whether or not there is such a stream.
                throw Self.callTokenNeeded
            }
        }
        if isAuthorised(head) { return }
        let words = (head.headerFields[.authorization] ?? "").split(separator: " ", omittingEmptySubsequences: true)
        if words.count == 2, words[0].lowercased() == "bearer", tokens.contains(where: { Token($0).matches(words[1]) }) {
            return
        }
        throw Self.callTokenNeeded
    }

    private static let tokenNeeded = tokenNeeded("send the service's token")
    private static let callTokenNeeded = tokenNeeded("send the stream's token, or the service's,")

    private static func tokenNeeded(_ what: String) -> Problem {
        Problem(
            .tokenNeeded, "\(what) in an Authorization header (Bearer), or log in at the page",
            headers: [.wwwAuthenticate: "Bearer realm=\"burnish\""])
    }

    /// Whether the request brings the token, or the cookie of a session.
    func isAuthorised(_ head: HTTPRequest) -> Bool {
        if let authorization = head.headerFields[.authorization] {
            let words = authorization.split(separator: " ", omittingEmptySubsequences: true)
            return words.count == 2 && words[0].lowercased() == "bearer" && token?.matches(words[1]) == true
        }
        guard let secret = session(head) else { return false }
        return sessions.isOpen(secret, at: .now())
    }

    func matches(_ text: String) -> Bool { token?.matches(text) ?? false }

    // MARK: The session's cookie

    /// With TLS the name says to browsers that the cookie came from this host over TLS.
    private var cookieName: String { configuration.certificate == nil ? "burnish-session" : "__Host-burnish-session" }

    /// A proxy may have the TLS. Browsers say so when they log in.
    private func cookieFlags(_ head: HTTPRequest) -> String {
        let isSecure = configuration.certificate != nil || head.headerFields[.origin]?.hasPrefix("https://") == true
        return "Path=/; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
    }

    func session(_ head: HTTPRequest) -> Substring? {
        for field in head.headerFields[values: .cookie] {
            for pair in field.split(separator: ";") {
                let text = pair.drop { $0 == " " }
                if text.hasPrefix(cookieName + "=") { return text.dropFirst(cookieName.count + 1) }
            }
        }
        return nil
    }

    func cookie(for secret: String, _ head: HTTPRequest) -> String {
        "\(cookieName)=\(secret); Max-Age=\(Int(Sessions.length.seconds)); \(cookieFlags(head))"
    }

    func emptyCookie(_ head: HTTPRequest) -> String { "\(cookieName)=; Max-Age=0; \(cookieFlags(head))" }

    private static let host = HTTPField.Name("Host")!

    /// The host of `host`, `host:port` or `[address]:port`, in lower case.
    static func host(of authority: some StringProtocol) -> String? {
        var rest = Substring(authority)
        let host: Substring
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            host = rest[...end]
            rest = rest[rest.index(after: end)...]
        } else {
            host = rest.prefix { $0 != ":" }
            rest = rest[host.endIndex...]
        }
        guard !host.isEmpty,
            rest.isEmpty || (rest.first == ":" && rest.dropFirst().utf8.allSatisfy { (0x30...0x39).contains($0) })
        else {
            return nil
        }
        return host.lowercased()
    }
}

/// The guard that is in force. A reload of the configuration replaces it; connections stay.
///
/// Thread-safe.
final class PresentGuard: Sendable {
    private let stored: Lock<Guard>

    init(_ configuration: WebConfiguration) { stored = Lock(Guard(configuration)) }

    var value: Guard { stored.withLock { $0 } }

    /// Sessions end with the token that opened them.
    func apply(_ configuration: WebConfiguration) {
        stored.withLock { present in
            let isSame = present.configuration.token == configuration.token
            present = Guard(configuration, sessions: isSame ? present.sessions : Sessions())
        }
    }
}

extension HTTPField.Name {
    static let secFetchSite = Self("Sec-Fetch-Site")!
    static let secFetchMode = Self("Sec-Fetch-Mode")!
    static let secFetchDest = Self("Sec-Fetch-Dest")!
    static let referrerPolicy = Self("Referrer-Policy")!
    static let resourcePolicy = Self("Cross-Origin-Resource-Policy")!
    static let openerPolicy = Self("Cross-Origin-Opener-Policy")!
}
