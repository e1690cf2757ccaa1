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

    /// libavcodec exports the quantiser of each block. For other formats the headers tell that of the picture.
    var hasExportedQuantisers: Bool { self == .h264 || self == .mpeg2Video }
}
