import Settings

/// The table of the configuration's keys outside of its streams. The reader, `configs/burnish.yaml` and the documentation
/// follow it.
public enum ServiceKeys {
    /// The sections that hold keys, in the order of the documentation, each with what it is about.
    public static let sections: [(name: String, help: String)] = [
        ("http", "The page, the API and the metrics."),
        ("log", "What the service writes to standard error."),
        ("files", "Files that the API may name. The configuration file itself may name any."),
        ("stills", "Stills and clips of streams that keep their past."),
        ("admission", "What happens when the machine has no processors left for a stream."),
        ("limits", "What clients of the service may use up."),
    ]

    public static let all: [ServiceKey] = [
        ServiceKey(
            section: "http", name: "address", help: "The address of this machine that is listened on.",
            allowed: "an address, as 127.0.0.1, ::1 or 0.0.0.0", defaultText: "127.0.0.1", change: .restart, example: "",
            reading: .text { text, _, configuration in
                let address = text == "localhost" ? "127.0.0.1" : text
                guard LocalAddress.isAddress(address) else { return false }
                configuration.http.address = address
                return true
            }, show: { [$0.http.address] }),
        ServiceKey(
            section: "http", name: "port", help: "The TCP port. 0 is any free one.", allowed: "0 to 65535",
            defaultText: "8080", change: .restart, example: "",
            reading: .text { text, _, configuration in
                guard let port = UInt16(text) else { return false }
                configuration.http.port = port
                return true
            }, show: { ["\($0.http.port)"] }),
        .path(
            "http", "tls-certificate", \.http.certificateFile, .restart, allowed: "the path of a PEM file",
            example: "/etc/burnish/tls.crt",
            help:
                "The server's certificate and those that lead to its authority. With tls-key it turns TLS on. A reload reads both files again."
        ),
        .path(
            "http", "tls-key", \.http.keyFile, .restart, allowed: "the path of a PEM file", example: "/etc/burnish/tls.key",
            help: "The key of the certificate."),
        .secret(
            "http", "token", allowed: "16 to 256 letters, digits and signs", example: "write-a-long-random-text-here",
            help: "The text that callers know. Better in a file: see the next two."),
        .secret(
            "http", "token-file", allowed: "the path of a file", example: "/etc/burnish/token",
            help: "The file with the token, in one line."),
        .secret(
            "http", "token-credential", allowed: "the name of a systemd credential", example: "token",
            help: "The systemd credential with the token (LoadCredential= in the unit)."),
        .list(
            "http", "allowed-hosts", \.http.allowedHosts, .live, allowed: "a host name or address, without a port",
            example: "relay.example",
            help: "The names by which the service is called. Requests for other names are refused (DNS rebinding).",
            read: { text, _ in host(text) }),
        .list(
            "http", "allowed-origins", \.http.allowedOrigins, .live,
            allowed: "http:// or https:// with a host, as https://status.example:8443",
            example: "https://status.example",
            help: "The origins of other web pages that may use the API in a browser.", read: { text, _ in origin(text) }),
        .list(
            "http", "ice-servers", \.http.iceServers, .live,
            allowed: "stun:, turn: or turns: with a host and a port, as turn:turn.example:3478?transport=tcp",
            example: "turn:turn.example:3478", help: "The STUN and TURN servers that WebRTC peers are told.",
            read: { text, _ in iceServer(text) }),
        .secret(
            "http", "turn-secret", allowed: "16 to 256 letters, digits and signs", example: "write-a-long-random-text-here",
            help: "The secret of the TURN servers (coturn's static-auth-secret). Better in a file."),
        .secret(
            "http", "turn-secret-file", allowed: "the path of a file", example: "/etc/burnish/turn.secret",
            help: "The file with the secret, in one line."),
        .secret(
            "http", "turn-secret-credential", allowed: "the name of a systemd credential", example: "turn-secret",
            help: "The systemd credential with the secret."),
        .flag(
            "http", "dangerously-allow-plain-http", \.http.allowsPlainHTTP, .restart,
            help: "Listen beyond the loopback address without TLS. Everybody on the way can read the token."),
        .flag(
            "http", "dangerously-allow-no-token", \.http.allowsNoToken, .live,
            help: "Listen beyond the loopback address without a token. Everybody who reaches the port rules the service."),

        .choice(
            "log", "format", \.log.format, .restart,
            help: "text is for people, with the journal's levels where the journal reads it. json has an object in each line."),
        .choice("log", "level", \.log.level, .live, help: "The least important messages that are written."),

        .path(
            "", "state-directory", \.stateDirectory, .restart, allowed: "the path of a folder", example: "/var/lib/burnish",
            help: "Where crash reports are kept. Under systemd the unit's StateDirectory= is the default."),

        .list(
            "files", "folders", \.folders, .live, allowed: "the absolute path of a folder", example: "/srv/media",
            help: "Streams that the API makes may use files below these folders.",
            read: { text, environment in text.isUsablePath && text.hasPrefix("/") ? environment.absolute(text) : nil }),

        .path(
            "stills", "folder", \.stills, .live, allowed: "the path of a folder", example: "/srv/media/stills",
            help: "Where stills and clips lie. Without it: in the state directory."),
        .choice(
            "stills", "when-busy", \.whenBusy, .live,
            help: "wait: best ones wait for idle cores. lower: a smaller network makes them."),

        .choice(
            "admission", "when-full", \.admission, .live,
            help: "refuse does not start the stream. lower starts it with less: cheaper tiers, no interpolation, its own size."),

        .integer("limits", "streams", \.limits.streams, 1...1000, .live, help: "Streams at a time."),
        .integer(
            "limits", "http-connections", \.limits.httpConnections, 1...10_000, .restart,
            help: "Open connections to the page and the API."),
        .integer("limits", "calls", \.limits.calls, 1...10_000, .live, help: "WebRTC calls at a time, of all streams."),
        .integer(
            "limits", "srt-calls", \.limits.srtCalls, 1...1000, .live,
            help:
                "Callers a second that get as far as the passphrase, on each SRT port opened from then on; half as many"
                + " from one address. How many readers an output serves is maxreaders= in its URL."),
    ]

