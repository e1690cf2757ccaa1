import Control
import HTTPTypes
import Hummingbird
import Media
import Schedule
import Telemetry
import WorkerProtocol

/// The last frames: their records, and the next picture.
enum RecordAnswers {
    /// A column of the records.
    private struct Column: Sendable {
        var name: String
        var schema: Schema
        var read: @Sendable (ClosedFrame) -> JSON

        init(_ name: String, _ schema: Schema, _ read: @escaping @Sendable (ClosedFrame) -> JSON) {
            self.name = name
            self.schema = schema
            self.read = read
        }
    }

    private static let columns: [Column] =
        [
            Column("id", .integer(0...Int64.max)) { .count($0.record.id) },
            Column("kind", .text()) { .text("\($0.record.kind)") },
            Column("fate", .text()) { .text(name(of: $0.fate)) },
            Column("presentation_ticks", .integer()) { .integer($0.record.presentation.ticks) },
            Column("tier", .integer(0...255)) { .count($0.record.tier) },
            Column("rung", .integer(0...255)) { .count($0.record.rung) },
            Column("is_keyframe", .bool) { .bool($0.record.isKeyframe) },
            Column("is_damaged", .bool) { .bool($0.record.isDamaged) },
            Column("tiles_computed", .integer()) { .count($0.record.tilesComputed) },
            Column("tiles_reused", .integer()) { .count($0.record.tilesReused) },
            Column("tiles_wanted", .integer()) { .count($0.record.tilesWanted) },
            Column("source_time_ns", .nullable(.integer())) { .optional($0.record.sourceTime) { .integer($0.nanoseconds) } },
            Column("deadline_ns", .nullable(.integer())) { .optional($0.record.deadline) { .integer($0.nanoseconds) } },
        ]
        + Stamp.allCases.map { stamp in
            Column("\(stamp.name)_ns", .nullable(.integer())) { .optional($0.record[stamp]) { .integer($0.nanoseconds) } }
        }

    private static func name(of fate: FrameFate) -> String {
        switch fate {
        case .emitted: "emitted"
        case .dropped(let reason): reason.name
        }
    }

    @Sendable static func records(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let frames = try await site.service.records(of: request["name"] ?? "", last: request.number("seconds", or: 30))
        if request["format"] == "json" {
            return .json([
                "records": .list(
                    frames.map { frame in
                        .object(Dictionary(columns.map { ($0.name, $0.read(frame)) }) { first, _ in first })
                    })
            ])
        }
        var text = columns.map(\.name).joined(separator: ",") + "\n"
        for frame in frames { text += columns.map { cell($0.read(frame)) }.joined(separator: ",") + "\n" }
        return Response(
            status: .ok,
            headers: [.contentType: "text/csv; charset=utf-8", .contentDisposition: "attachment; filename=\"records.csv\""],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    /// None of the texts has a comma or a quote.
    private static func cell(_ json: JSON) -> String {
        switch json {
        case .integer(let number): "\(number)"
        case .bool(let value): value ? "1" : "0"
        case .text(let text): text
        case .null, .number, .list, .object: ""
        }
    }

    @Sendable static func picture(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let bytes = try await site.service.picture(
            of: request["name"] ?? "", side: request["side"] == "before" ? .before : .after,
            width: request.integer("width", or: 960))
        return Response(
            status: .ok, headers: [.contentType: "image/jpeg"], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    static let schemas: [String: Schema] = [
        "Record": .object(
            "A frame: what became of it and when it passed each point. Times are null where it did not.",
            Dictionary(columns.map { ($0.name, $0.schema) }) { first, _ in first })
    ]
}
