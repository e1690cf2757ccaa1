import Media
import Schedule

/// One closed frame: a line of a trace. Times that a frame does not have are nil. For example, an original that was dropped
/// before the decoder has no costs.
public struct TraceRecord: Hashable, Sendable {
    public var id: UInt64
    public var kind: FrameKind
    public var presentation: MediaTime
    /// When its last packet arrived; for a synthesised frame, the last packet of the original it came with.
    public var arrival: MonotonicTime
    public var origin: Origin?
    public var emitBy: MonotonicTime
    public var isKeyframe = false
    public var isReference = true
    /// How many synthesised frames were requested with it.
    public var asked = 0
    /// How many tiles were worth computing, and how many were computed.
    public var tilesWanted = 0
    public var tiles = 0
    public var tier = Tier.base
    /// The stream's rung on the ladder; 0 is the top.
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

extension TraceRecord {
    /// The trace line of a closed frame.
    public init(_ record: FrameRecord, _ fate: FrameFate) {
        let arrival = record[.lastPacket] ?? record[.planned] ?? MonotonicTime(nanoseconds: 0)
        self.init(
            id: record.id, kind: record.kind, presentation: record.presentation, arrival: arrival,
            emitBy: record.deadline ?? arrival)
        origin = record.sourceTime.map { Origin(.source, $0) } ?? Origin(.arrival, arrival)
        isKeyframe = record.isKeyframe
        isReference = record.isReference
        asked = Int(record.synthesisedRequested)
        tilesWanted = Int(record.tilesWanted)
        tiles = Int(record.tilesComputed)
        tier = Tier(rawValue: record.tier) ?? .base
        rung = Int(record.rung)
        decode = record.decodeTime
        if record.kind == .synthesised {
            synthesise = record.time(from: .enhanceIn, to: .enhanceOut)
        } else {
            base = record.baseTime
            tileTime = record.tileTime
        }
        encode = record.time(from: .encodeIn, to: .encodeOut)
        sent = record[.sent]
        self.fate = fate
    }
}
