import Endpoint
import Settings

/// One stream: where it comes from, where it goes to, and its settings.
public struct StreamDefinition: Hashable, Sendable {
    /// 1 to 64 letters, digits, `.`, `_` and `-`. It begins with a letter or a digit.
    public var name: String
    public var input: StreamLeg
    /// 1 to ``mostOutputs``. All get the same.
    public var outputs: [StreamLeg]
    public static let mostOutputs = 12
    /// The most bytes of all session descriptions that a stream reads. They go to its worker in one message.
    public static let largestDescriptions = 16384
    public var values: StreamValues
    /// Who may call; nil admits everybody whom the URLs admit.
    public var callers: CallerRules?
    /// What WebRTC peers have to know.
    public var callTokens = CallTokens()

    public init(
        name: String, input: StreamLeg, outputs: [StreamLeg], values: StreamValues = StreamValues(),
        callers: CallerRules? = nil
    ) {
        self.name = name
        self.input = input
        self.outputs = outputs
        self.values = values
        self.callers = callers
    }

    /// Whether `name` can name a stream.
    public static func isName(_ name: String) -> Bool {
        CallEndpoint.isName(name)
    }
}

/// One end of a stream.
public struct StreamLeg: Hashable, Sendable, CustomStringConvertible {
    /// The most bytes of a session description that is read.
    public static let largestDescription = 4096
    /// Without the passphrase of ``passphrase``. That of a session description which is read has its text.
    public private(set) var url: StreamURL
    private let text: Secret
    /// SRT's passphrase, unless the URL has it.
    public internal(set) var passphrase: Secret?

    /// SRT's stream identity, unless the URL has it: a listener admits only callers that send it. People put tokens into it.
    public internal(set) var streamID: Secret?

    /// - Throws: `TransportError` with code `badURL`.
    /// - Parameter place: where the URL stands, for faults.
    public init(
        _ text: String, passphrase: Secret? = nil, in place: StreamURL.Place = .serviceInput
    ) throws(TransportError) {
        url = try StreamURL(text, in: place)
        self.text = Secret(text)
        self.passphrase = passphrase
    }

    /// A leg with a session description.
    init(_ endpoint: SDPEndpoint) {
        url = .sdp(endpoint)
        text = Secret(endpoint.description)
    }

    /// The URL without its secrets.
    public var description: String { url.description }

    /// The URL as it was given. It may hold secrets.
    var givenText: String { text.text }

    /// The URL as a worker needs it. It holds secrets: never log it.
    public var textWithSecrets: String {
        guard isSRT else { return text.text }
        var result = text.text
        for (key, value) in [("passphrase", passphrase), ("streamid", streamID)] {
            guard let value else { continue }
            result += (result.contains("?") ? "&" : "?") + "\(key)=" + percentEncoded(value.text)
        }
        return result
    }

    /// Whether callers need a passphrase, or this leg sends one, wherever it was given.
    public var hasPassphrase: Bool {
        if case .srt(let endpoint) = url { passphrase != nil || endpoint.passphrase != nil } else { false }
    }
    /// The same of SRT's stream identity.
    public var hasStreamID: Bool {
        if case .srt(let endpoint) = url { streamID != nil || endpoint.streamID != nil } else { false }
    }

    var isSRT: Bool { if case .srt = url { true } else { false } }
    var isListener: Bool { if case .srt(let endpoint) = url { endpoint.mode == .listener } else { false } }

    private func percentEncoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return text.utf8.reduce(into: "") { encoded, byte in
            encoded += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }
    }
}

/// Which callers of a stream's SRT listeners are admitted. A caller asks for a name by sending just that, or by SRT's form
/// `#!::r=NAME,m=publish` (or `m=request`).
public struct CallerRules: Hashable, Sendable {
    /// The names for which callers may send to the input; empty admits everybody. Today at most one.
    public var publish: [String] = []
    /// The names for which callers may receive from the output; empty admits everybody. Today at most one.
    public var request: [String] = []

    public init() {}
}

/// What peers of a stream's WebRTC legs send as bearer token. Nil: the service's own token counts.
public struct CallTokens: Hashable, Sendable {
    public var publish: Secret?
    public var play: Secret?

    public init() {}
}
