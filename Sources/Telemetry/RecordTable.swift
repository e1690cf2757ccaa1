import Media
import Schedule

/// Frame records as comma-separated values: a header, then one frame a line. Times are nanoseconds of the monotonic clock; what
/// a frame does not have is empty.
public enum RecordTable {
    private static let facts = [
        "frame", "kind", "fate", "presentation_ticks", "epoch", "source_clock", "source_time_ns", "deadline_ns", "late_unit",
        "keyframe", "reference", "damaged", "tier", "rung", "tiles_wanted", "tiles_computed", "tiles_reused",
        "synthesised_requested", "decode_ns", "base_ns", "tiles_ns",
    ]

    public static var header: String { (facts + Stamp.allCases.map { $0.name + "_ns" }).joined(separator: ",") }

    public static func line(_ frame: ClosedFrame) -> String {
        let record = frame.record
        func text(_ time: MonotonicTime?) -> String { time.map { String($0.nanoseconds) } ?? "" }
        func text(_ time: Nanoseconds?) -> String { time.map { String($0.count) } ?? "" }
        func text(_ flag: Bool) -> String { flag ? "1" : "0" }
        let fields = [
            String(record.id), record.kind.name, frame.fate.name, String(record.presentation.ticks), String(record.epoch),
            String(record.sourceClock), text(record.sourceTime), text(record.deadline), text(record.isLateUnit),
            text(record.isKeyframe), text(record.isReference), text(record.isDamaged),
            Tier(rawValue: record.tier)?.name ?? "", String(record.rung), String(record.tilesWanted),
            String(record.tilesComputed), String(record.tilesReused), String(record.synthesisedRequested),
            text(record.decodeTime), text(record.baseTime), text(record.tileTime),
        ]
        return (fields + Stamp.allCases.map { text(record[$0]) }).joined(separator: ",")
    }

    public static func text(of frames: [ClosedFrame]) -> String {
        ([header] + frames.map(line)).joined(separator: "\n") + "\n"
    }
}
