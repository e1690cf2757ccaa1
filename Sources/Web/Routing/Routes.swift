import HTTPTypes
import Hummingbird

/// All that the interface does. A route belongs here and nowhere else: the router, the OpenAPI document and the tests follow.
enum Routes {
    static let all: [Route] =
        operating + streams + pictures + captures + reactions + changes + calls + [layer, freezes] + rooms + documents

    static let stream = Route.Parameter(
        name: "name", place: .path, about: "The stream's name.", schema: .text(most: 64))

    static let operating: [Route] = [
        Route(
            method: .get, path: "/livez", id: "live", summary: "Whether the service answers.", access: .open,
            success: .init(about: "It does.", content: [("text/plain", nil)]), answer: HealthAnswers.live),
        Route(
            method: .get, path: "/readyz", id: "ready", summary: "Whether all that is configured works.", access: .open,
            parameters: [
                .init(
                    name: "verbose", about: "A line for each check. Beyond loopback that needs the token.",
                    schema: .text(most: 5))
            ],
            success: .init(about: "It does.", content: [("text/plain", nil)]), problems: [.tokenNeeded],
            answer: HealthAnswers.ready),
        Route(
            method: .get, path: "/metrics", id: "metrics", summary: "All figures, for Prometheus.", access: .views,
            success: .init(
                about: "Prometheus text, or OpenMetrics where the request accepts it.",
                content: [("text/plain", nil), ("application/openmetrics-text", nil)]),
            answer: MetricsAnswers.metrics),
    ]

    static let streams: [Route] = [
        Route(
            method: .get, path: "/api/v1/health", id: "getHealth", summary: "The service as a whole.", access: .views,
            success: .json(.named("Health"), "How it is."), answer: HealthAnswers.health),
        Route(
            method: .get, path: "/api/v1/settings", id: "listSettings",
            summary: "What can be set for a stream, and within what limits.",
            access: .open, success: .json(.object("", ["settings": .list(.named("Setting"))]), "The settings."),
            answer: StreamAnswers.settings),
        Route(
            method: .get, path: "/api/v1/streams", id: "listStreams", summary: "All streams.", access: .views,
            success: .json(.object("", ["streams": .list(.named("Stream"))]), "The streams."), answer: StreamAnswers.list),
        Route(
            method: .get, path: "/api/v1/streams/{name}", id: "getStream", summary: "One stream.", access: .views,
            parameters: [stream], success: .json(.named("Stream"), "The stream."), answer: StreamAnswers.get),
        Route(
            method: .get, path: "/api/v1/streams/{name}/callers", id: "listCallers",
            summary: "Every SRT peer, publisher and viewer of a stream, with its figures.", access: .views,
            parameters: [stream],
            success: .json(.object("", ["callers": .list(.named("Caller"))]), "The connections."), problems: [.unavailable],
            answer: StreamAnswers.callers),
        Route(
            method: .get, path: "/api/v1/streams/{name}/statistics", id: "getStatistics",
            summary: "A stream's figures: books, latency of every stage, counters, both legs.", access: .views,
            parameters: [
                stream,
                .init(
                    name: "seconds", about: "`latency` and `stages` are those of the last so many seconds.",
                    schema: .number(0.1...30, fallback: 5)),
            ],
            success: .json(.nullable(.named("Statistics")), "The figures as they are now; null while there are none."),
            answer: StatisticsAnswers.statistics),
        Route(
            method: .get, path: "/api/v1/streams/{name}/history", id: "getHistory",
            summary: "A stream's last hour, as the service has kept it: a sample each ten seconds.", access: .views,
            parameters: [
                stream,
                .init(name: "seconds", about: "Those of the last so many seconds.", schema: .number(10...3600, fallback: 3600)),
            ],
            success: .json(.named("History"), "The samples."), answer: HistoryAnswers.history),
        Route(
            method: .get, path: "/api/v1/streams/{name}/records", id: "getRecords",
            summary: "The records of a stream's last frames, oldest first: what became of each, and when it passed each point.",
            access: .views,
            parameters: [
                stream,
                .init(name: "seconds", about: "Those of the last so many seconds.", schema: .number(0.1...60, fallback: 30)),
                .init(name: "format", about: "How to write them.", schema: .choice(["csv", "json"], fallback: "csv")),
            ],
            success: .init(
                about: "The records. Times are nanoseconds of the machine's monotonic clock.",
                content: [("text/csv", nil), ("application/json", .object("", ["records": .list(.named("Record"))]))]),
            answer: RecordAnswers.records),
        Route(
            method: .get, path: "/api/v1/streams/{name}/trace", id: "getTrace",
            summary: "The same records as a trace for https://ui.perfetto.dev: a track for each stage.", access: .views,
            parameters: [
                stream,
                .init(name: "seconds", about: "Those of the last so many seconds.", schema: .number(0.1...60, fallback: 30)),
            ],
            success: .init(about: "The trace.", content: [("application/octet-stream", nil)]), answer: RecordAnswers.trace),
    ]

