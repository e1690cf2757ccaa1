import Bitstream
import CFFmpeg

extension VideoCodec {
    /// libavcodec's decoder of the format; nil where the library was built without it.
    var libraryDecoder: UnsafePointer<AVCodec>? {
        switch self {
        case .h264: unsafe avcodec_find_decoder(AV_CODEC_ID_H264)
        case .hevc: unsafe avcodec_find_decoder(AV_CODEC_ID_HEVC)
        // It reads MPEG-1 too.
        case .mpeg2Video: unsafe avcodec_find_decoder(AV_CODEC_ID_MPEG2VIDEO)
        // libavcodec's own needs hardware.
        case .av1: unsafe avcodec_find_decoder_by_name("libdav1d")
        case .vp8: unsafe avcodec_find_decoder(AV_CODEC_ID_VP8)
        case .vp9: unsafe avcodec_find_decoder(AV_CODEC_ID_VP9)
        }
    }

    /// The format that libavcodec decodes under this name; nil for formats that live streams do not have.
    init?(_ id: AVCodecID) {
        switch id {
        case AV_CODEC_ID_H264: self = .h264
        case AV_CODEC_ID_HEVC: self = .hevc
        case AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO: self = .mpeg2Video
        case AV_CODEC_ID_AV1: self = .av1
        case AV_CODEC_ID_VP8: self = .vp8
        case AV_CODEC_ID_VP9: self = .vp9
        default: return nil
        }
    }

    /// libavcodec exports the quantiser of each block. For other formats the headers tell that of the picture.
    var hasExportedQuantisers: Bool { self == .h264 || self == .mpeg2Video }
}
