import Control
import HTTPTypes
import Hummingbird
import Logging
import Media
import NIOCore
import ServiceLifecycle

/// What Hummingbird knows of a request's connection.
struct WebContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}

/// What the routes share.
struct Site: Sendable {
    let service: any StreamService
    let present: PresentGuard
    let counters: WebCounters
    let logger: Logger
    /// Nil without TLS.
    let certificate: ServedCertificate?
    let routes: [Route]
    let refusals = RequestLog()

    /// What holds now. A request asks once, so that it sees one configuration.
    var access: Guard { present.value }
    var configuration: WebConfiguration { access.configuration }
}

/// Answers every request: finds its route, checks who asks, checks parameters and body, and lets the route answer.
struct WebResponder: HTTPResponder {
    let site: Site

    static let largestBody = 64 * 1024

    func respond(to request: Request, context: WebContext) async throws -> Response {
        var response: Response
        do {
            response = try await answer(request, context)
        } catch let problem as Problem {
            response = problem.response
            site.counters.refuse(problem.kind)
        } catch let fault as ServiceFault {
            response = Problem(fault).response
        } catch is CancellationError {
            response = Problem(.unavailable, "the service ends", headers: [.retryAfter: "1"]).response
        } catch {
            site.logger.error("a request failed", metadata: ["error": "\(error)", "path": "\(request.uri.path)"])
            response = Problem(.internalError, "the service failed to answer; its log says why").response
        }
        finish(&response, request)
        site.counters.answer(response.status.code)
        if Self.changes(request.method, response.status.code) { log(request, response.status.code, context) }
        return response
    }

    /// Whether the log is to name a request. What viewers say of themselves (PUT) changes nothing, and may come every few seconds.
    private static func changes(_ method: HTTPRequest.Method, _ status: Int) -> Bool {
        switch method {
        case .get, .head: false
        case .put: status >= 400
        default: true
        }
    }

    private func log(_ request: Request, _ status: Int, _ context: WebContext) {
        var leftOut = 0
        if status >= 400 {
            guard let others = site.refusals.admit(at: .now()) else { return }
            leftOut = others
        }
        site.logger.info(
            "\(request.method) \(request.uri.path): \(status)\(leftOut > 0 ? " (\(leftOut) refused before it are not listed)" : "")",
            metadata: ["peer": "\(context.channel.remoteAddress?.ipAddress ?? "?")"])
    }

