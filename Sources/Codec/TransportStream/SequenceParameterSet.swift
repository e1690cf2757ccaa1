import Media

/// What the relay needs of an H.264 sequence parameter set (ITU-T H.264, 7.3.2.1 and annex E), read before anything is
/// decoded: the size, how far pictures are reordered, the rate and the colours.
public struct SequenceParameterSet: Hashable, Sendable {
    public let id: Int
    public let profile: Int
    /// `constraint_set0_flag` is the top bit.
    public let constraints: UInt8
    /// Ten times the level: 31 is level 3.1.
    public let level: Int
    public let chromaFormat: Int
    public let lumaBitDepth: Int
    public let chromaBitDepth: Int
    /// After cropping.
    public let size: PictureSize
    /// False when fields or macroblock-adaptive coding may occur.
    public let isProgressive: Bool
    public let referenceFrames: Int
    public let hasVideoUsability: Bool
    /// How many pictures may come out later than a picture that follows them in the stream; nil where the stream does
    /// not say. Then a careful decoder assumes ``deepestReordering``.
    public let reordering: Int?
    /// The bound that the level and size put on ``reordering``.
    public let deepestReordering: Int
    /// Frames a second, as the timing information has it; nil without any or with an absurd one.
    public let frameRate: Rational?
    public let isFixedFrameRate: Bool
    public let color: ColorDescription

    let frameNumberBits: Int
    let hasSeparateColourPlanes: Bool
    /// Jumps of `frame_num` are no sign of loss.
    let allowsFrameNumberGaps: Bool

    /// The largest width or height that is taken for a picture.
    static let largestSide = 16_384

    public enum Fault: Error, Hashable {
        case notAParameterSet
        /// It ends before its syntax does, or holds an impossible code.
        case truncated
        /// A field out of the range that the standard gives it.
        case invalid(field: String)
        /// Empty after cropping, or larger than any level allows.
        case absurdSize(width: Int, height: Int)
    }

    /// Reads a NAL unit of type 7.
    /// - Parameter nal: with its header byte, without its start code; not kept.
    public init(_ nal: UnsafeRawBufferPointer) throws(Fault) {
        guard nal.count >= 4, unsafe nal[0] & 0x9F == 7 else { throw .notAParameterSet }
        var r = unsafe RBSPReader(nal)
        profile = r.bits(8)
        constraints = UInt8(r.bits(8))
        level = r.bits(8)
        id = r.unsigned()
        guard id < 32 else { throw .invalid(field: "seq_parameter_set_id") }

        var (chroma, separate, lumaDepth, chromaDepth) = (1, false, 8, 8)
        if Self.highProfiles.contains(profile) {
            chroma = r.unsigned()
            guard chroma <= 3 else { throw .invalid(field: "chroma_format_idc") }
            if chroma == 3 { separate = r.flag() }
            lumaDepth = 8 + r.unsigned()
            chromaDepth = 8 + r.unsigned()
            guard lumaDepth <= 14, chromaDepth <= 14 else { throw .invalid(field: "bit_depth") }
            _ = r.bit()
            if r.flag() { Self.skipScalingMatrix(&r, lists: chroma == 3 ? 12 : 8) }
        }
        chromaFormat = chroma
        hasSeparateColourPlanes = separate
        lumaBitDepth = lumaDepth
        chromaBitDepth = chromaDepth
        frameNumberBits = 4 + r.unsigned()
        guard frameNumberBits <= 16 else { throw .invalid(field: "log2_max_frame_num_minus4") }
        let order = r.unsigned()
        switch order {
        case 0:
            guard r.unsigned() <= 12 else { throw .invalid(field: "log2_max_pic_order_cnt_lsb_minus4") }
        case 1:
            _ = r.bit()
            _ = r.signed()
            _ = r.signed()
            let cycle = r.unsigned()
            guard cycle <= 255 else { throw .invalid(field: "num_ref_frames_in_pic_order_cnt_cycle") }
            for _ in 0..<cycle { _ = r.signed() }
        case 2: break
        default: throw .invalid(field: "pic_order_cnt_type")
        }
        referenceFrames = r.unsigned()
        guard referenceFrames <= 16 else { throw .invalid(field: "max_num_ref_frames") }
        allowsFrameNumberGaps = r.flag()
        let columns = r.unsigned() + 1
        let rows = r.unsigned() + 1
        isProgressive = r.flag()
        if !isProgressive { _ = r.bit() }
        _ = r.bit()
        let mapUnit = isProgressive ? 1 : 2
        guard !r.isExhausted else { throw .truncated }
        guard columns <= Self.largestSide / 16, rows * mapUnit <= Self.largestSide / 16 else {
            throw .absurdSize(width: columns * 16, height: rows * mapUnit * 16)
        }
        var crop = (left: 0, right: 0, top: 0, bottom: 0)
        if r.flag() { crop = (r.unsigned(), r.unsigned(), r.unsigned(), r.unsigned()) }
        let unitX = chroma == 1 || chroma == 2 ? 2 : 1
        let unitY = (chroma == 1 ? 2 : 1) * mapUnit
        let width = columns * 16 - (crop.left + crop.right) * unitX
        let height = rows * mapUnit * 16 - (crop.top + crop.bottom) * unitY
        guard width > 0, height > 0 else { throw .absurdSize(width: width, height: height) }
        size = PictureSize(width: width, height: height)

        hasVideoUsability = r.flag()
        var usability = VideoUsability()
        if hasVideoUsability { usability.read(&r) }
        guard !r.isExhausted else { throw .truncated }
        color = usability.color
        frameRate = usability.frameRate
        isFixedFrameRate = usability.isFixedFrameRate
        let macroblocks = columns * rows * mapUnit
        deepestReordering = Self.bufferedFrames(
            level: level, constraints: constraints, profile: profile, macroblocks: macroblocks)
        if let told = usability.reordering, told <= 16 {
            reordering = told
        } else {
            // Baseline has no B slices; picture order type 2 is decoding order (7.4.2.1.1); some intra profiles have
            // constraint_set3 say the same (E.2.1).
            let isIntra = constraints & 0x10 != 0 && [44, 86, 100, 110, 122, 244].contains(profile)
            reordering = profile == 66 || order == 2 || isIntra ? 0 : nil
        }
    }

