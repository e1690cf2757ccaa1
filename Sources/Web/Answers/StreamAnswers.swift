import Control
import HTTPTypes
import Hummingbird
import Media
import ServiceConfiguration
import Settings
import Telemetry

/// The streams and their connections.
enum StreamAnswers {
    @Sendable static func list(_ request: RouteRequest, _ site: Site) async -> Response {
        let reach = StreamAddress.Reach(request, site)
        return .json(["streams": .list(await site.service.streams().map { json($0, reach) })])
    }

    @Sendable static func get(_ request: RouteRequest, _ site: Site) async throws -> Response {
        .json(json(try await site.service.stream(request["name"] ?? ""), StreamAddress.Reach(request, site)))
    }

    @Sendable static func add(_ request: RouteRequest, _ site: Site) async throws -> Response {
        guard case .text(let name)? = request.body?["name"], StreamDefinition.isName(name) else {
            throw Problem(
                .invalid, key: "name", "a name has 1 to 64 letters, digits, dots, _ and -, and begins with one of the first two"
            )
        }
        var values: [String: String] = [:]
        for (key, value) in try SettingsBody.texts(request.body?["settings"] ?? [:]) { values[key] = value }
        for (key, text) in Self.places(in: request) { values[key] = text }
        let stream = try await site.service.add(name, values)
        return .json(
            json(stream, StreamAddress.Reach(request, site), note: note(stream)), status: .created,
            headers: [.location: "/api/v1/streams/\(PercentCoding.encode(name))"])
    }

    @Sendable static func change(_ request: RouteRequest, _ site: Site) async throws -> Response {
        var changes = try SettingsBody.texts(request.body?["settings"] ?? [:])
        for (key, text) in Self.places(in: request) { changes[key] = text }
        let isRestarting = request["restart"] == "true"
        let stream = try await site.service.change(request["name"] ?? "", changes, restarting: isRestarting)
        return .json(json(stream, StreamAddress.Reach(request, site), note: note(stream)))
    }

    /// What becomes of a change when the service ends.
    private static func note(_ stream: StreamStatus) -> String? {
        if stream.isFromFile {
            return
                "the configuration file has this stream: the change holds until the service starts again, or the file changes it"
        }
        return stream.kept == nil ? "nothing keeps this stream: it ends with the service, which has no state directory" : nil
    }

    /// What a body says of a stream's ends. A list has one text a line.
    private static func places(in request: RouteRequest) -> [(key: String, text: String)] {
        places.keys.sorted().compactMap { key in
            switch request.body?[key] {
            case .text(let text)?: return (key, text)
            case .list(let items)?:
                return (key, items.map { if case .text(let text) = $0 { text } else { "" } }.joined(separator: "\n"))
            default: return nil
            }
        }
    }

    @Sendable static func remove(_ request: RouteRequest, _ site: Site) async throws -> Response {
        try await site.service.remove(request["name"] ?? "")
        return Response(status: .noContent)
    }

    @Sendable static func restart(_ request: RouteRequest, _ site: Site) async throws -> Response {
        try await site.service.restart(request["name"] ?? "")
        return Response(status: .noContent)
    }

