import Settings

/// A key of a stream that says where it comes from, where it goes to, and who may call. A new value restarts the stream.
public struct StreamPlaceKey: Sendable {
    public let name: String
    public let help: String
    public let allowed: String
    public let example: String
    /// Whether callers of the API may give it, too.
    public let isForAPI: Bool
}

/// The keys of a stream beside its settings.
public enum StreamPlaceKeys {
    public static let all: [StreamPlaceKey] =
        places + secrets + tokens + [
            StreamPlaceKey(
                name: "callers", help: "Who may call the stream's SRT listeners. Without it: everybody whom the URLs admit.",
                allowed: "a section with publish and request", example: "", isForAPI: false)
        ]

    /// The keys of `callers`.
    public static let callers: [StreamPlaceKey] = [
        StreamPlaceKey(
            name: "publish", help: "The name that callers of the input ask for.", allowed: "a text of 1 to 512 bytes",
            example: "camera-1", isForAPI: false),
        StreamPlaceKey(
            name: "request", help: "The name that callers of the output ask for.", allowed: "a text of 1 to 512 bytes",
            example: "screen-1", isForAPI: false),
    ]

    static let names = all.map(\.name)

    private static let places = [
        StreamPlaceKey(
            name: "input", help: "Where the stream comes from.",
            allowed: "a URL: srt://, rtp://, udp://, whip:NAME, an absolute path or, not by the API, one that ends in .sdp",
            example: "srt://:9000?mode=listener&latency=80", isForAPI: true),
        StreamPlaceKey(
            name: "output", help: "Where it goes to.",
            allowed: "a URL: srt://, rtp://, udp://, whep:NAME, an absolute path or, not by the API, one that ends in .sdp",
            example: "srt://:9001?mode=listener", isForAPI: true),
        StreamPlaceKey(
            name: "outputs", help: "In place of output: several, which all get the same.",
            allowed: "a list of 1 to 12 URLs",
            example: "srt://player.example:9002", isForAPI: true),
    ]

    /// For both legs, and for one.
    static let secretPrefixes = ["", "input-", "output-"]

    private static let secrets: [StreamPlaceKey] = secretPrefixes.flatMap { prefix in
        let owner =
            switch prefix {
            case "input-": "the input"
            case "output-": "the output"
            default: "the stream's SRT legs"
            }
        return [
            StreamPlaceKey(
                name: prefix + "passphrase", help: "The passphrase of \(owner). Better in a file.",
                allowed: "10 to 79 bytes", example: "at-least-ten-characters", isForAPI: true),
            StreamPlaceKey(
                name: prefix + "passphrase-file", help: "The file with the passphrase of \(owner), in one line.",
                allowed: "the path of a file", example: "/etc/burnish/studio.passphrase", isForAPI: false),
            StreamPlaceKey(
                name: prefix + "passphrase-credential", help: "The systemd credential with the passphrase of \(owner).",
                allowed: "the name of a systemd credential", example: "studio-passphrase", isForAPI: false),
        ]
    }

    /// The keys of tokens, without their suffixes.
    static let tokenKeys = ["publish-token", "play-token"]

    private static let tokens: [StreamPlaceKey] = tokenKeys.flatMap { key in
        let peers = key == "publish-token" ? "publishers of a whip: input" : "viewers of a whep: output"
        return [
            StreamPlaceKey(
                name: key, help: "The token that \(peers) send. Without it: the service's.",
                allowed: "16 to 256 letters, digits and signs", example: "write-a-long-random-text-here", isForAPI: false),
            StreamPlaceKey(
                name: key + "-file", help: "The file with this token, in one line.", allowed: "the path of a file",
                example: "/etc/burnish/studio.\(key)", isForAPI: false),
            StreamPlaceKey(
                name: key + "-credential", help: "The systemd credential with this token.",
                allowed: "the name of a systemd credential", example: "studio-\(key)", isForAPI: false),
        ]
    }
}
