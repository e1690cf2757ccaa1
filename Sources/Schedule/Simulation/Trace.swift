import Media

/// What a relay knew of one frame in the end: a line of a trace. Times that a frame does not have are nil: an original
/// that was dropped before it was decoded has no costs.
public struct TraceRecord: Hashable, Sendable {
    public var id: UInt64
    public var kind: FrameKind
    public var presentation: MediaTime
    /// When its last packet arrived (for a synthesised frame: that of the original it came with).
    public var arrival: MonotonicTime
    public var origin: Origin?
    public var emitBy: MonotonicTime
    public var isKeyframe = false
    public var isReference = true
    /// Synthesised frames asked for with it.
    public var asked = 0
    /// Tiles that were worth computing, and those that were computed.
    public var tilesWanted = 0
    public var tiles = 0
    public var tier = Tier.base
    /// Where the stream stood on the ladder of sacrifices; 0 is the top.
    public var rung = 0
    public var decode: Nanoseconds?
    public var base: Nanoseconds?
    /// All its tiles together.
    public var tileTime: Nanoseconds?
    public var synthesise: Nanoseconds?
    public var encode: Nanoseconds?
    public var sent: MonotonicTime?
    public var fate = FrameFate.emitted

    public init(id: UInt64, kind: FrameKind, presentation: MediaTime, arrival: MonotonicTime, emitBy: MonotonicTime) {
        self.id = id
        self.kind = kind
        self.presentation = presentation
        self.arrival = arrival
        self.emitBy = emitBy
    }
}

/// What is wrong with a trace, and where.
public struct TraceError: Error, Hashable, CustomStringConvertible {
    /// From 1; the header is line 1.
    public var line: Int
    public var problem: String

    public var description: String { "line \(line): \(problem)" }
}

/// Traces as text: comma-separated values, a header, a frame a line. Pure functions over strings; nothing here opens a
/// file. Times are nanoseconds of the recording machine's monotonic clock.
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
        let fate =
            switch record.fate {
            case .emitted: "emitted"
            case .dropped(let reason): reason.name
            }
        let fields = [
            String(record.id), record.kind.name, String(record.presentation.ticks), text(record.arrival),
            record.origin?.kind.name ?? "", text(record.origin?.time), text(record.emitBy),
            record.isKeyframe ? "1" : "0", record.isReference ? "1" : "0", String(record.asked),
            String(record.tilesWanted), String(record.tiles), record.tier.name, String(record.rung), text(record.decode),
            text(record.base), text(record.tileTime), text(record.synthesise), text(record.encode), text(record.sent), fate,
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

    /// The fields of one line, read by their columns' names.
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

        /// Within 292 years either way, or the sums of a replay would overflow.
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
            if values[20] != "emitted" {
                guard let reason = DropReason.allCases.first(where: { $0.name == values[20] }) else { throw fault(20) }
                record.fate = .dropped(reason)
            }
            return record
        }
    }

    /// How the recorded originals fared, in order of arrival; times count from the first.
    public static func timeline(_ records: [TraceRecord]) -> [TimelinePoint] {
        let originals = records.filter { $0.kind == .original }.sorted { ($0.arrival, $0.id) < ($1.arrival, $1.id) }
        guard let first = originals.first?.arrival else { return [] }
        let synthesised = Set(records.filter { $0.kind == .synthesised && $0.fate == .emitted }.map(\.arrival))
        return originals.map { record in
            TimelinePoint(
                arrival: MonotonicTime(nanoseconds: (record.arrival - first).count),
                latency: record.fate == .emitted ? record.sent.map { $0 - record.arrival } : nil, tier: record.tier,
                tiles: record.tiles, rung: record.rung, synthesised: synthesised.contains(record.arrival) ? 1 : 0)
        }
    }

    /// On which side of their originals the recorded synthesised frames lie, those with which they arrived.
    public static func order(_ records: [TraceRecord]) -> SynthesisOrder {
        var originals: [MonotonicTime: MediaTime] = [:]
        for record in records where record.kind == .original { originals[record.arrival] = record.presentation }
        let synthesised = records.filter { $0.kind == .synthesised }
        let behind = synthesised.count { frame in originals[frame.arrival].map { $0 < frame.presentation } ?? false }
        return 2 * behind > synthesised.count ? .afterOriginal : .beforeOriginal
    }

    /// The recorded frames as a load to replay, in order of arrival. A cost that a frame does not have (it was dropped
    /// before that stage, or the tier was not in use) is the last one known, at first that of the seeds. Costs were
    /// measured on a machine that was doing the rest of the work too: a replay is a little pessimistic.
    public static func loads(_ records: [TraceRecord], like usual: Load = .usual("trace")) -> [FrameLoad] {
        var known = usual.costs
        let ratio = usual.costs.tileM / usual.costs.tileS
        var loads: [FrameLoad] = []
        for record in records.sorted(by: { ($0.arrival, $0.id) < ($1.arrival, $1.id) }) {
            func cost(_ value: Nanoseconds?, _ last: Double) -> Double {
                value.map { max(1, Double($0.count)) } ?? last
            }
            known.synthesise = cost(record.synthesise, known.synthesise)
            if record.kind == .synthesised {
                known.encodeSynthesised = cost(record.encode, known.encodeSynthesised)
            }
            if record.kind != .original { continue }
            known.decode = cost(record.decode, known.decode)
            known.base = cost(record.base, known.base)
            known.encode = cost(record.encode, known.encode)
            if record.tiles > 0, let time = record.tileTime {
                let tile = max(1, Double(time.count) / Double(record.tiles))
                known.tileS = record.tier == .neuralM ? tile / ratio : tile
                known.tileM = known.tileS * ratio
            }
            var load = known
            load.arrival = record.arrival
            load.emitBy = record.emitBy
            load.isKeyframe = record.isKeyframe
            load.isReference = record.isReference
            load.synthesised = record.asked
            load.tiles = record.tilesWanted
            loads.append(load)
        }
        return loads
    }
}
