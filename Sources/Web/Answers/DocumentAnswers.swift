import HTTPTypes
import Hummingbird

/// Documents that stay the same while the service runs.
enum DocumentAnswers {
    private static let openAPIBytes = OpenAPI.document(Routes.all, Routes.schemas).bytes
    private static let openAPITag = tag(openAPIBytes)

    @Sendable static func openAPI(_ request: RouteRequest, _ site: Site) -> Response {
        answer(request, openAPIBytes, "application/json", tag: openAPITag)
    }

    static func page(_ file: Page.File) -> @Sendable (RouteRequest, Site) -> Response {
        let tag = tag(file.bytes)
        return { request, _ in
            var response = answer(request, file.bytes, file.contentType, tag: tag)
            response.headers[.contentSecurityPolicy] = contentSecurityPolicy
            return response
        }
    }

    /// The page loads nothing from other hosts, runs no script that stands in it, and is shown in no frame.
    private static let contentSecurityPolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    /// The bytes, or that the client has them already.
    /// - Parameters:
    ///   - tag: the bytes' entity tag; nil computes it.
    ///   - caching: how long clients may keep them without asking, as Cache-Control says it.
    static func answer(
        _ request: RouteRequest, _ bytes: [UInt8], _ type: String, tag: String? = nil, caching: String = "no-cache"
    ) -> Response {
        let tag = tag ?? Self.tag(bytes)
        let headers: HTTPFields = [.contentType: type, .eTag: tag, .cacheControl: caching]
        let known = request.request.headers[.ifNoneMatch]?.split(separator: ",").map { text in
            String(text.drop { $0 == " " }.prefix { $0 != " " })
        }
        if let known, known.contains("*") || known.contains(where: { $0 == tag || $0 == "W/\(tag)" }) {
            return Response(status: .notModified, headers: headers)
        }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// An entity tag: FNV-1a over the content.
    static func tag(_ bytes: [UInt8]) -> String {
        let hash = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return "\"\(String(hash, radix: 36))\""
    }
}

extension Response {
    static func json(
        _ json: JSON, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
    ) -> Response {
        var headers = headers
        headers[.contentType] = "application/json"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.bytes)))
    }

    static func text(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
