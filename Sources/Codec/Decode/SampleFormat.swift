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

    private func has(_ flag: Int32) -> Bool { unsafe layout.map { unsafe $0.flags & UInt64(flag) != 0 } ?? false }

    /// Red, green and blue, or numbers of such colours.
    var isRGB: Bool { has(AV_PIX_FMT_FLAG_RGB) || hasPalette }
    var hasPalette: Bool { has(AV_PIX_FMT_FLAG_PAL) }
    /// Samples may be transparent.
    var hasTransparency: Bool { has(AV_PIX_FMT_FLAG_ALPHA) }
    var isGrey: Bool { unsafe !isRGB && layout.map { unsafe $0.nb_components <= 2 } ?? false }
    /// 8-bit 4:2:0 cannot hold all that such pictures show.
    public var isReduced: Bool {
        guard let layout = unsafe layout else { return true }
        if unsafe layout.comp.0.depth > 8 { return true }
        return unsafe !isGrey && (isRGB || layout.log2_chroma_w == 0 || layout.log2_chroma_h == 0)
    }
    /// There are as many rows of chroma as of luma.
    var hasChromaInEachRow: Bool { unsafe layout.map { unsafe $0.nb_components > 2 && $0.log2_chroma_h == 0 } ?? false }
}

extension SampleFormat: CustomStringConvertible {
    /// "10-bit 4:2:2".
    public var description: String {
        guard let layout = unsafe layout else { return name }
        let chroma =
            switch unsafe (layout.nb_components, isRGB, layout.log2_chroma_w, layout.log2_chroma_h) {
            case (_, true, _, _): "RGB"
            case (...2, _, _, _): "grey"
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
