import Control
import HTTPTypes
import Hummingbird
import Media
import Settings
import WorkerProtocol

/// Stills and clips of streams, on the service's disk.
enum CaptureAnswers {
    @Sendable static func makeStill(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let now = MonotonicTime.now()
        let name = request["name"] ?? ""
        let place = try place(in: request, now: now)
        let side: PictureSide = text("side", request) == "before" ? .before : .after
        let format = StillFormat(rawValue: text("format", request) ?? "") ?? .jpeg
        let capture =
            text("quality", request) == "best"
            ? try await site.service.makeBestStill(of: name, side: side, at: place, as: format, width: 3840)
            : try await site.service.makeStill(of: name, side: side, at: place, as: format, width: 3840)
        return accepted(capture, "/api/v1/streams/\(PercentCoding.encode(name))/stills/\(capture.number)")
    }

    @Sendable static func still(_ request: RouteRequest, _ site: Site) async throws -> Response {
        var wait = Nanoseconds.zero
        if let text = request["wait"] {
            guard let time = TimeText.read(text), time <= longestWait else {
                throw Problem(.invalid, key: "wait", "wait is a time up to 60s, as 5s")
            }
            wait = time
        }
        let (still, isProxy) = try await site.service.bestStill(
            request.integer("number", or: 0), of: request["name"] ?? "", wait: wait)
        let isJPEG = still.bytes.starts(with: [0xFF, 0xD8])
        return Response(
            status: .ok,
            headers: [
                .contentType: isJPEG ? "image/jpeg" : "image/png", .burnishStill: isProxy ? "proxy" : "final",
                .cacheControl: "no-store",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: still.bytes)))
    }

    private static let longestWait = Nanoseconds.seconds(60)

    @Sendable static func deferred(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let list = try await site.service.deferred(of: request["name"] ?? "")
        return .json([
            "deferred": .list(
                list.map { item in
                    [
                        "kind": .text(item.kind.rawValue), "number": .count(item.number), "state": .text(item.state.rawValue),
                        "bytes": .integer(item.bytes), "seconds": .number(item.age), "position": .count(item.position),
                    ]
                })
        ])
    }

    @Sendable static func readiness(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let now = try await site.service.readiness(of: request["name"] ?? "")
        return .json([
            "still": .text(now.still.rawValue), "best": .text(now.best.rawValue), "clip": .text(now.clip.rawValue),
            "waiting": .count(now.waiting),
        ])
    }

    @Sendable static func makeClip(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let now = MonotonicTime.now()
        let name = request["name"] ?? ""
        if text("side", request) == "before" {
            throw Problem(.conflict, key: "side", "clips of what came in are not made yet: ask for after")
        }
        func time(_ key: String, or fallback: Nanoseconds) throws(Problem) -> MonotonicTime {
            guard let text = text(key, request) else { return now + fallback }
            guard let time = PastTime.read(text) else { throw Problem(.invalid, key: key, PastTime.wanted(key)) }
            return now + time
        }
        let (from, to) = (try time("from", or: .zero), try time("to", or: .zero))
        let format = ClipFormat(rawValue: text("format", request) ?? "") ?? .mp4
        let capture =
            text("quality", request) == "best"
            ? try await site.service.makeBestClip(of: name, from: from, to: to, as: format)
            : try await site.service.makeClip(of: name, from: from, to: to, as: format)
        return accepted(capture, "/api/v1/streams/\(PercentCoding.encode(name))/clips/\(capture.number)")
    }

    @Sendable static func clip(_ request: RouteRequest, _ site: Site) async throws -> Response {
        .json(json(try await site.service.clip(request.integer("number", or: 0), of: request["name"] ?? "")))
    }

    /// The picture that a body names.
    private static func place(in request: RouteRequest, now: MonotonicTime) throws(Problem) -> StillPlace {
        let given = ["at", "frame", "rtp"].filter { request.body?[$0] != nil }
        guard given.count == 1 else { throw Problem(.invalid, key: "at", "name one picture: at, frame or rtp") }
        switch request.body?[given[0]] {
        case .text(let text)?:
            guard let time = PastTime.read(text) else { throw Problem(.invalid, key: "at", PastTime.wanted("at")) }
            return .time((now + time).nanoseconds)
        case .integer(let number)?:
            // Their forms hold within these limits.
            return given[0] == "frame" ? .frame(UInt64(clamping: number)) : .rtp(UInt32(clamping: number))
        default: throw Problem(.invalid, key: given[0], "\(given[0]) is a whole number")
        }
    }

    private static func text(_ key: String, _ request: RouteRequest) -> String? {
        if case .text(let text)? = request.body?[key] { text } else { nil }
    }

    private static func accepted(_ capture: Capture, _ path: String) -> Response {
        .json(json(capture), status: .accepted, headers: [.location: path])
    }

    private static func json(_ capture: Capture) -> JSON {
        [
            "number": .count(capture.number), "kind": .text(capture.kind.rawValue), "state": .text(capture.state.rawValue),
            "file": .text(capture.path), "bytes": .integer(capture.bytes), "frame": .optional(capture.frame) { .count($0) },
            "reason": .text(capture.reason), "late": .optional(capture.late, JSON.number),
        ]
    }

    static let schemas: [String: Schema] = [
        "Capture": .object(
            "A still or a clip. `file` is there once it is ready. `frame` is the number of a still's frame. `late` is how many seconds later than asked a clip begins, as the past goes back no further.",
            [
                "number": .integer(1...(1 << 53)), "kind": .choice(Capture.Kind.allCases.map(\.rawValue)),
                "state": .choice(Capture.State.allCases.map(\.rawValue)), "file": .text(), "bytes": .integer(0...Int64.max),
                "frame": .nullable(.integer(0...Int64.max)), "reason": .text(),
                "late": .nullable(.number()),
            ]),
        "DeferredCapture": .object(
            "What is to be made well. `position` counts those of all streams that are made before it.",
            [
                "kind": .choice(Capture.Kind.allCases.map(\.rawValue)), "number": .integer(1...(1 << 53)),
                "state": .choice(DeferredCapture.State.allCases.map(\.rawValue)), "bytes": .integer(0...Int64.max),
                "seconds": .number(), "position": .integer(0...(1 << 53)),
            ]),
        "Readiness": .object(
            "Of stills, of those with `quality` best, and of clips. `waiting` of the stream's wait to be made well.",
            [
                "still": readinessState, "best": readinessState, "clip": readinessState, "waiting": .integer(0...(1 << 53)),
            ]),
        "NewStill": .object(
            "Which picture: `at` (as -2s), `frame` or `rtp`. `side` is after, unless it says otherwise. With `quality` best the answer's file is a proxy, and a better one takes its place later.",
            [:],
            optional: [
                "at": .text(most: 16), "frame": .integer(0...Int64.max), "rtp": .integer(0...Int64(UInt32.max)),
                "side": .choice(PictureSide.allCases.map(\.rawValue)), "quality": .choice(["fast", "best"]),
                "format": .choice(StillFormat.allCases.map(\.rawValue)),
            ]),
        "NewClip": .object(
            "From when to when, as -20s and 5s; what is left out is now. `format` is mp4, unless it says otherwise. With `quality` best it is made anew of what came in, later.",
            [:],
            optional: [
                "from": .text(most: 16), "to": .text(most: 16), "side": .choice(PictureSide.allCases.map(\.rawValue)),
                "quality": .choice(["sent", "best"]), "format": .choice(ClipFormat.allCases.map(\.rawValue)),
            ]),
    ]
}

private let readinessState = Schema.choice(CaptureReadiness.State.allCases.map(\.rawValue))

extension HTTPField.Name {
    static let burnishStill = Self("Burnish-Still")!
}