    private static let highProfiles: Set<Int> = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]

    private static func skipScalingMatrix(_ r: inout RBSPReader, lists: Int) {
        for list in 0..<lists where r.flag() {
            var (last, next) = (8, 8)
            for _ in 0..<(list < 6 ? 16 : 64) {
                if next != 0 { next = (last + r.signed()) & 0xFF }
                if next != 0 { last = next }
                if r.isExhausted { return }
            }
        }
    }

    /// MaxDpbFrames (A.3.1, table A-1).
    private static func bufferedFrames(level: Int, constraints: UInt8, profile: Int, macroblocks: Int) -> Int {
        let capacity =
            switch level {
            case 9, 10: 396
            case 11: constraints & 0x10 != 0 && profile <= 88 ? 396 : 900
            case 12, 13, 20: 2376
            case 21: 4752
            case 22, 30: 8100
            case 31: 18_000
            case 32: 20_480
            case 40, 41: 32_768
            case 42: 34_816
            case 50: 110_400
            case 51, 52: 184_320
            default: 696_320
            }
        return max(1, min(16, capacity / macroblocks))
    }
}

/// The part of annex E that matters before decoding.
private struct VideoUsability {
    var color = ColorDescription()
    var frameRate: Rational?
    var isFixedFrameRate = false
    var reordering: Int?

    mutating func read(_ r: inout RBSPReader) {
        if r.flag() { color.sampleAspectRatio = Self.aspect(&r) }
        if r.flag() { _ = r.bit() }
        if r.flag() {
            _ = r.bits(3)
            color.range = r.flag() ? .full : .limited
            if r.flag() {
                color.primaries = UInt8(r.bits(8))
                color.transfer = UInt8(r.bits(8))
                color.matrix = UInt8(r.bits(8))
            }
        }
        if r.flag() {
            let top = r.unsigned()
            _ = r.unsigned()
            if top < 6 { color.chromaLocation = UInt8(top + 1) }
        }
        if r.flag() {
            let unit = r.bits(32)
            let scale = r.bits(32)
            isFixedFrameRate = r.flag()
            // Two ticks to a frame (E.2.1).
            if unit > 0, scale > 0, scale / unit < 2000 { frameRate = Rational(Int64(scale), 2 * Int64(unit)) }
        }
        let hasNetworkBuffer = r.flag()
        if hasNetworkBuffer { Self.skipBuffering(&r) }
        let hasCodecBuffer = r.flag()
        if hasCodecBuffer { Self.skipBuffering(&r) }
        if hasNetworkBuffer || hasCodecBuffer { _ = r.bit() }
        _ = r.bit()
        if r.flag() {
            _ = r.bit()
            for _ in 0..<4 { _ = r.unsigned() }
            reordering = r.unsigned()
            _ = r.unsigned()
        }
    }

    private static func aspect(_ r: inout RBSPReader) -> Rational {
        // Table E-1.
        let known: [(Int64, Int64)] = [
            (0, 1), (1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11), (80, 33), (18, 11),
            (15, 11), (64, 33), (160, 99), (4, 3), (3, 2), (2, 1),
        ]
        let code = r.bits(8)
        if code == 255 {
            let (width, height) = (r.bits(16), r.bits(16))
            return width > 0 && height > 0 ? Rational(Int64(width), Int64(height)) : Rational(0, 1)
        }
        return code < known.count ? Rational(known[code].0, known[code].1) : Rational(0, 1)
    }

    /// hrd_parameters (E.1.2).
    private static func skipBuffering(_ r: inout RBSPReader) {
        let schedules = r.unsigned()
        _ = r.bits(8)
        for _ in 0...min(schedules, 31) {
            _ = r.unsigned()
            _ = r.unsigned()
            _ = r.bit()
        }
        _ = r.bits(20)
    }
}