    @Sendable static func stop(_ request: RouteRequest, _ site: Site) async throws -> Response {
        .json(json(try await site.service.stop(request["name"] ?? ""), StreamAddress.Reach(request, site)))
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

    static func json(_ stream: StreamStatus, _ reach: StreamAddress.Reach, note: String? = nil) -> JSON {
        [
            "name": .text(stream.name), "state": .text(stream.state.rawValue), "reason": .text(stream.reason),
            "input": .text(stream.input), "outputs": .list(stream.outputs.map(JSON.text)),
            "settings": .object(stream.settings.mapValues(JSON.text)),
            "process": .optional(stream.process) { .count($0) }, "restarts": .count(stream.restarts),
            "secondsRunning": .optional(stream.startedAt) { .number((MonotonicTime.now() - $0).seconds) },
            "addresses": .list(StreamAddress.all(of: stream, reach).map(\.json)), "fromFile": .bool(stream.isFromFile),
            "kept": .optional(stream.kept, JSON.text), "note": .optional(note, JSON.text),
        ]
    }

    static func json(_ caller: CallerStatus, _ now: MonotonicTime) -> JSON {
        [
            "id": .count(caller.id), "leg": .text(caller.leg), "peer": .text(caller.peer), "streamID": .text(caller.streamID),
            "secondsConnected": .optional(caller.connectedAt) { .number((now - $0).seconds) },
            "figures": StatisticsAnswers.json(caller.figures), "side": .text(caller.leg), "protocol": .text(caller.transport),
            "address": .text(caller.peer), "since": .optional(caller.since, JSON.number),
            "bitRate": .optional(caller.bitRate, JSON.number), "loss": .optional(caller.loss, JSON.number),
            "roundTrip": caller.figures.roundTripTime > .zero ? .number(caller.figures.roundTripTime.seconds) : .null,
            "freezes": .optional(caller.freezes) { .count($0) },
            "layer": .optional(caller.layer) { .text($0.rawValue) }, "capacity": .optional(caller.capacity, JSON.number),
        ]
    }

    static let schemas: [String: Schema] = [
        "Stream": .object(
            """
            A stream, without its secrets. `fromFile`: the configuration file names it, and says what it is again when the service starts. \
            `kept`: the file that keeps a stream of the API over restarts of the service. `note` says what becomes of a change at such a \
            restart, where it does not survive.
            """,
            [
                "name": .text(), "state": .choice(StreamStatus.State.allCases.map(\.rawValue)), "reason": .text(),
                "input": .text(),
                "outputs": .list(.text()), "settings": .map(.text()), "process": .nullable(.integer()),
                "restarts": .integer(0...Int64.max), "secondsRunning": .nullable(.number()),
                "addresses": .list(StreamAddress.schema), "fromFile": .bool, "kept": .nullable(.text()),
                "note": .nullable(.text()),
            ]),
        "NewStream": .object(
            "A stream to add. Input and output, or outputs, are URLs. Passphrases go in and never come out.",
            ["name": .text(pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", most: 64)].merging(ends) { first, _ in first },
            optional: places.filter { ends[$0.key] == nil }.merging(["settings": .named("Settings")]) { first, _ in first }),
        "StreamChange": .object(
            "What to change. All but settings needs a restart of the stream.", [:],
            optional: places.merging(["settings": .named("Settings")]) { first, _ in first }),
        "Settings": .object(
            "The settings of a stream, as in the configuration file. Null is the default.", [:],
            optional: Dictionary(StreamKeys.all.map { ($0.name, form(of: $0)) }) { first, _ in first }),
        "Setting": .object(
            "A setting of streams, and what it may be. `change` says when another value takes hold: live is between two frames.",
            [
                "name": .text(), "help": .text(), "allowed": .text(), "default": .text(),
                "change": .choice(StreamKey.Change.allCases.map(\.rawValue)),
            ], optional: ["choices": .list(.text()), "least": .number(), "most": .number()]),
        "Caller": .object(
            """
            A connection of a stream's input or of one of its outputs: an SRT peer, a publisher (WHIP) or a viewer (WHEP). `since` is in \
            seconds since 1970. `bitRate` (bits a second) and `loss` (0 to 1) are those of the last seconds. `freezes` is what a viewer tells \
            of itself (`PUT /whep/{name}/{call}/freezes`). `layer` is what a viewer gets: the enhanced pictures, those that were sent, or sound \
            alone; `capacity` is what their link carries, in bits a second. What is not known is null.
            """,
            [
                "id": .integer(0...Int64.max), "leg": .choice(["input", "output"]), "peer": .text(), "streamID": .text(),
                "secondsConnected": .nullable(.number()), "figures": .named("Leg"), "side": .choice(["input", "output"]),
                "protocol": .choice(["srt", "whip", "whep"]), "address": .text(), "since": .nullable(.number()),
                "bitRate": .nullable(.number()), "loss": .nullable(.number(0...1)), "roundTrip": .nullable(.number()),
                "freezes": .nullable(.integer(0...Int64.max)),
                "layer": .nullable(.choice(ViewerLayer.allCases.map(\.rawValue))), "capacity": .nullable(.number()),
            ]),
    ]

    /// Where a stream comes from and goes to, and with which passphrases.
    private static let places: [String: Schema] = Dictionary(
        StreamPlaceKeys.all.filter(\.isForAPI).map { key in
            (key.name, key.name == "outputs" ? .list(.text(most: 2048), atLeast: 1) : .text(most: 2048))
        }
    ) { first, _ in first }
    private static let ends = places.filter { $0.key == "input" }

    /// Numbers may come as text, too.
    private static func form(of key: StreamKey) -> Schema {
        let text = Schema.text(most: 64)
        return switch key.kind {
        case .choice(let choices) where choices.contains { Double($0) != nil }:
            .nullable(.either([.choice(choices), .number()]))
        case .choice(let choices): .nullable(.choice(choices))
        case .integer(let range): .nullable(.either([.integer(Int64(range.lowerBound)...Int64(range.upperBound)), text]))
        case .number(let range): .nullable(.either([.number(range), text]))
        case .time, .bitRate, .factor, .frameRate, .size: .nullable(.either([text, .number()]))
        // A list of several things, or a path.
        case .text: .nullable(.text(most: 8192))
        }
    }

    @Sendable static func settings(_ request: RouteRequest, _ site: Site) -> Response {
        .json([
            "settings": .list(
                StreamKeys.all.map { key in
                    var members: [String: JSON] = [
                        "name": .text(key.name), "help": .text(key.help), "allowed": .text(key.allowedTexts),
                        "default": .text(key.defaultText), "change": .text(key.change.rawValue),
                    ]
                    switch key.kind {
                    case .choice(let choices): members["choices"] = .list(choices.map(JSON.text))
                    case .integer(let range):
                        members["least"] = .count(range.lowerBound)
                        members["most"] = .count(range.upperBound)
                    case .number(let range):
                        members["least"] = .number(range.lowerBound)
                        members["most"] = .number(range.upperBound)
                    case .time, .bitRate, .factor, .frameRate, .size, .text: break
                    }
                    return .object(members)
                })
        ])
    }
}
