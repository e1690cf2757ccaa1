import Endpoint
import ServiceConfiguration

/// How the service's HTTP interface listens and whom it answers.
public struct WebConfiguration: Sendable {
    /// An address, or a name of this machine. Port 0 lets the system choose.
    public var host = "127.0.0.1"
    public var port = 8080
    /// What a client must present before it may change anything, and beyond loopback before it sees streams. Nil: whoever
    /// reaches the interface may do all.
    public var token: String?
    /// Serves beyond loopback without a token: everybody rules the service.
    public var allowsNoToken = false
    /// The certificate and its key; nil serves plain HTTP, which is for loopback only.
    public var certificate: CertificateFiles?
    /// Serves plain HTTP beyond loopback all the same: tokens and pictures can then be read on the way.
    public var allowsPlainHTTPBeyondLoopback = false
    /// The names under which clients may reach the service. Addresses and `localhost` need not be listed. A name that is not
    /// listed is refused, since a hostile page could have made it point here.
    public var names: [String] = []
    /// The origins of other sites' pages that may use the API in a browser: `https://status.example`.
    public var origins: [String] = []
    /// `stun:` and `turn:` URLs that WebRTC peers are told.
    public var iceServers: [String] = []
    /// What the servers of `turn:` share with the service.
    public var turnSecret: String?
    /// Connections at a time. One more takes the place of the one that has waited longest for its client.
    public var mostConnections = 256
    /// Clients that follow the events at a time.
    public var mostEventStreams = 32
    public var timeouts = ClientTimeouts()

    public init() {}

    /// What the configuration file says.
    public init(_ configuration: ServiceConfiguration) {
        let http = configuration.http
        host = http.address
        port = Int(http.port)
        token = http.token?.text
        allowsNoToken = http.allowsNoToken
        allowsPlainHTTPBeyondLoopback = http.allowsPlainHTTP
        if let chain = http.certificateFile, let key = http.keyFile { certificate = CertificateFiles(chain: chain, key: key) }
        names = http.allowedHosts
        origins = http.allowedOrigins
        iceServers = http.iceServers
        turnSecret = http.turnSecret?.text
        mostConnections = configuration.limits.httpConnections
    }

    /// Whether only this machine reaches the service, as far as the configuration tells.
    public var isLoopbackOnly: Bool { IPAddress.isLoopback(host) && names.allSatisfy(IPAddress.isLoopback) }

    /// Refuses what is not safe.
    public func check() throws(WebFault) {
        guard (0...65535).contains(port) else {
            throw WebFault("the port is 0 to 65535, not \(port)")
        }
        if let token, token.utf8.count < Self.shortestToken {
            throw WebFault("the token has at least \(Self.shortestToken) characters; make one with `openssl rand -hex 16`")
        }
        if let token, !token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
            throw WebFault("the token is one word of printable ASCII characters; make one with `openssl rand -hex 16`")
        }
        guard !isLoopbackOnly else { return }
        if token == nil, !allowsNoToken {
            throw WebFault("\(reach) needs a token: set one, or listen on 127.0.0.1")
        }
        if certificate == nil, !allowsPlainHTTPBeyondLoopback, !IPAddress.isLoopback(host) {
            throw WebFault("\(reach) needs TLS: set a certificate and its key, or listen on 127.0.0.1")
        }
    }

    private var reach: String {
        IPAddress.isLoopback(host) ? "the name \(names.first { !IPAddress.isLoopback($0) } ?? "")" : "listening on \(host)"
    }

    static let shortestToken = 16
}

/// Where a certificate and its key lie, both in PEM.
public struct CertificateFiles: Hashable, Sendable {
    /// The certificate, then those that vouch for it.
    public var chain: String
    public var key: String

    public init(chain: String, key: String) {
        self.chain = chain
        self.key = key
    }
}

/// How long the interface waits for a client before it closes the connection.
public struct ClientTimeouts: Sendable {
    /// From the connection to the end of the first request's header; TLS included.
    public var header = Duration.seconds(10)
    /// From the end of a header to the end of its body.
    public var body = Duration.seconds(10)
    /// From the end of a response to the next request's header.
    public var idle = Duration.seconds(60)
    /// How long a client may accept nothing of a response.
    public var write = Duration.seconds(20)
    /// How long clients have to receive their answers when the service ends.
    public var ending = Duration.seconds(1)
    /// A comment on an event stream after so much silence, so that both ends know of each other.
    public var keepAliveInterval = Duration.seconds(15)

    public init() {}
}

/// Why the interface cannot be served: one sentence that says what to do.
public struct WebFault: Error, Hashable, Sendable, CustomStringConvertible {
    public var text: String

    public init(_ text: String) { self.text = text }

    public var description: String { text }
}
