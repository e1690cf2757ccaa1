import Control
import HTTPTypes
import Hummingbird
import QRCodes

/// Where other machines find the page by HTTPS. Browsers give camera and microphone to such a page only.
enum PageAnswers {
    /// The page's address as text: that by which the client reached the service, which has been checked (``Guard/checkHost(_:)``). A
    /// client that came by a loopback address, which means another machine elsewhere, gets the first public name of the configuration,
    /// where the service listens for others.
    /// - Returns: nil where the client did not come by HTTPS, or no other machine reaches the service.
    static func address(_ reach: StreamAddress.Reach, _ configuration: WebConfiguration) -> String? {
        guard reach.usesTLS else { return nil }
        var host = reach.host
        if IPAddress.isLoopback(host) {
            guard !IPAddress.isLoopback(configuration.host),
                let name = configuration.names.first(where: { !IPAddress.isLoopback($0) })
            else { return nil }
            host = name.contains(":") && !name.hasPrefix("[") ? "[\(name)]" : name
        }
        switch reach.port {
        case nil, 443: return "https://\(host)/"
        case .some(let port): return "https://\(host):\(port)/"
        }
    }

    /// The address as a QR code, with the stream that the page is to show.
    @Sendable static func code(_ request: RouteRequest, _ site: Site) async throws -> Response {
        guard var page = address(StreamAddress.Reach(request, site), site.configuration) else {
            throw Problem(
                .notFound,
                "the page has no HTTPS address that other machines reach: set http.tls-certificate and http.tls-key, or let a web server "
                    + "with a certificate pass on X-Forwarded-Proto, and ask by a name or address of the network")
        }
        if let name = request["stream"] {
            let stream = try await site.service.stream(name)
            page += "#\(PercentCoding.encode(stream.name))"
        }
        guard let code = QRCode(page) else { throw Problem(.internalError, "\(page) does not fit into a QR code") }
        // The same address has the same code. Another name or certificate shows after five minutes.
        return DocumentAnswers.answer(request, Array(code.svg.utf8), "image/svg+xml", caching: "private, max-age=300")
    }
}