    /// The keys of a section, in the order of the documentation.
    public static func keys(of section: String) -> [ServiceKey] { all.filter { $0.section == section } }

    private static func iceServer(_ text: String) -> String? {
        guard let scheme = ["stun:", "stuns:", "turn:", "turns:"].first(where: { text.hasPrefix($0) }) else { return nil }
        var place = text.dropFirst(scheme.count)
        // RFC 7065.
        if scheme.hasPrefix("turn"), let query = ["?transport=udp", "?transport=tcp"].first(where: { place.hasSuffix($0) }) {
            place = place.dropLast(query.count)
        }
        return origin("http://" + place) == nil ? nil : text
    }

    private static func host(_ text: String) -> String? {
        let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        if LocalAddress.isAddress(bare) { return bare.lowercased() }
        let isName =
            !text.isEmpty && text.utf8.count <= 253
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        return isName ? text.lowercased() : nil
    }

    private static func origin(_ text: String) -> String? {
        for scheme in ["http://", "https://"] where text.hasPrefix(scheme) {
            let rest = text.dropFirst(scheme.count)
            // The last colon begins the port, unless it belongs to an IPv6 address.
            if let colon = rest.lastIndex(of: ":"), rest.last != "]" {
                let port = rest[rest.index(after: colon)...]
                guard let number = UInt16(port), number > 0, "\(number)" == port, host(String(rest[..<colon])) != nil
                else { return nil }
            } else {
                guard host(String(rest)) != nil else { return nil }
            }
            return text.lowercased()
        }
        return nil
    }
}
