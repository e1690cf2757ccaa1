import Control
import Hummingbird

/// Answers for whatever watches the service: systemd, Kubernetes, load balancers.
enum HealthAnswers {
    @Sendable static func live(_ request: RouteRequest, _ site: Site) async -> Response {
        // Answers only when the supervisor does.
        await site.service.answer()
        return .text("ok\n")
    }

    @Sendable static func ready(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let isVerbose = request["verbose"].map { $0 != "false" && $0 != "0" } ?? false
        if isVerbose { try site.access.checkAccess(request.request.head, .views) }
        let health = await site.service.health()
        var text = ""
        if isVerbose {
            for check in health.checks {
                text += "\(check.isGood ? "[+]" : "[-]")\(check.name): \(check.text.isEmpty ? "ok" : check.text)\n"
            }
        }
        text += health.isReady ? "ready\n" : "not ready\n"
        // Why is for those who may see the streams.
        if !isVerbose, !health.isReady, (try? site.access.checkAccess(request.request.head, .views)) != nil {
            for check in health.checks where check.counts && !check.isGood { text += "\(check.name): \(check.text)\n" }
        }
        return .text(text, status: health.isReady ? .ok : .serviceUnavailable)
    }

    @Sendable static func health(_ request: RouteRequest, _ site: Site) async -> Response {
        let health = await site.service.health()
        return .json([
            "isReady": .bool(health.isReady),
            "checks": .list(
                health.checks.map {
                    ["name": .text($0.name), "isGood": .bool($0.isGood), "text": .text($0.text), "counts": .bool($0.counts)]
                }),
            "lastReloadWasGood": .bool(health.lastReloadWasGood), "lastReload": .number(health.lastReload),
            "cores": .number(health.cores), "coresNeeded": .number(health.coresNeeded), "coresUsed": .number(health.coresUsed),
        ])
    }

    static let schemas: [String: Schema] = [
        "Health": .object(
            "The service as a whole. It is ready while all checks that count are good. `lastReload` is in seconds since 1970, 0 before the first.",
            [
                "isReady": .bool,
                "checks": .list(.object("", ["name": .text(), "isGood": .bool, "text": .text(), "counts": .bool])),
                "lastReloadWasGood": .bool, "lastReload": .number(), "cores": .number(), "coresNeeded": .number(),
                "coresUsed": .number(),
            ])
    ]
}
