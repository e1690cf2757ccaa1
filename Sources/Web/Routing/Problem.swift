import Control
import HTTPTypes
import Hummingbird

/// Why a request is not met: the body of the response, in the form of RFC 9457 (`application/problem+json`).
struct Problem: Error, Sendable {
    /// What programs tell problems apart by.
    enum Kind: String, Sendable, CaseIterable {
        case badRequest = "bad_request"
        case wrongHost = "wrong_host"
        case wrongOrigin = "wrong_origin"
        case tokenNeeded = "token_needed"
        case notFound = "not_found"
        case methodNotAllowed = "method_not_allowed"
        case exists, conflict
        case tooLarge = "too_large"
        case wrongMediaType = "wrong_media_type"
        case invalid
        case notAcceptable = "not_acceptable"
        case preconditionFailed = "precondition_failed"
        case preconditionRequired = "precondition_required"
        case refused
        case unavailable
        case noRoom = "no_room"
        case internalError = "internal"

        var status: HTTPResponse.Status {
            switch self {
            case .badRequest: .badRequest
            case .wrongHost: .misdirectedRequest
            case .wrongOrigin, .refused: .forbidden
            case .tokenNeeded: .unauthorized
            case .notFound: .notFound
            case .methodNotAllowed: .methodNotAllowed
            case .exists, .conflict: .conflict
            case .tooLarge: .contentTooLarge
            case .wrongMediaType: .unsupportedMediaType
            case .invalid: .unprocessableContent
            case .notAcceptable: .notAcceptable
            case .preconditionFailed: .preconditionFailed
            case .preconditionRequired: .preconditionRequired
            case .unavailable, .noRoom: .serviceUnavailable
            case .internalError: .internalServerError
            }
        }
    }

    var kind: Kind
    /// The setting or parameter that is meant.
    var key: String?
    /// One sentence that says what is wrong and what to do.
    var text: String
    var headers: HTTPFields

    init(_ kind: Kind, key: String? = nil, _ text: String, headers: HTTPFields = [:]) {
        self.kind = kind
        self.key = key
        self.text = text
        self.headers = headers
    }

    init(_ fault: ServiceFault) {
        let kind: Kind =
            switch fault.kind {
            case .notFound: .notFound
            case .exists: .exists
            case .conflict: .conflict
            case .invalid: .invalid
            case .malformed: .badRequest
            case .unacceptable: .notAcceptable
            case .refused: .refused
            case .unauthorised: .tokenNeeded
            case .unavailable: .unavailable
            case .noRoom: .noRoom
            }
        self.init(kind, key: fault.key, fault.text, headers: kind.status == .serviceUnavailable ? [.retryAfter: "1"] : [:])
    }

    var response: Response {
        var members: [String: JSON] = [
            "type": "about:blank", "title": .text(kind.status.reasonPhrase), "status": .count(kind.status.code),
            "detail": .text(text), "kind": .text(kind.rawValue),
        ]
        if let key { members["key"] = .text(key) }
        var headers = headers
        headers[.contentType] = "application/problem+json"
        return Response(
            status: kind.status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSON.object(members).bytes))
        )
    }

    static let schema = Schema.object(
        "What is wrong, and what to do (RFC 9457).",
        [
            "type": .text(), "title": .text(), "status": .integer(400...599), "detail": .text(),
            "kind": .choice(Kind.allCases.map(\.rawValue)),
        ], optional: ["key": .text()])
}
