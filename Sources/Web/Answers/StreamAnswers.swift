import Control
import HTTPTypes
import Hummingbird
import Media
import ServiceConfiguration
import Telemetry

/// The streams and their connections.
enum StreamAnswers {
    @Sendable static func list(_ request: RouteRequest, _ site: Site) async -> Response {
        .json(["streams": .list(await site.service.streams().map(json))])
    }

    @Sendable static func get(_ request: RouteRequest, _ site: Site) async throws -> Response {
        .json(json(try await site.service.stream(request["name"] ?? "")))
    }

    @Sendable static func add(_ request: RouteRequest, _ site: Site) async throws -> Response {
        guard case .object(var members)? = request.body else { throw Problem(.invalid, "the body is a JSON object") }
        guard case .text(let name)? = members.removeValue(forKey: "name"), StreamDefinition.isName(name) else {
            throw Problem(
                .invalid, key: "name", "a name has 1 to 64 letters, digits, dots, _ and -, and begins with one of the first two"
            )
        }
        var values: [String: String] = [:]
        if let settings = members.removeValue(forKey: "settings") {
            for (key, value) in try SettingsBody.texts(settings) { values[key] = value }
        }
        for key in ["input", "output"] {
            guard case .text(let url)? = members.removeValue(forKey: key) else {
                throw Problem(.invalid, key: key, "\(key) is a URL")
            }
            values[key] = url
        }
        if let unknown = members.keys.min() {
            throw Problem(.invalid, key: unknown, "there are name, input, output and settings")
        }
        let stream = try await site.service.add(name, values)
        return .json(
            json(stream), status: .created, headers: [.location: "/api/v1/streams/\(PercentCoding.encode(name))"])
    }

    @Sendable static func change(_ request: RouteRequest, _ site: Site) async throws -> Response {
        guard case .object(let members)? = request.body, let settings = members["settings"], members.count == 1 else {
            throw Problem(.invalid, key: "settings", "the body is {\"settings\": {…}}")
        }
        let changes = try SettingsBody.texts(settings)
        let isRestarting = request["restart"] == "true"
        return .json(json(try await site.service.change(request["name"] ?? "", changes, restarting: isRestarting)))
    }

    @Sendable static func remove(_ request: RouteRequest, _ site: Site) async throws -> Response {
        try await site.service.remove(request["name"] ?? "")
        return Response(status: .noContent)
    }

    @Sendable static func restart(_ request: RouteRequest, _ site: Site) async throws -> Response {
        try await site.service.restart(request["name"] ?? "")
        return Response(status: .noContent)
    }

    @Sendable static func callers(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let now = MonotonicTime.now()
        return .json(["callers": .list(try await site.service.callers(of: request["name"] ?? "").map { json($0, now) })])
    }

    @Sendable static func kick(_ request: RouteRequest, _ site: Site) async throws -> Response {
        try await site.service.kick(request["id"].flatMap { UInt64($0) } ?? 0, of: request["name"] ?? "")
        return Response(status: .noContent)
    }

    @Sendable static func reload(_ request: RouteRequest, _ site: Site) async throws -> Response {
        try await site.service.reload()
        return Response(status: .noContent)
    }

    // MARK: What goes out

    static func json(_ stream: StreamStatus) -> JSON {
        [
            "name": .text(stream.name), "state": .text(stream.state.rawValue), "reason": .text(stream.reason),
            "input": .text(stream.input), "outputs": .list(stream.outputs.map(JSON.text)),
            "settings": .object(stream.settings.mapValues(JSON.text)),
            "process": .optional(stream.process) { .count($0) }, "restarts": .count(stream.restarts),
            "secondsRunning": .optional(stream.startedAt) { .number((MonotonicTime.now() - $0).seconds) },
        ]
    }

    static func json(_ caller: CallerStatus, _ now: MonotonicTime) -> JSON {
        [
            "id": .count(caller.id), "leg": .text(caller.leg), "peer": .text(caller.peer), "streamID": .text(caller.streamID),
            "secondsConnected": .optional(caller.connectedAt) { .number((now - $0).seconds) },
            "figures": StatisticsAnswers.json(caller.figures),
        ]
    }

    static let schemas: [String: Schema] = [
        "Stream": .object(
            "A stream, without its secrets.",
            [
                "name": .text(), "state": .choice(StreamStatus.State.allCases.map(\.rawValue)), "reason": .text(),
                "input": .text(),
                "outputs": .list(.text()), "settings": .map(.text()), "process": .nullable(.integer()),
                "restarts": .integer(0...Int64.max), "secondsRunning": .nullable(.number()),
            ]),
        "NewStream": .object(
            "A stream to add. Input and output are URLs; settings are those of the configuration file.",
            [
                "name": .text(pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"), "input": .text(most: 2048),
                "output": .text(most: 2048),
            ],
            optional: ["settings": .named("Settings")]),
        "StreamChange": .object("What to change.", ["settings": .named("Settings")]),
        "Settings": .map(.either([.text(most: 2048), .number(), .nullable(.bool)])),
        "Caller": .object(
            "A connection of a stream's input or of one of its outputs.",
            [
                "id": .integer(0...Int64.max), "leg": .choice(["input", "output"]), "peer": .text(), "streamID": .text(),
                "secondsConnected": .nullable(.number()), "figures": .named("Leg"),
            ]),
    ]
}
