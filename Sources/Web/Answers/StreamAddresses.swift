import Control
import Endpoint
import HTTPTypes
import Hummingbird
import Media

/// Where the other side of a stream sends to or receives from: what people copy. A pure function of the stream and of how the
/// service was reached.
///
/// Secrets are never in it. Where one belongs, a word stands for it: `PASSPHRASE`, `STREAMID`, `TOKEN`.
struct StreamAddress: Hashable, Sendable {
    /// How the client reaches the service, which other machines probably do, too.
    struct Reach: Hashable, Sendable {
        /// The Host header: `relay.example:8080`.
        var authority: String
        var usesTLS: Bool
        /// Publishers and viewers of calls without a token of the stream's own need the service's.
        var publishersNeedToken: Bool
        var viewersNeedToken: Bool

        /// As it stands in a URL.
        var host: String { Guard.host(of: authority) ?? "localhost" }
        /// Nil where the client named none: the scheme's own.
        var port: UInt16? {
            // Behind an IPv6 address's bracket.
            let rest = authority[(authority.lastIndex(of: "]") ?? authority.startIndex)...]
            return rest.lastIndex(of: ":").flatMap { UInt16(rest[rest.index(after: $0)...]) }
        }
    }

    var end: StreamStatus.End
    var protocolName: String
    /// What this end does: `listener`, `caller`, `rendezvous`, `receiver`, `sender`, or `call`.
    var mode: String
    var url: String
    var isLoopback: Bool
    var secrets: [String] = []
    var ffmpeg: String?
    var obs: String?

    var json: JSON {
        [
            "side": .text(end.isInput ? "input" : "output"), "protocol": .text(protocolName), "mode": .text(mode),
            "url": .text(url), "loopback": .bool(isLoopback), "secrets": .list(secrets.map(JSON.text)),
            "ffmpeg": .optional(ffmpeg, JSON.text), "obs": .optional(obs, JSON.text),
        ]
    }

    static let schema = Schema.object(
        """
        Where the other side of one end sends to or receives from. `url` is written as `burnish` and srt-live-transmit want it. Its host is \
        the one by which the service was reached where the end listens on all addresses. PASSPHRASE, STREAMID and TOKEN stand for \
        what `secrets` names. `mode` is this end's. `loopback` says that only this machine reaches it.
        """,
        [
            "side": .choice(["input", "output"]), "protocol": .choice(["srt", "rtp", "udp", "whip", "whep"]),
            "mode": .choice(["listener", "caller", "rendezvous", "receiver", "sender", "call"]), "url": .text(),
            "loopback": .bool, "secrets": .list(.choice(["passphrase", "streamid", "token"])), "ffmpeg": .nullable(.text()),
            "obs": .nullable(.text()),
        ])

    /// The addresses of a stream's ends that others can reach, or that it calls. Files have none.
    static func all(of stream: StreamStatus, _ reach: Reach) -> [StreamAddress] {
        stream.ends.compactMap { end in
            switch end.url {
            case .srt(let endpoint): srt(end, endpoint, reach)
            case .rtp(let endpoint): datagrams(end, "rtp", endpoint.host, endpoint.port, reach)
            case .udp(let endpoint): datagrams(end, "udp", endpoint.host, endpoint.port, reach)
            case .call(let endpoint): call(end, endpoint, reach)
            case .sdp, .file, .standardStream: nil
            }
        }
    }

    // MARK: SRT

    private static func srt(_ end: StreamStatus.End, _ endpoint: SRTEndpoint, _ reach: Reach) -> StreamAddress {
        let isListener = endpoint.mode == .listener
        // The peer of a caller listens, on the port that is called.
        let host = isListener ? reachable(endpoint.host, reach) : endpoint.mode == .caller ? "" : reach.host
        let mode: SRTEndpoint.Mode = isListener ? .caller : endpoint.mode == .caller ? .listener : .rendezvous
        var secrets: [String] = []
        var query = "mode=\(mode.rawValue)"
        if end.hasStreamID, isListener {
            query += "&streamid=STREAMID"
            secrets.append("streamid")
        }
        if end.hasPassphrase {
            query += "&passphrase=PASSPHRASE"
            secrets.append("passphrase")
            if let length = endpoint.keyLength { query += "&pbkeylen=\(length)" }
        }
        let milliseconds = endpoint.latency.map { $0.count / 1_000_000 }
        let own = "srt://\(host):\(endpoint.port)?\(query)" + (milliseconds.map { "&latency=\($0)" } ?? "")
        // FFmpeg, and OBS by it, has the latency in microseconds, and wants an address to listen on.
        let theirs =
            "srt://\(host.isEmpty ? "0.0.0.0" : host):\(endpoint.port)?\(query)"
            + (milliseconds.map { "&latency=\($0 * 1000)" } ?? "")
        let bound = isListener ? host : endpoint.mode == .caller ? endpoint.host : host
        return StreamAddress(
            end: end, protocolName: "srt", mode: endpoint.mode.rawValue, url: own, isLoopback: IPAddress.isLoopback(bound),
            secrets: secrets, ffmpeg: end.isInput ? sending("mpegts", theirs) : playing(theirs),
            obs: end.isInput
                ? "Settings, Stream: Service Custom, Server \(theirs), no stream key"
                : "Sources, Media Source: no Local File, Input \(theirs), Input Format mpegts")
    }

