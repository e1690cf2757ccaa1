import Hummingbird

/// One thing that the interface does. The table of all routes makes both the router and the OpenAPI document.
struct Route: Sendable {
    /// Who may use it.
    enum Access: Sendable {
        /// Everybody.
        case open
        /// It shows streams, pictures or records: beyond loopback it needs the token.
        case views
        /// It changes something: it needs the token.
        case changes
        /// It belongs to a WebRTC call: it needs the token of the stream or the service, which its answer checks.
        case calls
        /// It belongs to a room: it needs a link, or what a guest got for it. Its answer checks that.
        case guests
    }

    /// A part of the query, or a header, that a request may have.
    struct Parameter: Sendable {
        enum Place: String, Sendable { case path, query, header }

        var name: String
        var place = Place.query
        var about: String
        var schema: Schema
    }

    /// What comes back when all is well.
    struct Success: Sendable {
        var status = HTTPResponse.Status.ok
        var about: String
        /// Each media type with the form of its content; nil where it is not JSON. None for an empty response.
        var content: [(type: String, schema: Schema?)] = []
        var headers: [String: String] = [:]
    }

    var method: HTTPRequest.Method
    /// `/api/v1/streams/{name}`: what stands between braces is a parameter.
    var path: String
    /// The operation's name for generated clients.
    var id: String
    var summary: String
    var access: Access
    var parameters: [Parameter] = []
    /// The JSON that a request brings, and what it is called in the document.
    var body: Schema?
    /// Media types of the body beside `application/json`.
    var bodyTypes: [String] = []
    /// The media type of a body that is text and not JSON.
    var textType: String?
    var success: Success
    /// What it means that there is nothing to send (204); nil where that does not happen.
    var nothing: String?
    /// What can go wrong beside what can on every route.
    var problems: [Problem.Kind] = []
    /// Checks who asks, before the body is read; beside what ``access`` says.
    var admit: (@Sendable (RouteRequest, Site) async throws -> Void)?
    var answer: @Sendable (RouteRequest, Site) async throws -> Response

    /// The path's parts between slashes.
    var parts: [Substring] { path.split(separator: "/") }

    /// The path's parameters where a request's path is meant, else nil.
    func match(_ parts: [Substring]) -> [String: String]? {
        let own = self.parts
        guard own.count == parts.count else { return nil }
        var found: [String: String] = [:]
        for (pattern, part) in zip(own, parts) {
            if pattern.hasPrefix("{") {
                guard let text = PercentCoding.decode(part), !text.isEmpty else { return nil }
                found[String(pattern.dropFirst().dropLast())] = text
            } else if pattern != part {
                return nil
            }
        }
        return found
    }
}

/// A request whose parameters and body have been checked against its route.
struct RouteRequest: Sendable {
    var request: Request
    var context: WebContext
    /// Parameters of path, query and header by name, each in the form that the route asks for.
    var parameters: [String: String]
    var body: JSON?
    /// The body of a route that has a ``Route/textType``.
    var text: String?

    subscript(name: String) -> String? { parameters[name] }
    func integer(_ name: String, or fallback: Int) -> Int { parameters[name].flatMap { Int($0) } ?? fallback }
    func number(_ name: String, or fallback: Double) -> Double { parameters[name].flatMap { Double($0) } ?? fallback }
}

/// `%2F` and its like in URLs.
enum PercentCoding {
    /// Nil where a `%` is not followed by two hexadecimal digits, or the bytes are not UTF-8.
    static func decode(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension PercentCoding {
    /// Everything but letters, digits and `-._~` becomes `%XX`.
    static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return encoded
    }
}
