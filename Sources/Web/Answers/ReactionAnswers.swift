import Control
import Hummingbird
import Media

/// Reactions over a stream's pictures.
enum ReactionAnswers {
    @Sendable static func react(_ request: RouteRequest, _ site: Site) async throws -> Response {
        guard case .text(let word)? = request.body?["kind"], let kind = Reaction.Kind(rawValue: word) else {
            throw Problem(.invalid, key: "kind", "kind is one of \(kinds.joined(separator: ", "))")
        }
        func number(_ key: String, or fallback: Double) -> Double {
            switch request.body?[key] {
            case .number(let number)?: number
            case .integer(let number)?: Double(number)
            default: fallback
            }
        }
        try await site.service.react(
            kind, x: number("x", or: 0.5), y: number("y", or: 0.5), seconds: number("seconds", or: 3), to: request["name"] ?? ""
        )
        return Response(status: .accepted)
    }

    @Sendable static func reactions(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let now = MonotonicTime.now()
        let running = try await site.service.reactions(of: request["name"] ?? "")
        return .json([
            "kinds": .list(kinds.map { .text($0) }),
            "running": .list(
                running.map {
                    [
                        "kind": .text($0.kind.rawValue), "x": .number($0.x), "y": .number($0.y),
                        "left": .number(max(($0.ends - now).seconds, 0)),
                    ]
                }),
        ])
    }

    private static let kinds = Reaction.Kind.allCases.map(\.rawValue)

    static let schemas: [String: Schema] = [
        "NewReaction": .object(
            "`x` and `y` are shares of the picture, from the left and upper side: 0.5, unless they say otherwise. `seconds` is 3.",
            ["kind": .choice(kinds)],
            optional: ["x": .number(0...1), "y": .number(0...1), "seconds": .number(Reaction.lengths)]),
        "Reactions": .object(
            "Which kinds there are, and which run.",
            [
                "kinds": .list(.choice(kinds)),
                "running": .list(
                    .object(
                        "One that runs, with the seconds that are left.",
                        ["kind": .choice(kinds), "x": .number(0...1), "y": .number(0...1), "left": .number(0...10)])),
            ]),
    ]
}
