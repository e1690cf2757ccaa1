import Media
import Schedule

/// What is wrong with a trace, and where.
public struct TraceError: Error, Hashable, CustomStringConvertible {
    /// From 1; the header is line 1.
    public var line: Int
    public var problem: String

    public var description: String { "line \(line): \(problem)" }
}

/// Reads and writes traces as text: comma-separated values with a header and one frame a line. Pure functions over strings;
/// nothing here opens a file. Times are nanoseconds of the recording machine's monotonic clock.
public enum Trace {
    private static let columns = [
        "id", "kind", "presentation", "arrival_ns", "origin", "origin_ns", "emit_by_ns", "keyframe", "reference",
        "asked",
        "tiles_wanted", "tiles", "tier", "rung", "decode_ns", "base_ns", "tiles_ns", "synthesise_ns", "encode_ns", "sent_ns",
        "fate",
    ]

    public static var header: String { columns.joined(separator: ",") }

    public static func line(_ record: TraceRecord) -> String {
        func text(_ value: Nanoseconds?) -> String { value.map { String($0.count) } ?? "" }
        func text(_ value: MonotonicTime?) -> String { value.map { String($0.nanoseconds) } ?? "" }
        let fields = [
            String(record.id), record.kind.name, String(record.presentation.ticks), text(record.arrival),
            record.origin?.kind.name ?? "", text(record.origin?.time), text(record.emitBy),
            record.isKeyframe ? "1" : "0", record.isReference ? "1" : "0", String(record.asked),
            String(record.tilesWanted), String(record.tiles), record.tier.name, String(record.rung), text(record.decode),
            text(record.base), text(record.tileTime), text(record.synthesise), text(record.encode), text(record.sent),
            record.fate.name,
        ]
        return fields.joined(separator: ",")
    }

    public static func write(_ records: some Sequence<TraceRecord>) -> String {
        ([header] + records.map(line)).joined(separator: "\n") + "\n"
    }

    public static func read(_ text: String) throws(TraceError) -> [TraceRecord] {
        var records: [TraceRecord] = []
        var number = 0
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            if number == 1 {
                guard line == header else {
                    throw TraceError(line: 1, problem: "this is no trace: its first line should be \(header)")
                }
            } else if !line.isEmpty {
                records.append(try Fields(line, number).record())
            }
        }
        if number == 0 || text.isEmpty { throw TraceError(line: 1, problem: "the trace is empty") }
        return records
    }

    /// The fields of one line.
    private struct Fields {
        let values: [Substring]
        let number: Int

        init(_ line: Substring, _ number: Int) throws(TraceError) {
            values = line.split(separator: ",", omittingEmptySubsequences: false)
            self.number = number
            guard values.count == columns.count else {
                throw TraceError(line: number, problem: "\(values.count) fields instead of \(columns.count)")
            }
        }

        func fault(_ column: Int) -> TraceError {
            TraceError(line: number, problem: "\(columns[column]) cannot be \"\(values[column])\"")
        }

        func integer<T: FixedWidthInteger>(
            _ column: Int, _ range: ClosedRange<T> = T.min...T.max
        ) throws(TraceError) -> T {
            guard let value = T(values[column]), range.contains(value) else { throw fault(column) }
            return value
        }

        func flag(_ column: Int) throws(TraceError) -> Bool { try integer(column, 0...1) == 1 }

        /// A time stamp of at most 73 years, so that the sums of a replay do not overflow.
        func time(_ column: Int) throws(TraceError) -> MonotonicTime {
            MonotonicTime(nanoseconds: try integer(column, 0...Int64.max / 4))
        }

        func cost(_ column: Int) throws(TraceError) -> Nanoseconds? {
            if values[column].isEmpty { return nil }
            return Nanoseconds(try integer(column, 0...1_000_000_000_000))
        }

        func record() throws(TraceError) -> TraceRecord {
            guard let kind = FrameKind.allCases.first(where: { $0.name == values[1] }) else { throw fault(1) }
            guard let tier = Tier(name: String(values[12])) else { throw fault(12) }
            var record = TraceRecord(
                id: try integer(0), kind: kind, presentation: MediaTime(ticks: try integer(2)), arrival: try time(3),
                emitBy: try time(6))
            if !values[4].isEmpty {
                guard let kind = Origin.Kind.allCases.first(where: { $0.name == values[4] }) else { throw fault(4) }
                record.origin = Origin(kind, try time(5))
            }
            record.isKeyframe = try flag(7)
            record.isReference = try flag(8)
            record.asked = try integer(9, 0...16)
            record.tilesWanted = try integer(10, 0...1_000_000)
            record.tiles = try integer(11, 0...1_000_000)
            record.tier = tier
            record.rung = try integer(13, 0...7)
            record.decode = try cost(14)
            record.base = try cost(15)
            record.tileTime = try cost(16)
            record.synthesise = try cost(17)
            record.encode = try cost(18)
            if !values[19].isEmpty { record.sent = try time(19) }
            guard let fate = FrameFate(name: values[20]) else { throw fault(20) }
            record.fate = fate
            return record
        }
    }
}