    static let pictures: [Route] = [
        // Of two routes with the same form the first one answers.
        Route(
            method: .get, path: "/api/v1/streams/{name}/picture/best", id: "getBestPicture",
            summary:
                "The best picture of the last seconds of the past: a sharp, bright and steady one, as of `burnish thumbnails`.",
            access: .changes,
            parameters: [
                stream,
                .init(
                    name: "seconds", about: "How far back it may lie. Of the past, as far as `past` keeps it.",
                    schema: .number(1...600, fallback: 60)),
                .init(
                    name: "side", about: "Of what came in, or of what went out.",
                    schema: .choice(["before", "after"], fallback: "after")),
                .init(name: "width", about: "Its greatest width in pixels.", schema: .integer(16...3840, fallback: 3840)),
                .init(name: "format", about: "How it is written.", schema: .choice(["jpeg", "png"], fallback: "jpeg")),
            ],
            success: .init(
                about: "The picture.", content: [("image/jpeg", nil), ("image/png", nil)],
                headers: ["Burnish-Frame": "The number of its frame."]),
            problems: [.unavailable, .conflict], answer: PastAnswers.best),
        Route(
            method: .get, path: "/api/v1/streams/{name}/picture/{side}", id: "getPicture",
            summary:
                "The next picture as it came in, or as it goes out. With `at`, `frame` or `rtp`, one of the past: that needs the right to change streams.",
            access: .views,
            parameters: [
                stream,
                .init(name: "side", place: .path, about: "Which picture.", schema: .choice(["before", "after"])),
                .init(name: "width", about: "Its greatest width in pixels.", schema: .integer(16...3840, fallback: 960)),
                .init(
                    name: "at", about: "What was shown so long ago, as -2s. Of the past, as far as `past` keeps it.",
                    schema: .text(most: 16)),
                .init(
                    name: "frame", about: "The picture of the frame with this number in records and traces.",
                    schema: .integer(0...Int64.max)),
                .init(
                    name: "rtp", about: "The picture with this RTP time stamp: as it came in, or as a viewer of a call got it.",
                    schema: .integer(0...Int64(UInt32.max))),
                .init(
                    name: "quality",
                    about: "How a picture of the past is made. best is refused here: POST to the stream's stills makes it.",
                    schema: .choice(["fast", "best"], fallback: "fast")),
                .init(
                    name: "format", about: "How a picture of the past is written.",
                    schema: .choice(["jpeg", "png"], fallback: "jpeg")),
            ],
            success: .init(
                about: "The picture.", content: [("image/jpeg", nil), ("image/png", nil)],
                headers: ["Burnish-Frame": "The number of its frame; of pictures of the past."]),
            nothing: "There is no picture now: no source has come, or nobody receives the output.",
            problems: [.unavailable, .conflict, .invalid],
            answer: PastAnswers.picture),
        Route(
            method: .get, path: "/api/v1/events", id: "followEvents",
            summary: "What happens, as server-sent events; a client that returns gets what it missed, as far as it is kept.",
            access: .views,
            parameters: [
                .init(
                    name: "Last-Event-ID", place: .header, about: "The number of the last event that the client has.",
                    schema: .integer(0...Int64.max))
            ],
            success: .init(
                about: "Events without end. The data of each is JSON: number, time, stream, kind, text.",
                content: [("text/event-stream", nil)]),
            problems: [.unavailable], answer: EventAnswers.events),
    ]

