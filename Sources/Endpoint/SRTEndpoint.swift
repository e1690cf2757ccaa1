import Media

/// An SRT leg as a URL describes it.
public struct SRTEndpoint: Hashable, Sendable {
    public enum Mode: String, CaseIterable, Sendable { case listener, caller, rendezvous }

    /// When a receiving leg reads messages out of libsrt.
    public enum Ingest: String, CaseIterable, Sendable {
        /// As soon as their packets are there; the reader applies the window.
        case early
        /// When SRT's window has passed, as every plain receiver does.
        case tsbpd
        /// Early, unless the leg has proved unfit for it (`IngestPolicy`).
        case auto
    }

    public var mode: Mode
    /// Empty for any local address (listener only).
    public var host: String
    /// 0 only for a listener: any free port, which `LegEvent.listening` reports.
    public var port: UInt16
    /// The recovery window asked for; nil leaves libsrt's default (120 ms).
    public var latency: Nanoseconds?
    /// A caller sends it to the listener. A listener that has one admits only callers that send the same.
    public var streamID: String?
    public var passphrase: Secret?
    /// Length of the encryption key in bytes: 16, 24 or 32.
    public var keyLength: Int?
    public var ingest: Ingest
    /// How many readers an output that listens serves at a time; nil for ``usualReaders``.
    public var maxReaders: Int?
    public static let usualReaders = 16
    /// The port that a rendezvous is called from; nil for the same as the peer's, as SRT has it. For tests, whose two ends
    /// share one address.
    package var localPort: UInt16?
    /// The most bytes of a packet with all its headers; nil for SRT's own 1500. For tests: smaller packets have messages
    /// spread over several of them.
    package var packetSize: Int?

    public init(
        mode: Mode, host: String, port: UInt16, latency: Nanoseconds? = nil, streamID: String? = nil,
        passphrase: Secret? = nil, keyLength: Int? = nil, ingest: Ingest = .auto
    ) {
        self.mode = mode
        self.host = host
        self.port = port
        self.latency = latency
        self.streamID = streamID
        self.passphrase = passphrase
        self.keyLength = keyLength
        self.ingest = ingest
    }

    static let knownKeys = ["mode", "latency", "streamid", "passphrase", "pbkeylen", "ingest", "maxreaders"]

    init(parsing text: Substring) throws(TransportError) {
        let (authority, query) = text.splitOnce(at: "?")
        (host, port) = try hostAndPort(authority, scheme: "srt")
        mode = host.isEmpty ? .listener : .caller
        ingest = .auto
        var seen: Set<String> = []
        for pair in query?.split(separator: "&", omittingEmptySubsequences: true) ?? [] {
            let (rawKey, rawValue) = pair.splitOnce(at: "=")
            let key = String(rawKey)
            guard Self.knownKeys.contains(key) else {
                throw fault("unknown key \(quotedKey(rawKey)); known are \(Self.knownKeys.joined(separator: ", "))")
            }
            guard seen.insert(key).inserted else { throw fault("key \(key) is given twice") }
            guard let rawValue else { throw fault("key \(key) needs a value: \(key)=…") }
            guard let value = percentDecoded(rawValue) else {
                throw fault("the value of \(key) is not valid percent-encoded text")
            }
            try set(key, to: value)
        }
        if mode != .listener {
            guard !host.isEmpty else { throw fault("mode \(mode.rawValue) needs a host: srt://host:port") }
            guard port != 0 else { throw fault("port 0 is for listeners only; give 1 to 65535") }
        }
        if maxReaders != nil && mode != .listener { throw fault("maxreaders is for listeners: a caller has one peer") }
        if keyLength != nil && passphrase == nil { throw fault("pbkeylen without a passphrase encrypts nothing") }
    }

    private mutating func set(_ key: String, to value: String) throws(TransportError) {
        switch key {
        case "mode":
            guard let mode = Mode(rawValue: value) else {
                throw fault("mode is listener, caller or rendezvous, not \(quoted(value))")
            }
            self.mode = mode
        case "latency":
            guard let milliseconds = Int64(value), (0...65_535).contains(milliseconds) else {
                throw fault("latency is in milliseconds, 0 to 65535, not \(quoted(value))")
            }
            latency = Nanoseconds(milliseconds * 1_000_000)
        case "streamid":
            guard value.utf8.count <= 512 else {
                throw fault("streamid has \(value.utf8.count) bytes; 512 is the most")
            }
            streamID = value
        case "passphrase":
            guard (10...79).contains(value.utf8.count) else {
                throw fault("passphrase has \(value.utf8.count) bytes; SRT wants 10 to 79")
            }
            passphrase = Secret(value)
        case "pbkeylen":
            guard let length = Int(value), [16, 24, 32].contains(length) else {
                throw fault("pbkeylen is 16, 24 or 32 bytes, not \(quoted(value))")
            }
            keyLength = length
        case "maxreaders":
            guard let readers = Int(value), (1...256).contains(readers) else {
                throw fault("maxreaders is 1 to 256 readers of an output, not \(quoted(value))")
            }
            maxReaders = readers
        default:
            guard let ingest = Ingest(rawValue: value) else {
                throw fault("ingest is early, tsbpd or auto, not \(quoted(value))")
            }
            self.ingest = ingest
        }
    }

    private func fault(_ message: String) -> TransportError {
        TransportError(.badURL, place: "srt://\(bracketed(host)):\(port)", message)
    }
}

extension SRTEndpoint: CustomStringConvertible {
    /// The URL again, without the passphrase and the stream identity's contents (people put tokens there).
    public var description: String {
        var text = "srt://\(bracketed(host)):\(port)?mode=\(mode.rawValue)"
        if let latency { text += "&latency=\(latency.count / 1_000_000)" }
        if streamID != nil { text += "&streamid=***" }
        if passphrase != nil { text += "&passphrase=***" }
        if let keyLength { text += "&pbkeylen=\(keyLength)" }
        if ingest != .auto { text += "&ingest=\(ingest.rawValue)" }
        if let maxReaders { text += "&maxreaders=\(maxReaders)" }
        return text
    }
}
