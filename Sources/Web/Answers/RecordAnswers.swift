import Control
import HTTPTypes
import Hummingbird
import Media
import Telemetry
import WorkerProtocol

/// The last frames: their records, and the next picture.
enum RecordAnswers {
    private static let columns = RecordTable.header.split(separator: ",").map(String.init)
    /// The columns that hold text. All others are whole numbers.
    private static let texts: Set<String> = ["kind", "fate", "tier"]

    private static func frames(_ request: RouteRequest, _ site: Site) async throws -> [ClosedFrame] {
        try await site.service.records(of: request["name"] ?? "", last: request.number("seconds", or: 30))
    }

    @Sendable static func records(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let frames = try await frames(request, site)
        if request["format"] == "json" { return .json(["records": .list(frames.map(json))]) }
        return Response(
            status: .ok,
            headers: [.contentType: "text/csv; charset=utf-8", .contentDisposition: "attachment; filename=\"records.csv\""],
            body: ResponseBody(byteBuffer: ByteBuffer(string: RecordTable.text(of: frames))))
    }

    private static func json(_ frame: ClosedFrame) -> JSON {
        let cells = RecordTable.line(frame).split(separator: ",", omittingEmptySubsequences: false)
        return .object(
            Dictionary(
                zip(columns, cells).map { name, cell in
                    (name, texts.contains(name) ? .text(String(cell)) : .optional(Int64(cell)) { .integer($0) })
                }
            ) { first, _ in first })
    }

    @Sendable static func trace(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let name = request["name"] ?? ""
        let frames = try await frames(request, site)
        let snapshot = try await site.service.snapshot(of: name)
        let bytes = PerfettoTrace.bytes(
            of: frames, name: name, process: snapshot?.process ?? 0, wallOffset: snapshot?.wallOffset ?? .zero)
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/octet-stream",
                .contentDisposition: "attachment; filename=\"burnish.perfetto-trace\"",
            ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    @Sendable static func picture(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let bytes = try await site.service.picture(
            of: request["name"] ?? "", side: request["side"] == "before" ? .before : .after,
            width: request.integer("width", or: 960))
        guard let bytes else { return Response(status: .noContent) }
        return Response(
            status: .ok, headers: [.contentType: "image/jpeg"], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    static let schemas: [String: Schema] = [
        "Record": .object(
            "A frame: what became of it and when it passed each point. What it does not have is null.",
            Dictionary(columns.map { ($0, texts.contains($0) ? .text() : .nullable(.integer())) }) { first, _ in first })
    ]
}