    private func answer(_ request: Request, _ context: WebContext) async throws -> Response {
        let access = site.access
        try access.checkHost(request.head)
        let parts = request.uri.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        // A path ends without a slash, but for the page's own.
        let matches: [(route: Route, parameters: [String: String])] =
            parts == [""]
            ? site.routes.compactMap { $0.path == "/" ? ($0, [:]) : nil }
            : site.routes.compactMap { route in route.match(Array(parts)).map { (route, $0) } }
        guard !matches.isEmpty else {
            throw Problem(.notFound, "there is nothing here; /api/v1/openapi.json lists what there is")
        }
        let method = request.method == .head ? .get : request.method
        guard let (route, path) = matches.first(where: { $0.route.method == method }) else {
            var methods = matches.map(\.route.method.rawValue)
            if methods.contains("GET") { methods.append("HEAD") }
            let allowed = Set(methods).sorted().joined(separator: ", ")
            if request.method == .options, let options = options(request, matches.map(\.route), allowed) { return options }
            throw Problem(.methodNotAllowed, "use \(allowed) here", headers: [.allow: allowed])
        }
        try access.checkOrigin(request.head, route.access)
        try access.checkAccess(request.head, route.access)

        var parameters = try Query.parse(request.uri.query, route.parameters)
        parameters.merge(path) { $1 }
        for parameter in route.parameters {
            switch parameter.place {
            case .query: break
            case .path:
                guard parameters[parameter.name].map(parameter.schema.accepts) == true else {
                    throw Problem(.notFound, key: parameter.name, "\(parameter.name) is \(parameter.schema.wanted)")
                }
            case .header:
                guard let name = HTTPField.Name(parameter.name), let value = request.headers[name] else { continue }
                guard parameter.schema.accepts(value) else {
                    throw Problem(.badRequest, key: parameter.name, "\(parameter.name) is \(parameter.schema.wanted)")
                }
                parameters[parameter.name] = value
            }
        }
        var asked = RouteRequest(request: request, context: context, parameters: parameters)
        try await route.admit?(asked, site)
        let bytes = try await body(of: request, route)
        if let form = route.body {
            guard let json = JSON(bytes) else { throw Problem(.badRequest, "the body is not JSON") }
            if let fault = form.fault(in: json, named: Routes.schemas) { throw fault }
            asked.body = json
        } else if route.textType != nil {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Problem(.badRequest, "the body is no UTF-8 text")
            }
            asked.text = text
        }
        return try await route.answer(asked, site)
    }

    /// What a page of another site, or a WebRTC client, asks before its request. It says nothing of what there is.
    private func options(_ request: Request, _ routes: [Route], _ allowed: String) -> Response? {
        var headers: HTTPFields = [:]
        if let origin = request.headers[.origin], site.access.isKnown(origin) {
            headers[.accessControlAllowMethods] = allowed
            headers[.accessControlAllowHeaders] = "Authorization, Content-Type, If-Match"
        }
        for route in routes where route.access == .calls {
            headers[.allow] = allowed + ", OPTIONS"
            if let type = route.textType { headers[route.method == .patch ? .acceptPatch : .acceptPost] = type }
        }
        return headers.isEmpty ? nil : Response(status: .noContent, headers: headers)
    }

    /// The request's body, which must be of the kind that its route wants.
    private func body(of request: Request, _ route: Route) async throws -> [UInt8] {
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > Self.largestBody { throw Self.tooLarge }
        let type = request.headers[.contentType]?.prefix { $0 != ";" && $0 != " " }.lowercased() ?? ""
        if let wanted = route.textType, type != wanted {
            throw Problem(.wrongMediaType, "send Content-Type: \(wanted)", headers: [.accept: wanted])
        }
        if route.body != nil {
            guard (["application/json"] + route.bodyTypes).contains(type) else {
                throw Problem(.wrongMediaType, "send JSON, with Content-Type: application/json")
            }
        }
        var bytes: [UInt8] = []
        do {
            for try await part in request.body {
                guard bytes.count + part.readableBytes <= Self.largestBody else { throw Self.tooLarge }
                bytes += part.readableBytesView
            }
        } catch let problem as Problem {
            throw problem
        } catch {
            throw Problem(.badRequest, "the body is not whole, or its chunks have no lengths", headers: [.connection: "close"])
        }
        return bytes
    }

    private static var tooLarge: Problem {
        Problem(.tooLarge, "the body has at most \(largestBody) bytes", headers: [.connection: "close"])
    }

    /// What all responses have.
    private func finish(_ response: inout Response, _ request: Request) {
        func set(_ name: HTTPField.Name, _ value: String) {
            if response.headers[name] == nil { response.headers[name] = value }
        }
        set(.xContentTypeOptions, "nosniff")
        set(.referrerPolicy, "no-referrer")
        set(.contentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
        // Pages of other sites read nothing, but for those that the configuration names.
        let access = site.access
        if !access.configuration.origins.isEmpty { response.headers[.vary] = "Origin" }
        if let origin = request.headers[.origin], access.isKnown(origin) {
            set(.accessControlAllowOrigin, origin)
            set(.accessControlExposeHeaders, "Location, Link, ETag, Accept-Patch, Retry-After")
            set(.resourcePolicy, "cross-origin")
        }
        set(.resourcePolicy, "same-origin")
        set(.openerPolicy, "same-origin")
        set(.cacheControl, "no-store")
        if request.method == .head {
            let length = response.body.contentLength
            response.body = ResponseBody()
            response.headers[.contentLength] = length.map { "\($0)" }
        }
        if response.status.code == 204 || response.status.code == 304 { response.headers[.contentLength] = nil }
    }
}
