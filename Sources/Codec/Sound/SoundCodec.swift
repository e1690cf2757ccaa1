import Bitstream
import CFFmpeg

/// A format of sound that libavcodec decodes.
public enum SoundCodec: Hashable, Sendable {
    case aacADTS, aacLATM, mpegAudio, ac3, eac3, dts

    public var name: String {
        switch self {
        case .aacADTS, .aacLATM: "AAC"
        case .mpegAudio: "MPEG audio"
        case .ac3: "AC-3"
        case .eac3: "E-AC-3"
        case .dts: "DTS"
        }
    }

    var library: AVCodecID {
        switch self {
        case .aacADTS: AV_CODEC_ID_AAC
        case .aacLATM: AV_CODEC_ID_AAC_LATM
        // It reads all three layers.
        case .mpegAudio: AV_CODEC_ID_MP3
        case .ac3: AV_CODEC_ID_AC3
        case .eac3: AV_CODEC_ID_EAC3
        case .dts: AV_CODEC_ID_DTS
        }
    }

    /// Whether a unit is a row of whole frames, by their headers. Frames of the other formats are found by libavcodec's parser.
    func isWhole(_ unit: Span<UInt8>) -> Bool {
        let codec: SoundFrame.Format.Codec
        switch self {
        case .aacADTS: codec = .aac
        case .mpegAudio: codec = .layer2
        case .ac3: codec = .ac3
        case .aacLATM, .eac3, .dts: return false
        }
        var at = 0
        while at < unit.count {
            guard let frame = SoundFrame(unit.extracting(at..<unit.count), codec) else { return false }
            at += frame.byteCount
        }
        return at == unit.count
    }
}
