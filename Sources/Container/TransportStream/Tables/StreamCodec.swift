import Bitstream
import Media

/// What a stream of a program carries, as far as its program map, or the description of an RTP session, says.
public enum StreamCodec: Hashable, Sendable {
    case h264, hevc, av1, vp8, vvc, mpeg1Video, mpeg2Video, mpeg4Video, vc1, avs, jpeg2000
    case aacADTS, aacLATM, opus, mpegAudio, ac3, eac3, dts
    case subtitles, teletext, privateData, sections
    case unknown(streamType: UInt8)

    public init(_ codec: OutputCodec) {
        switch codec {
        case .h264: self = .h264
        case .hevc: self = .hevc
        }
    }

    /// The name for reports and error messages.
    public var name: String {
        switch self {
        case .h264: "H.264"
        case .hevc: "HEVC"
        case .av1: "AV1"
        case .vp8: "VP8"
        case .vvc: "VVC"
        case .mpeg1Video: "MPEG-1 video"
        case .mpeg2Video: "MPEG-2 video"
        case .mpeg4Video: "MPEG-4 video"
        case .vc1: "VC-1"
        case .avs: "AVS"
        case .jpeg2000: "JPEG 2000"
        case .aacADTS: "AAC (ADTS)"
        case .aacLATM: "AAC (LATM)"
        case .opus: "Opus"
        case .mpegAudio: "MPEG audio"
        case .ac3: "AC-3"
        case .eac3: "E-AC-3"
        case .dts: "DTS"
        case .subtitles: "DVB subtitles"
        case .teletext: "teletext"
        case .privateData: "private data"
        case .sections: "sections"
        case .unknown(let type): "stream type \(type)"
        }
    }

    /// The format for a decoder; nil for what is no video or cannot be decoded.
    public var video: VideoCodec? {
        switch self {
        case .h264: .h264
        case .hevc: .hevc
        case .av1: .av1
        case .vp8: .vp8
        case .mpeg1Video, .mpeg2Video: .mpeg2Video
        default: nil
        }
    }

    public var isVideo: Bool {
        switch self {
        case .h264, .hevc, .av1, .vp8, .vvc, .mpeg1Video, .mpeg2Video, .mpeg4Video, .vc1, .avs, .jpeg2000: true
        default: false
        }
    }

    /// Whether a stream of it may show pictures: video, and whatever is not known.
    public var mayShowPictures: Bool { if case .unknown = self { true } else { isVideo } }

    public var isSound: Bool {
        switch self {
        case .aacADTS, .aacLATM, .opus, .mpegAudio, .ac3, .eac3, .dts: true
        default: false
        }
    }

    /// - Parameters:
    ///   - descriptors: the elementary stream's descriptor loop. Codecs that share stream type 6 differ by it.
    ///   - program: the program's. Blu-ray's numbers differ from ATSC's.
    init(streamType: UInt8, descriptors: [UInt8], program: [UInt8] = []) {
        if streamType == 0x85 || streamType == 0x86,
            Self.isRegistered(["HDMV"], in: program)
                || Self.isRegistered(["HDMV", "DTS1", "DTS2", "DTS3", "DTSH"], in: descriptors)
        {
            self = .dts
            return
        }
        switch streamType {
        case 0x01: self = .mpeg1Video
        case 0x02: self = .mpeg2Video
        case 0x03, 0x04: self = .mpegAudio
        case 0x0F: self = .aacADTS
        case 0x10: self = .mpeg4Video
        case 0x11: self = .aacLATM
        case 0x1B: self = .h264
        case 0x21: self = .jpeg2000
        case 0x24: self = .hevc
        case 0x33: self = .vvc
        case 0x42, 0xD2, 0xD4: self = .avs
        case 0x81: self = .ac3
        case 0x87: self = .eac3
        case 0x82, 0x8A: self = .dts
        case 0xEA: self = .vc1
        case 0x05, 0x0B, 0x0C, 0x0D, 0x14, 0x86: self = .sections
        case 0x06: self = Self.ofPrivateStream(descriptors)
        default: self = .unknown(streamType: streamType)
        }
    }

    /// Whether a registration descriptor in a loop has one of these names.
    private static func isRegistered(_ names: [String], in descriptors: [UInt8]) -> Bool {
        var at = 0
        while at + 2 <= descriptors.count {
            let end = at + 2 + Int(descriptors[at + 1])
            guard end <= descriptors.count else { return false }
            if descriptors[at] == 0x05, names.contains(where: { descriptors[(at + 2)..<end].starts(with: $0.utf8) }) {
                return true
            }
            at = end
        }
        return false
    }

    private static func ofPrivateStream(_ descriptors: [UInt8]) -> StreamCodec {
        var at = 0
        while at + 2 <= descriptors.count {
            let end = at + 2 + Int(descriptors[at + 1])
            guard end <= descriptors.count else { break }
            let body = descriptors[(at + 2)..<end]
            switch descriptors[at] {
            case 0x05:
                if body.starts(with: "Opus".utf8) { return .opus }
                if body.starts(with: "AC-3".utf8) { return .ac3 }
                if body.starts(with: "EAC3".utf8) { return .eac3 }
                if body.starts(with: "HEVC".utf8) { return .hevc }
                if body.starts(with: "AV01".utf8) { return .av1 }
            case 0x56: return .teletext
            case 0x59: return .subtitles
            case 0x6A: return .ac3
            case 0x7A: return .eac3
            case 0x7B: return .dts
            default: break
            }
            at = end
        }
        return .privateData
    }
}