    static let changes: [Route] = [
        Route(
            method: .post, path: "/api/v1/streams", id: "addStream",
            summary:
                "Adds a stream. Where the service has a state directory it survives restarts. The configuration file is not written.",
            access: .changes,
            body: .named("NewStream"),
            success: .json(
                .named("Stream"), "The new stream.", status: .created, headers: ["Location": "The stream's path."]),
            problems: [.exists, .refused, .unavailable, .noRoom], answer: StreamAnswers.add),
        Route(
            method: .patch, path: "/api/v1/streams/{name}", id: "changeStream",
            summary: "Changes settings of a stream. Null returns a setting to its default.", access: .changes,
            parameters: [
                stream,
                .init(
                    name: "restart", about: "Restart the stream where a setting cannot change while it runs.",
                    schema: .bool),
            ],
            body: .named("StreamChange"), bodyTypes: ["application/merge-patch+json"],
            success: .json(.named("Stream"), "The stream with its new settings."),
            problems: [.refused, .unavailable, .noRoom], answer: StreamAnswers.change),
        Route(
            method: .delete, path: "/api/v1/streams/{name}", id: "removeStream",
            summary: "Ends and removes a stream; one of the configuration file returns when the service starts again.",
            access: .changes,
            parameters: [stream], success: .init(status: .noContent, about: "It is gone."), answer: StreamAnswers.remove),
        Route(
            method: .post, path: "/api/v1/streams/{name}/restart", id: "restartStream", summary: "Restarts a stream.",
            access: .changes, parameters: [stream], success: .init(status: .noContent, about: "It restarts."),
            problems: [.unavailable], answer: StreamAnswers.restart),
        Route(
            method: .post, path: "/api/v1/streams/{name}/stop", id: "stopStream",
            summary: "Stops a stream until it is restarted. It keeps its settings.", access: .changes, parameters: [stream],
            success: .json(.named("Stream"), "The stream."), answer: StreamAnswers.stop),
        Route(
            method: .delete, path: "/api/v1/streams/{name}/callers/{id}", id: "kickCaller",
            summary: "Ends a connection of any kind. An SRT caller is refused for a while.", access: .changes,
            parameters: [
                stream,
                .init(
                    name: "id", place: .path, about: "The connection's number in the list of callers.",
                    schema: .integer(0...Int64.max)),
            ],
            success: .init(status: .noContent, about: "It is ended."), answer: StreamAnswers.kick),
        Route(
            method: .post, path: "/api/v1/reload", id: "reload",
            summary: "Reads the configuration again and applies the difference. A bad file changes nothing.", access: .changes,
            success: .init(status: .noContent, about: "It is applied."), problems: [.invalid, .unavailable, .noRoom],
            answer: StreamAnswers.reload),
        Route(
            method: .post, path: "/login", id: "logIn",
            summary: "Logs a browser in: gives it a cookie that stands for the token.", access: .open,
            body: .object("", ["token": .text(most: 256)]),
            success: .init(
                status: .noContent, about: "It is logged in.", headers: ["Set-Cookie": "The session, for 12 hours."]),
            problems: [.tokenNeeded], answer: SessionAnswers.open),
        Route(
            method: .post, path: "/logout", id: "logOut", summary: "Logs a browser out.", access: .open,
            success: .init(status: .noContent, about: "It is logged out.", headers: ["Set-Cookie": "Removes the cookie."]),
            answer: SessionAnswers.close),
    ]

    static let documents: [Route] =
        [
            Route(
                method: .get, path: "/api/v1/session", id: "getSession", summary: "What this client may do.", access: .open,
                success: .json(
                    .object(
                        "`pageAddress` is the page's HTTPS address for other machines; null where it has none.",
                        [
                            "needsToken": .bool, "isAuthorised": .bool, "mayChange": .bool, "mayView": .bool,
                            "pageAddress": .nullable(.text()),
                        ]),
                    "What it may do."),
                answer: SessionAnswers.get),
            Route(
                method: .get, path: "/api/v1/qr", id: "getQRCode",
                summary: "The page's HTTPS address for other machines as a QR code, so that a phone opens it.", access: .views,
                parameters: [
                    .init(name: "stream", about: "The stream that the page is to show.", schema: .text(most: 64))
                ],
                success: .init(
                    about: "The code, with the light squares that belong around it.", content: [("image/svg+xml", nil)],
                    headers: ["ETag": "Stands for the code."]),
                problems: [.notFound], answer: PageAnswers.code),
            Route(
                method: .get, path: "/api/v1/openapi.json", id: "getOpenAPI", summary: "This document.", access: .open,
                success: .init(about: "The document.", content: [("application/json", nil)]), answer: DocumentAnswers.openAPI),
        ]
        + Page.files.map { file in
            Route(
                method: .get, path: file.path,
                id: "page" + file.path.split(whereSeparator: { !$0.isLetter }).map(\.capitalized).joined(),
                summary: "A part of the page.", access: .open,
                success: .init(about: "Its content.", content: [(String(file.contentType.prefix { $0 != ";" }), nil)]),
                answer: DocumentAnswers.page(file))
        }

