import Bitstream
import Media

/// What RTP packets carry, of what is read here.
public enum RTPPayloadFormat: UInt8, CaseIterable, Hashable, Sendable, BitwiseCopyable {
    /// RFC 6184, packetization mode 1 (mode 0 is a part of it).
    case h264
    /// RFC 7741.
    case vp8
    /// RFC 7587.
    case opus

    public var isVideo: Bool { self != .opus }

    var codec: StreamCodec {
        switch self {
        case .h264: .h264
        case .vp8: .vp8
        case .opus: .opus
        }
    }
}

/// A stream of RTP packets, as a session description announces it.
public struct RTPStreamDescription: Hashable, Sendable {
    /// Names the stream among those of the session, as a PID does in a program.
    public var id: Int
    /// The format that is expected. Packets say theirs.
    public var format: RTPPayloadFormat
    /// Of sound.
    public var channels: Int
    /// H.264's parameter sets where the description has them (`sprop-parameter-sets`), without start codes.
    public var parameterSets: [[UInt8]]

    public init(id: Int, format: RTPPayloadFormat, channels: Int = 2, parameterSets: [[UInt8]] = []) {
        self.id = id
        self.format = format
        self.channels = channels
        self.parameterSets = parameterSets
    }

    /// As a program map of a transport stream would describe it, so that it can go out in one.
    func elementaryStream(role: ElementaryStreamDescription.Role) -> ElementaryStreamDescription {
        var descriptors: [UInt8] = []
        if format == .opus {
            // Opus in MPEG-2 TS, as FFmpeg, GStreamer and OBS write it.
            descriptors = [0x05, 4] + Array("Opus".utf8) + [0x7f, 2, 0x80, UInt8(min(max(channels, 1), 2))]
        }
        return ElementaryStreamDescription(
            id: id, streamType: format == .h264 ? 0x1b : 0x06, codec: format.codec, role: role, descriptors: descriptors)
    }
}

/// What the transport knows of one RTP packet.
public struct RTPPacketFacts: Hashable, Sendable, BitwiseCopyable {
    /// ``RTPStreamDescription/id``
    public var stream: Int
    public var format: RTPPayloadFormat
    /// The RTP time stamp. Packets of one unit have the same.
    public var timestamp: UInt32
    /// The same on the timeline that all streams of the session share.
    public var presentation: MediaTime
    /// The last packet of a picture.
    public var isMarked: Bool
    /// How many of the stream's packets before this one have not come.
    public var lost: Int
    public var arrival: MonotonicTime
    /// When the sender sent it, on this machine's clock; nil where that is not known.
    public var sourceTime: MonotonicTime?

    public init(
        stream: Int, format: RTPPayloadFormat, timestamp: UInt32, presentation: MediaTime, isMarked: Bool, lost: Int = 0,
        arrival: MonotonicTime, sourceTime: MonotonicTime? = nil
    ) {
        self.stream = stream
        self.format = format
        self.timestamp = timestamp
        self.presentation = presentation
        self.isMarked = isMarked
        self.lost = lost
        self.arrival = arrival
        self.sourceTime = sourceTime
    }
}
