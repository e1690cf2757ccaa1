import HTTPTypes
import Hummingbird
import Media

/// Logging in and out. The cookie stands for the token, so that the page's scripts never see it.
enum SessionAnswers {
    @Sendable static func open(_ request: RouteRequest, _ site: Site) throws -> Response {
        guard case .text(let token)? = request.body?["token"], site.access.matches(token) else {
            throw Problem(
                .tokenNeeded, key: "token", "that is not the service's token",
                headers: [.wwwAuthenticate: "Bearer realm=\"burnish\""])
        }
        let secret = site.access.sessions.open(at: .now())
        return Response(status: .noContent, headers: [.setCookie: site.access.cookie(for: secret, request.request.head)])
    }

    @Sendable static func close(_ request: RouteRequest, _ site: Site) -> Response {
        if let secret = site.access.session(request.request.head) { site.access.sessions.close(secret) }
        return Response(status: .noContent, headers: [.setCookie: site.access.emptyCookie(request.request.head)])
    }

    @Sendable static func get(_ request: RouteRequest, _ site: Site) -> Response {
        func may(_ access: Route.Access) -> JSON {
            .bool((try? site.access.checkAccess(request.request.head, access)) != nil)
        }
        return .json([
            "needsToken": .bool(site.configuration.token != nil),
            "isAuthorised": .bool(site.access.isAuthorised(request.request.head)),
            "mayChange": may(.changes), "mayView": may(.views),
            "pageAddress": .optional(
                PageAnswers.address(StreamAddress.Reach(request, site), site.configuration), JSON.text),
        ])
    }
}