    // MARK: Datagrams

    private static func datagrams(
        _ end: StreamStatus.End, _ scheme: String, _ host: String, _ port: UInt16, _ reach: Reach
    ) -> StreamAddress {
        let isRTP = scheme == "rtp"
        guard end.isInput else {
            // Whoever receives listens on the port that is sent to, for a group or for all addresses.
            let group = isGroup(host) ? bracketed(host) : ""
            return StreamAddress(
                end: end, protocolName: scheme, mode: "sender", url: "\(scheme)://\(group):\(port)",
                isLoopback: IPAddress.isLoopback(host), ffmpeg: playing("\(scheme)://@\(group):\(port)"))
        }
        let url = "\(scheme)://\(reachable(host, reach)):\(port)"
        return StreamAddress(
            end: end, protocolName: scheme, mode: "receiver", url: url,
            isLoopback: IPAddress.isLoopback(reachable(host, reach)),
            ffmpeg: isRTP ? sending("rtp_mpegts", url) : sending("mpegts", url + "?pkt_size=1316"))
    }

    // MARK: Calls

    private static func call(_ end: StreamStatus.End, _ endpoint: CallEndpoint, _ reach: Reach) -> StreamAddress {
        let isWHIP = endpoint.side == .whip
        let url = "\(reach.usesTLS ? "https" : "http")://\(reach.authority)/\(endpoint.side.rawValue)/\(endpoint.name)"
        let needsToken = end.hasToken || (isWHIP ? reach.publishersNeedToken : reach.viewersNeedToken)
        return StreamAddress(
            end: end, protocolName: endpoint.side.rawValue, mode: "call", url: url,
            isLoopback: IPAddress.isLoopback(reach.host),
            secrets: needsToken ? ["token"] : [],
            ffmpeg: isWHIP
                ? "ffmpeg -re -i FILE \(video) -profile:v baseline -bf 0 -c:a libopus -ar 48000 -ac 2 -f whip"
                    + (needsToken ? " -authorization TOKEN" : "") + " '\(url)'" : nil,
            obs: isWHIP
                ? "Settings, Stream: Service WHIP, Server \(url)" + (needsToken ? ", Bearer Token TOKEN" : "") : nil)
    }

    // MARK: Words

    private static let video = "-c:v libx264 -preset veryfast -tune zerolatency -g 60 -pix_fmt yuv420p"

    private static func sending(_ format: String, _ url: String) -> String {
        "ffmpeg -re -i FILE \(video) -c:a aac -f \(format) '\(url)'"
    }

    private static func playing(_ url: String) -> String { "ffplay -fflags nobuffer -flags low_delay '\(url)'" }

    /// The host by which others reach an end that listens there.
    private static func reachable(_ host: String, _ reach: Reach) -> String {
        ["", "0.0.0.0", "::"].contains(host) ? reach.host : bracketed(host)
    }

    private static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

    /// Whether it is a multicast address: 224.0.0.0/4 or ff00::/8.
    private static func isGroup(_ host: String) -> Bool {
        guard IPAddress.isAddress(host) else { return false }
        if host.contains(":") { return host.lowercased().hasPrefix("ff") }
        return host.split(separator: ".").first.flatMap { Int($0) }.map { (224...239).contains($0) } ?? false
    }
}

extension StreamAddress.Reach {
    /// How a request reached the service.
    init(_ request: RouteRequest, _ site: Site) {
        let configuration = site.configuration
        authority = request.request.head.authority ?? "localhost"
        // A proxy may have the TLS.
        usesTLS = configuration.certificate != nil || request.request.headers[.forwardedProtocol] == "https"
        publishersNeedToken = configuration.token != nil
        viewersNeedToken = configuration.token != nil && !configuration.isLoopbackOnly
    }
}

extension HTTPField.Name {
    fileprivate static let forwardedProtocol = Self("X-Forwarded-Proto")!
}
