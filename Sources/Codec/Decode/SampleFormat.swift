import CFFmpeg

/// How a picture's samples were coded, before they were converted to 8-bit 4:2:0.
public struct SampleFormat: Hashable, Sendable, BitwiseCopyable {
    private let number: Int32

    /// - Parameter number: libav's number of the format.
    init(_ number: Int32) { self.number = number }

    private var layout: AVPixFmtDescriptor? {
        unsafe av_pix_fmt_desc_get(AVPixelFormat(rawValue: number)).map { unsafe $0.pointee }
    }

    /// libav's name.
    var name: String {
        unsafe av_get_pix_fmt_name(AVPixelFormat(rawValue: number)).map { unsafe String(cString: $0) } ?? "unknown"
    }

    var isRGB: Bool { unsafe layout.map { unsafe $0.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0 } ?? false }
    /// There are as many rows of chroma as of luma.
    var hasChromaInEachRow: Bool { unsafe layout.map { unsafe $0.nb_components > 2 && $0.log2_chroma_h == 0 } ?? false }
}

extension SampleFormat: CustomStringConvertible {
    /// "10-bit 4:2:2".
    public var description: String {
        guard let layout = unsafe layout else { return name }
        let chroma =
            switch unsafe (layout.nb_components, isRGB, layout.log2_chroma_w, layout.log2_chroma_h) {
            case (...2, _, _, _): "grey"
            case (_, true, _, _): "RGB"
            case (_, _, 0, 0): "4:4:4"
            case (_, _, 1, 0): "4:2:2"
            case (_, _, 1, 1): "4:2:0"
            case (_, _, 0, 1): "4:4:0"
            case (_, _, 2, 0): "4:1:1"
            default: name
            }
        return unsafe "\(layout.comp.0.depth)-bit \(chroma)"
    }
}
