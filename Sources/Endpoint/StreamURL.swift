/// Where a stream comes from or goes to, as written on the command line:
/// `srt://host:port?mode=…&latency=…`, `rtp://host:port?latency=…`, `udp://host:port`, a path, or `-`. A path that ends in
/// `.sdp` is a session description: plain RTP. The service also knows `whip:NAME` and `whep:NAME`.
public enum StreamURL: Hashable, Sendable {
    case srt(SRTEndpoint)
    case rtp(RTPEndpoint)
    case sdp(SDPEndpoint)
    case udp(UDPEndpoint)
    /// WebRTC calls, which come by the service's HTTP interface.
    case call(CallEndpoint)
    case file(path: String)
    /// Standard input or output.
    case standardStream

    /// Where a URL stands, and so which kinds are right there.
    public enum Place: Sendable {
        /// On the command line.
        case program
        /// A stream of the service.
        case serviceInput, serviceOutput

        /// The kinds, for people.
        public var kinds: String {
            switch self {
            case .program: "srt://, rtp://, udp://, a path (plain RTP: one that ends in .sdp) and -"
            case .serviceInput: "srt://, rtp://, udp://, whip:NAME and an absolute path (plain RTP: one that ends in .sdp)"
            case .serviceOutput: "srt://, rtp://, udp://, whep:NAME and an absolute path (plain RTP: one that ends in .sdp)"
            }
        }
    }

    /// What to do instead of a kind of URL that many programs know, and this one does not.
    private static func remedy(for scheme: String) -> String {
        switch scheme {
        case "rtmp", "rtmps":
            "; OBS and FFmpeg can send SRT in place of RTMP: OBS, Settings, Stream, Service Custom, Server srt://HOST:PORT"
        case "rtsp", "rtsps", "http", "https", "rist", "mms":
            "; let FFmpeg read it and send SRT: ffmpeg -i URL -c copy -f mpegts srt://HOST:PORT"
        default: ""
        }
    }

    /// Reads a URL.
    /// - Parameter place: where it stands, for faults.
    /// - Throws: ``TransportError`` with code `badURL`, whose message names the fault and the remedy.
    public init(_ text: String, in place: Place = .program) throws(TransportError) {
        guard !text.isEmpty else {
            throw TransportError(.badURL, place: "URL", "is empty; right here are \(place.kinds)")
        }
        guard !text.utf8.contains(0) else { throw TransportError(.badURL, place: "URL", "contains a NUL byte") }
        if text == "-" {
            self = .standardStream
            return
        }
        for side in CallEndpoint.Side.allCases where text.hasPrefix(side.rawValue + ":") {
            self = .call(try CallEndpoint(side, parsing: text.dropFirst(side.rawValue.count + 1)))
            return
        }
        guard let separator = text.firstIndex(ofSequence: "://") else {
            self = try Self.ofPath(text)
            return
        }
        let scheme = text[..<separator].lowercased()
        let rest = text[text.index(separator, offsetBy: 3)...]
        switch scheme {
        case "srt": self = .srt(try SRTEndpoint(parsing: rest))
        case "rtp": self = .rtp(try RTPEndpoint(parsing: rest))
        case "udp": self = .udp(try UDPEndpoint(parsing: rest))
        case "file": self = try Self.ofPath(String(rest))
        default:
            throw TransportError(
                .badURL, place: "URL",
                "unknown kind of URL \(quoted(scheme)); right here are \(place.kinds)\(Self.remedy(for: scheme))")
        }
    }

    private static func ofPath(_ path: String) throws(TransportError) -> StreamURL {
        SDPEndpoint.isMeant(by: path) ? .sdp(try SDPEndpoint(parsing: path)) : .file(path: path)
    }
}

extension StreamURL {
    /// How many readers an output of this kind serves at a time.
    public var readers: Int {
        switch self {
        case .srt(let endpoint) where endpoint.mode == .listener: endpoint.maxReaders ?? SRTEndpoint.usualReaders
        case .call(let endpoint): endpoint.viewers ?? CallEndpoint.usualViewers
        case .srt, .rtp, .sdp, .udp, .file, .standardStream: 1
        }
    }
}

extension StreamURL: CustomStringConvertible {
    /// The URL again, without its passphrase.
    public var description: String {
        switch self {
        case .srt(let endpoint): endpoint.description
        case .rtp(let endpoint): endpoint.description
        case .sdp(let endpoint): endpoint.description
        case .udp(let endpoint): endpoint.description
        case .call(let endpoint): endpoint.description
        case .file(let path): path
        case .standardStream: "-"
        }
    }
}
