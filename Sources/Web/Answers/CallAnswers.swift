import Control
import Endpoint
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Media
import NIOCore
import RoomLinks
import WorkerProtocol

/// WHIP (RFC 9725) and WHEP (draft-ietf-wish-whep): a peer posts an offer and gets the answer. Each call is a resource of its
/// own, under an id that nobody can guess.
enum CallAnswers {
    static let description = "application/sdp"
    static let fragment = "application/trickle-ice-sdpfrag"

    static func offer(_ side: CallSide) -> @Sendable (RouteRequest, Site) async throws -> Response {
        { request, site in
            let name = request["name"] ?? ""
            let text = request.text ?? ""
            let offer = PeerOffer(
                description: text, userFragment: try SessionText.userFragment(of: text).get(),
                takesOver: request["takeover"] == "true", token: RoomAnswers.bearer(request),
                layer: request["layer"].flatMap { ViewerLayer(rawValue: $0) },
                profile: request["profile"].flatMap { ViewerProfile(rawValue: $0) })
            let call: PresentCall
            do throws(ServiceFault) {
                call = try await site.service.call(name, side, offer)
            } catch {
                // Somebody else publishes. There is room when they have been silent for a second.
                guard error.kind == .exists else { throw error }
                throw Problem(.exists, error.text, headers: [.retryAfter: "1"])
            }
            var headers: HTTPFields = [
                .contentType: description, .location: "\(path(side))/\(PercentCoding.encode(name))/\(call.id)",
                .eTag: tag(of: call), .acceptPatch: fragment,
            ]
            for link in links(site.configuration) { headers.append(HTTPField(name: .link, value: link)) }
            return Response(
                status: .created, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: call.answer)))
        }
    }

    /// The ICE servers that a peer may use, and what it shows those of TURN (RFC 9725, 4.6).
    private static func links(_ configuration: WebConfiguration) -> [String] {
        let login = configuration.turnSecret.map { TurnLogin(secret: $0, now: Date().timeIntervalSince1970) }
        return configuration.iceServers.map { server in
            let link = "<\(server)>; rel=\"ice-server\""
            guard server.hasPrefix("turn"), let login else { return link }
            return link + "; username=\"\(login.user)\"; credential=\"\(login.password)\"; credential-type=\"password\""
        }
    }

    /// A fragment with candidates, or with the names of an ICE session that begins anew (RFC 9725, 4.3). An endpoint that is ICE-lite
    /// needs no candidates, but a peer has to be told that all is well.
    static func trickle(_ side: CallSide) -> @Sendable (RouteRequest, Site) async throws -> Response {
        { request, site in
            let name = request["name"] ?? ""
            guard let call = await site.service.call(request["call"] ?? "", of: name, side) else { throw over }
            guard let wanted = request.request.headers[.ifMatch] else {
                throw Problem(.preconditionRequired, "send the ETag of the call as If-Match")
            }
            let fragment = try TrickleFragment(request.text ?? "")
            // A restart matches any tag. The RFC's own examples put the asterisk between quotes.
            let isAny = wanted == "*" || wanted == "\"*\""
            guard isAny || wanted == tag(of: call) else {
                throw Problem(.preconditionFailed, "the call has another ETag: send that of the last answer")
            }
            guard isAny || (fragment.userFragment ?? call.userFragment) != call.userFragment else {
                return Response(status: .noContent)
            }
            guard let userFragment = fragment.userFragment, let password = fragment.password else {
                throw Problem(.invalid, "an ICE restart needs the new a=ice-ufrag and a=ice-pwd")
            }
            let restarted = try await site.service.restartCall(
                call.id, of: name, side, userFragment: userFragment, password: password)
            return Response(
                status: .ok, headers: [.contentType: Self.fragment, .eTag: tag(of: restarted)],
                body: ResponseBody(byteBuffer: ByteBuffer(string: restarted.answer)))
        }
    }

    static func hangUp(_ side: CallSide) -> @Sendable (RouteRequest, Site) async throws -> Response {
        { request, site in
            let name = request["name"] ?? ""
            try await site.service.hangUp(request["call"] ?? "", of: name, side)
            return Response(status: .ok)
        }
    }

    /// What a viewer may choose. One whose call has sound alone gets no pictures by it.
    static let layers = ["auto"] + ViewerLayer.allCases.map(\.rawValue)

    @Sendable static func chooseLayer(_ request: RouteRequest, _ site: Site) async throws -> Response {
        guard case .text(let word)? = request.body?["layer"], layers.contains(word) else {
            throw Problem(.invalid, key: "layer", "layer is one of \(layers.joined(separator: ", "))")
        }
        try await site.service.choose(
            ViewerLayer(rawValue: word), ofCall: request["call"] ?? "", of: request["name"] ?? "")
        return Response(status: .noContent)
    }

    /// A viewer's freezes are no more than this.
    static let mostFreezes: Int64 = 1_000_000_000

    /// Receivers of RTP report what they lost, and not whether the picture stood still: a browser counts that, and its page says it.
    @Sendable static func tellFreezes(_ request: RouteRequest, _ site: Site) async throws -> Response {
        guard case .integer(let freezes)? = request.body?["freezes"] else {
            throw Problem(.invalid, key: "freezes", "freezes is a whole number")
        }
        try await site.service.keep(freezes: Int(freezes), ofCall: request["call"] ?? "", of: request["name"] ?? "")
        return Response(status: .noContent)
    }

    /// Checks the token before anything says what there is.
    static func admit(_ side: CallSide) -> @Sendable (RouteRequest, Site) async throws -> Void {
        { request, site in
            let place = await site.service.callPlace(request["name"] ?? "", side)
            try site.access.checkCall(request.request.head, side, tokens: place?.tokens?.map(\.text))
            guard place != nil else { throw Problem(.notFound, "no stream receives or sends calls under this name") }
        }
    }

    static func path(_ side: CallSide) -> String { side == .publish ? "/whip" : "/whep" }

    /// A tag stands for an ICE session.
    private static func tag(of call: PresentCall) -> String { "\"\(call.id.prefix(16))-\(call.restarts)\"" }

    private static let over = Problem(.notFound, "there is no such call, or it is over")
}

extension HTTPField.Name {
    static let acceptPatch = Self("Accept-Patch")!
    static let acceptPost = Self("Accept-Post")!
    static let link = Self("Link")!
}
