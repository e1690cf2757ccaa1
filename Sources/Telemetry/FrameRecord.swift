import Media
import Schedule

/// The points at which a frame's record is stamped, in the order in which a frame meets them.
public enum Stamp: Int, CaseIterable, Sendable {
    /// The first packet of its access unit was received.
    case firstPacket
    /// The last packet of its access unit was received: where the relay's own latency begins.
    case lastPacket
    /// The demuxer knew that the access unit was complete.
    case complete
    case decodeIn
    case decodeOut
    /// The schedule decided about it.
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

/// All that is known of one frame: plain memory that travels with it. Latency figures, reports and traces are views of
/// this record; nothing else measures.
public struct FrameRecord: Sendable, BitwiseCopyable {
    /// Counts the stream's frames of every kind, in the order in which they came to be.
    public var id: UInt64
    public var kind: FrameKind
    public var presentation: MediaTime
    /// Counts the source's clocks: nothing lies between frames of different ones.
    public var epoch: UInt32 = 0
    /// Counts the senders, and the clocks that one sender's times were told by: what was learnt of one is void for the next.
    public var sourceClock: UInt32 = 0
    /// When the sender made it, on this machine's clock, where the input tells; what deadlines are counted from.
    public var sourceTime: MonotonicTime?
    /// When it should be emitted.
    public var deadline: MonotonicTime?
    /// Set where it came without a time stamp of its own and not in the order in which it is shown: how many ticks it is
    /// shown after the one before it. Its presentation time is settled when it is decoded.
    public var untimedStep: Int64?
    /// Its access unit, or that of the original it came with, was known to be whole only when the next one began.
    public var isLateUnit = false
    public var isKeyframe = false
    /// Other pictures may refer to it; known once it is decoded.
    public var isReference = true
    /// Data of its access unit was missing, or the decoder concealed errors in it.
    public var isDamaged = false
    /// The super-resolution tier (`Schedule`'s raw value) and how many of its tiles were computed and reused.
    public var tier: UInt8 = 0
    /// Where the stream stood on the ladder of sacrifices when this frame was planned; 0 is the top.
    public var rung: UInt8 = 0
    public var tilesComputed: Int32 = 0
    public var tilesReused: Int32 = 0
    /// Tiles that would have been worth computing, and synthesised frames that were asked for with this one.
    public var tilesWanted: Int32 = 0
    public var synthesisedRequested: Int32 = 0
    /// What the decoder was at work on its access unit; the stamps of decoding contain the wait for its turn to be shown.
    public var decodeTime: Nanoseconds?
    /// What the complete cheap upscale and the tiles took; nil for what was not done.
    public var baseTime: Nanoseconds?
    public var tileTime: Nanoseconds?

    private var stamps: InlineArray<11, Int64> = .init(repeating: .min)

    public init(id: UInt64, kind: FrameKind, presentation: MediaTime) {
        self.id = id
        self.kind = kind
        self.presentation = presentation
    }

    /// The time of a stamp, or nil where the frame has not been there.
    public subscript(stamp: Stamp) -> MonotonicTime? {
        get { stamps[stamp.rawValue] == .min ? nil : MonotonicTime(nanoseconds: stamps[stamp.rawValue]) }
        set { stamps[stamp.rawValue] = newValue?.nanoseconds ?? .min }
    }

    /// The time from one stamp to another, where the frame has both.
    public func time(from: Stamp, to: Stamp) -> Nanoseconds? {
        guard let a = self[from], let b = self[to] else { return nil }
        return b - a
    }
}
