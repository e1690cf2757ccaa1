import Media
import Schedule

/// The points at which a frame's record gets a time stamp, in the order in which a frame passes them.
public enum Stamp: Int, CaseIterable, Sendable {
    /// The first packet of its access unit was received.
    case firstPacket
    /// The last packet of its access unit was received. The relay's own latency begins here.
    case lastPacket
    /// The demuxer knew that the access unit was complete.
    case complete
    case decodeIn
    case decodeOut
    /// The scheduler made its plan.
    case planned
    case enhanceIn
    case enhanceOut
    case encodeIn
    case encodeOut
    /// Its last byte was handed to the output.
    case sent

    /// The name in traces and reports.
    public var name: String {
        switch self {
        case .firstPacket: "first_packet"
        case .lastPacket: "last_packet"
        case .complete: "complete"
        case .decodeIn: "decode_in"
        case .decodeOut: "decode_out"
        case .planned: "planned"
        case .enhanceIn: "enhance_in"
        case .enhanceOut: "enhance_out"
        case .encodeIn: "encode_in"
        case .encodeOut: "encode_out"
        case .sent: "sent"
        }
    }
}

/// All that is known of one frame. It is plain memory that travels with the frame. Latency figures, reports and traces are
/// computed from this record; nothing else measures.
public struct FrameRecord: Sendable, BitwiseCopyable {
    /// A number that counts the stream's frames of every kind, in the order in which they were opened.
    public var id: UInt64
    public var kind: FrameKind
    public var presentation: MediaTime
    /// Counts the source's clocks. Nothing is synthesised between frames with different clocks.
    public var epoch: UInt32 = 0
    /// Counts the senders and the clocks of each sender. Estimates from one clock do not hold for the next.
    public var sourceClock: UInt32 = 0
    /// The number of the privacy mask that its picture has (``Relay``'s live settings count them). 0 is that of a picture that nobody
    /// has masked.
    public var maskNumber = 0
    /// When the sender made it, on this machine's clock; nil where the input has no source times. Its deadline counts from it.
    public var sourceTime: MonotonicTime?
    /// When it should be emitted.
    public var deadline: MonotonicTime?
    /// How much later than its own time its deadline counts from, because it came earlier than its presentation time asks.
    public var earliness = Nanoseconds.zero
    /// Set for a frame without a time stamp of its own, in a stream that is reordered: how many ticks it is shown after the
    /// frame before it. Its presentation time is set when it is decoded.
    public var untimedStep: Int64?
    /// The relay knew the end of its access unit, or of the unit of the original it came with, only when the next one began or
    /// the source ended. Or the decoder gave it only because the source had ended.
    public var isLateUnit = false
    public var isKeyframe = false
    /// Other pictures may refer to it. Known after decoding.
    public var isReference = true
    /// Data of its access unit was missing, or the decoder concealed errors in it.
    public var isDamaged = false
    /// The super-resolution tier (the raw value of ``Tier``).
    public var tier: UInt8 = 0
    /// The stream's rung on the ladder when this frame was planned; 0 is the top.
    public var rung: UInt8 = 0
    /// How many tiles were computed, and how many were copied from the frame before.
    public var tilesComputed: Int32 = 0
    public var tilesReused: Int32 = 0
    /// How many tiles were worth computing, and how many synthesised frames were requested with this one.
    public var tilesWanted: Int32 = 0
    public var synthesisedRequested: Int32 = 0
    /// How long the decoder worked on its access unit. The decoding stamps also include the wait for its turn to be shown.
    public var decodeTime: Nanoseconds?
    /// How long the base upscale and the tiles took; nil for work that was not done.
    public var baseTime: Nanoseconds?
    public var tileTime: Nanoseconds?

    /// One time for each raw value of ``Stamp``, in nanoseconds; `.min` where there is none. Its length must be the number of
    /// stamps; `TelemetryTests` checks it.
    private var stamps: InlineArray<11, Int64> = .init(repeating: .min)

    public init(id: UInt64, kind: FrameKind, presentation: MediaTime) {
        self.id = id
        self.kind = kind
        self.presentation = presentation
    }

    /// The time of a stamp; nil where the frame has not passed that point.
    public subscript(stamp: Stamp) -> MonotonicTime? {
        get { stamps[stamp.rawValue] == .min ? nil : MonotonicTime(nanoseconds: stamps[stamp.rawValue]) }
        set { stamps[stamp.rawValue] = newValue?.nanoseconds ?? .min }
    }

    /// The number of stamps, and a stamp's nanoseconds as they lie in the record (`.min` where there is none), for the
    /// telemetry map.
    static let stampCount = 11
    @inline(__always) func nanoseconds(ofStamp number: Int) -> Int64 { stamps[number] }

    /// The time from one stamp to another; nil unless the frame has both.
    public func time(from: Stamp, to: Stamp) -> Nanoseconds? {
        guard let a = self[from], let b = self[to] else { return nil }
        return b - a
    }
}
