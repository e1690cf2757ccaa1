import Bitstream
import Media

/// One unit of an elementary stream: an access unit of the main video, or the payload of one PES packet of another
/// stream.
@safe public struct StreamUnit {
    /// What is wrong with a unit.
    public struct Damage: OptionSet, Sendable, BitwiseCopyable {
        public let rawValue: UInt8
        @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Packets of it are missing, were marked as broken, or were scrambled.
        public static let packetsLost = Damage(rawValue: 1)
        /// It follows a torn unit, and no keyframe has come since.
        public static let followsTorn = Damage(rawValue: 2)
        /// The stream ended before the unit was known to be complete.
        public static let truncated = Damage(rawValue: 4)
    }

    /// Names the stream within its program: the PID.
    public let stream: Int
    public let isMainVideo: Bool
    /// The main video's format; nil where it cannot be decoded, and for a unit of another stream.
    public let codec: VideoCodec?
    /// Counts the units of this stream from 0.
    public let serial: Int
    /// The unit; valid only until the handler returns.
    @unsafe public let bytes: UnsafeRawBufferPointer
    /// The header of the PES packet that it came in, as it was there; empty where there was none, and for access units. Valid as
    /// long as the bytes.
    @unsafe public var header = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// Nil for what has no stamp of its own: the second and later pictures of one PES packet (ISO/IEC 13818-1,
    /// 2.4.3.7).
    public let presentation: MediaTime?
    public let decode: MediaTime?
    /// When the message with its first packet arrived.
    public let firstArrival: MonotonicTime
    /// When the last of the messages with its packets arrived.
    public let lastArrival: MonotonicTime
    /// When the sender sent the message with its last packet, on this machine's clock; nil where that is not known.
    public let lastSourceTime: MonotonicTime?
    /// A decoder can begin here: an IDR, CRA or BLA picture, one with a recovery point message, or in MPEG video an intra
    /// picture with its sequence header.
    public let isKeyframe: Bool
    public let damage: Damage
    public let evidence: EndEvidence
    /// The stream's newest parameter sets, the unit's own among them; nil where no decoder can begin.
    public let parameterSets: KeptParameterSets?

    public var isDamaged: Bool { !damage.isEmpty }

    /// A decoder can begin here, and a parameter set of each kind that it needs has come.
    public var isStart: Bool {
        guard isKeyframe, let codec, let parameterSets else { return isKeyframe }
        return parameterSets.suffice(for: codec)
    }
}