    /// Stills and clips.
    static let captures: [Route] = [
        Route(
            method: .post, path: "/api/v1/streams/{name}/stills", id: "makeStill",
            summary: "Makes a still of the past. It, or its proxy, is on the disk when the answer comes.", access: .changes,
            parameters: [stream], body: .named("NewStill"),
            success: .json(
                .named("Capture"), "The still.", status: .accepted, headers: ["Location": "The still's path."]),
            problems: [.unavailable, .conflict], answer: CaptureAnswers.makeStill),
        Route(
            method: .get, path: "/api/v1/streams/{name}/stills/{number}", id: "getStill", summary: "A still that was made.",
            access: .changes,
            parameters: [
                stream, number,
                .init(name: "wait", about: "How long to wait for the final one, as 5s; 60s at most.", schema: .text(most: 16)),
            ],
            success: .init(
                about: "The best there is of it.", content: [("image/jpeg", nil), ("image/png", nil)],
                headers: ["Burnish-Still": "proxy where a better one is to come, else final."]),
            problems: [.unavailable, .conflict, .invalid], answer: CaptureAnswers.still),
        Route(
            method: .get, path: "/api/v1/streams/{name}/deferred", id: "listDeferred",
            summary: "The stream's stills and clips that wait to be made well, in the order in which that is done.",
            access: .views, parameters: [stream],
            success: .json(.object("", ["deferred": .list(.named("DeferredCapture"))]), "What waits."),
            answer: CaptureAnswers.deferred),
        Route(
            method: .get, path: "/api/v1/streams/{name}/readiness", id: "getReadiness",
            summary: "Whether stills and clips can be made now. An event tells each change.", access: .views,
            parameters: [stream], success: .json(.named("Readiness"), "How it is."), answer: CaptureAnswers.readiness),
        Route(
            method: .post, path: "/api/v1/streams/{name}/clips", id: "makeClip",
            summary:
                "Begins to cut a clip of what was sent, from the keyframe before a time on. It may reach a minute into the future.",
            access: .changes, parameters: [stream], body: .named("NewClip"),
            success: .json(
                .named("Capture"), "The clip.", status: .accepted, headers: ["Location": "The clip's path."]),
            problems: [.unavailable, .conflict], answer: CaptureAnswers.makeClip),
        Route(
            method: .get, path: "/api/v1/streams/{name}/clips/{number}", id: "getClip", summary: "What has become of a clip.",
            access: .changes, parameters: [stream, number], success: .json(.named("Capture"), "The clip."),
            problems: [.unavailable, .conflict], answer: CaptureAnswers.clip),
        Route(
            method: .get, path: "/api/v1/streams/{name}/clips/{number}/file", id: "getClipFile", summary: "A clip's file.",
            access: .changes, parameters: [stream, number],
            success: .init(
                about: "The clip.", content: [("video/mp4", nil), ("video/mp2t", nil)],
                headers: ["Content-Disposition": "The name to keep it by."]),
            problems: [.unavailable, .conflict], answer: CaptureFile.clip),
    ]

    static let reactions: [Route] = [
        Route(
            method: .post, path: "/api/v1/streams/{name}/reactions", id: "react",
            summary: "Lets a reaction fly over the pictures that leave. At most 8 run at once.", access: .changes,
            parameters: [stream], body: .named("NewReaction"),
            success: .init(status: .accepted, about: "It begins with the next pictures."), problems: [.unavailable, .conflict],
            answer: ReactionAnswers.react),
        Route(
            method: .get, path: "/api/v1/streams/{name}/reactions", id: "listReactions",
            summary: "The kinds of reactions, and those that run.", access: .views, parameters: [stream],
            success: .json(.named("Reactions"), "Both."), answer: ReactionAnswers.reactions),
    ]

    private static let number = Route.Parameter(
        name: "number", place: .path, about: "Its number.", schema: .integer(1...(1 << 53)))

    static let schemas: [String: Schema] = StreamAnswers.schemas.merging(StatisticsAnswers.schemas) { first, _ in first }
        .merging(RecordAnswers.schemas) { first, _ in first }.merging(HealthAnswers.schemas) { first, _ in first }.merging(
            HistoryAnswers.schemas
        ) { first, _ in first }.merging(CaptureAnswers.schemas) { first, _ in first }
        .merging(ReactionAnswers.schemas) { first, _ in first }.merging(RoomAnswers.schemas) { first, _ in first }
}

extension Route.Success {
    static func json(
        _ schema: Schema, _ about: String, status: HTTPResponse.Status = .ok, headers: [String: String] = [:]
    ) -> Self {
        .init(status: status, about: about, content: [("application/json", schema)], headers: headers)
    }
}

extension Substring {
    fileprivate var capitalized: String { prefix(1).uppercased() + dropFirst() }
}
