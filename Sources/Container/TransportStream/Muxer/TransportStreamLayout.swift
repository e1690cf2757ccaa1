import Media

/// The program that a transport stream carries out: at most one video stream and any number of streams passed through. Other
/// programs may go out beside it (``Multiplex``), and then its number and packet identifiers are the multiplex's.
public struct TransportStreamLayout: Hashable, Sendable {
    /// The video stream as the program map describes it.
    public struct Video: Hashable, Sendable {
        /// ISO/IEC 13818-1 table 2-34 (0x1b: H.264, 0x24: HEVC, 0x02: MPEG-2, 0x06: private).
        public var streamType: UInt8
        /// The elementary stream's descriptors: tag, length, bytes, and so on.
        public var descriptors: [UInt8]

        public init(streamType: UInt8, descriptors: [UInt8] = []) {
            self.streamType = streamType
            self.descriptors = descriptors
        }

        /// What it is, as far as that is known.
        public var codec: StreamCodec { StreamCodec(streamType: streamType, descriptors: descriptors) }

        public static let h264 = Video(streamType: 0x1b)

        /// Of pictures that an encoder makes.
        public init(_ codec: OutputCodec) {
            switch codec {
            case .h264: self = .h264
            case .hevc: self.init(streamType: 0x24)
            }
        }

        /// The `stream_id` of its PES packets: private formats have their own.
        var streamID: UInt8 { streamType == 0x06 ? 0xbd : 0xe0 }
    }

    /// An elementary stream whose PES payloads go out as they came in.
    public struct PassedStream: Hashable, Sendable {
        /// ISO/IEC 13818-1 table 2-34, as in the input's program map (0x0f: AAC in ADTS, 0x03/0x04: MPEG audio,
        /// 0x06: private, such as Opus).
        public var streamType: UInt8
        /// The elementary stream's descriptors, as in the input's program map: tag, length, bytes, and so on.
        public var descriptors: [UInt8]
        /// The `stream_id` of PES packets that have no header of their own (0xc0 for audio, 0xe1 for video, 0xbd for private
        /// streams).
        public var streamID: UInt8
        /// The packet identifier that it is to have where that is free; nil for the next one behind the video's.
        public var pid: UInt16?

        public init(streamType: UInt8, descriptors: [UInt8] = [], streamID: UInt8 = 0xc0, pid: UInt16? = nil) {
            self.streamType = streamType
            self.descriptors = descriptors
            self.streamID = streamID
            self.pid = pid
        }

        /// What it carries, as far as that is known.
        public var codec: StreamCodec { StreamCodec(streamType: streamType, descriptors: descriptors) }

        /// Video, whose packets may be longer than their length could say.
        var isVideo: Bool { streamID & 0xf0 == 0xe0 || codec.isVideo }

        /// AAC in ADTS frames.
        public static let aac = PassedStream(streamType: 0x0f)
    }

    /// Nil for a program without video.
    public var video: Video? = .h264
    public var hasVideo: Bool { video != nil }
    public var passedStreams: [PassedStream] = []
    /// The program's own descriptors, as in the input's program map: tag, length, bytes, and so on.
    public var programDescriptors: [UInt8] = []
    static let transportStreamID: UInt16 = 1
    let programNumber: UInt16 = 1
    /// The video stream's packet identifier where there is no other program.
    public let videoPID: UInt16 = 0x100
    public let mapPID: UInt16 = 0x1000
    /// How far the program clock runs behind the video's decode times, in 90 kHz ticks. A receiver that follows the
    /// clock has this much time between a unit's arrival and its decoding, and streams may lag behind the video by as
    /// much.
    let clockLead: Int64 = 4500

    public init() {}

    /// The place among the muxer's continuity counters of the stream with the clock: the video's, or else the first passed
    /// stream's.
    var clockPlace: Int { video == nil && !passedStreams.isEmpty ? 3 : 2 }

    /// The packet identifier of a passed stream, where it is free.
    public func pid(ofPassedStream index: Int) -> UInt16 {
        (passedStreams.indices.contains(index) ? passedStreams[index].pid : nil) ?? videoPID + 1 + UInt16(index)
    }
}

/// Where a transport stream ended: what its receivers have seen last, for a muxer that goes on.
public struct MultiplexEnd: Hashable, Sendable {
    /// The last continuity counter (0 to 15) of each packet identifier.
    public var counters: [UInt16: UInt8]
    /// Of both tables, 0 to 31.
    public var tableVersion: UInt8

    public init(counters: [UInt16: UInt8] = [:], tableVersion: UInt8 = 0) {
        self.counters = counters
        self.tableVersion = tableVersion
    }
}
