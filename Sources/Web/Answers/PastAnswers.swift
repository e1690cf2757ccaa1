import Control
import HTTPTypes
import Hummingbird
import Media
import Settings
import WorkerProtocol

/// Pictures of a stream's past.
enum PastAnswers {
    /// The next picture, or one of the past where the query names one.
    @Sendable static func picture(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let arrival = MonotonicTime.now()
        guard let place = try place(in: request, now: arrival) else {
            if let key = ["quality", "format"].first(where: { request[$0] != nil }) {
                throw Problem(.invalid, key: key, "\(key) goes with at, frame or rtp: name a picture of the past")
            }
            return try await RecordAnswers.picture(request, site)
        }
        try site.access.checkAccess(request.request.head, .changes)
        try refuseBest(request["quality"], key: "quality")
        let format = StillFormat(rawValue: request["format"] ?? "") ?? .jpeg
        let still = try await site.service.still(
            of: request["name"] ?? "", side: request["side"] == "before" ? .before : .after, at: place, as: format,
            width: request.integer("width", or: 3840))
        return response(still, format)
    }

    /// The best picture of the last seconds.
    @Sendable static func best(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let start = MonotonicTime.now() - .seconds(request.number("seconds", or: 60))
        let format = StillFormat(rawValue: request["format"] ?? "") ?? .jpeg
        let still = try await site.service.still(
            of: request["name"] ?? "", side: request["side"] == "before" ? .before : .after,
            at: .best(since: start.nanoseconds), as: format, width: request.integer("width", or: 3840))
        return response(still, format)
    }

    private static func response(_ still: Still, _ format: StillFormat) -> Response {
        Response(
            status: .ok, headers: [.contentType: "image/\(format.rawValue)", .burnishFrame: "\(still.frame ?? 0)"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: still.bytes)))
    }

    static func refuseBest(_ quality: String?, key: String) throws(Problem) {
        if quality == "best" {
            throw Problem(.conflict, key: key, "best is made later, on the disk: ask for it by POST to the stream's stills")
        }
    }

    /// The picture that a query names; nil where it names none.
    private static func place(in request: RouteRequest, now: MonotonicTime) throws(Problem) -> StillPlace? {
        let given = ["at", "frame", "rtp"].filter { request[$0] != nil }
        guard let key = given.first else { return nil }
        guard given.count == 1 else {
            throw Problem(.invalid, key: given[1], "\(given.joined(separator: " and ")) name one picture each: give one")
        }
        let text = request[key] ?? ""
        switch key {
        case "frame": return UInt64(text).map { .frame($0) }
        case "rtp": return UInt32(text).map { .rtp($0) }
        default:
            guard let time = PastTime.read(text) else { throw Problem(.invalid, key: "at", PastTime.wanted("at")) }
            return .time((now + time).nanoseconds)
        }
    }
}

extension HTTPField.Name {
    static let burnishFrame = Self("Burnish-Frame")!
}
