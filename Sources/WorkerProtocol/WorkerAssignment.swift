/// What a worker needs to know to run one stream. It holds secrets, so it is never logged.
public struct WorkerAssignment: Codable, Hashable, Sendable {
    /// The stream's name in the configuration.
    public var stream: String
    /// URLs as on the command line, with their passphrases. Hosts of outputs and of called inputs are names or addresses: the
    /// worker has the supervisor resolve them.
    public var input: String
    public var outputs: [String]
    /// Every setting that differs from its default, as text with units: the keys and values of the configuration file.
    public var settings: [String: String]
    /// The session descriptions that the URLs name for reading (`.sdp`), the input's first. A worker cannot open them.
    public var descriptions: [SDPText] = []
    /// How many callers a second get as far as the passphrase on a listening SRT port; nil is the default.
    public var callsPerSecond: Int?

    public init(stream: String, input: String, outputs: [String], settings: [String: String]) {
        self.stream = stream
        self.input = input
        self.outputs = outputs
        self.settings = settings
    }
}

/// The text of a session description (SDP) from the configuration. A longer one than ``largest`` is no message.
public struct SDPText: Codable, Hashable, Sendable {
    /// In bytes. Plain RTP needs some hundred.
    public static let largest = 4096
    /// Of one stream, in bytes: with all that JSON escapes, its assignment is one message.
    public static let largestTogether = 16384

    public let text: String

    /// Nil if `text` is too long.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.largest else { return nil }
        self.text = text
    }

    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let valid = Self(text) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "a session description is too long"))
        }
        self = valid
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
