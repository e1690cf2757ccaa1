import Media

/// What the relay needs of an H.264 sequence parameter set (ITU-T H.264, 7.3.2.1 and annex E), read before anything is
/// decoded: the size, the rate, the colours, and how far pictures are reordered.
public struct SequenceParameterSet: Hashable, Sendable {
    /// `seq_parameter_set_id`, 0…31.
    public let id: Int
    /// After cropping.
    public let size: PictureSize
    /// False when fields or macroblock-adaptive coding may occur.
    public let isProgressive: Bool
    /// How many pictures may come out later than a picture that follows them in the stream, 0…16; nil where the stream
    /// does not say.
    public let reordering: Int?
    /// Frames a second, as the timing information has it; nil without any or with an absurd one.
    public let frameRate: Rational?
    public let color: ColorDescription

    /// ``VideoParameters/profile`` and ``VideoParameters/level``
    let profile: UInt16
    let level: UInt8
    public let bitDepth: Int
    /// `chroma_format_idc`.
    public let chromaFormat: Int

    /// The same in the form that all formats share.
    public var parameters: VideoParameters {
        var all = VideoParameters(codec: .h264, size: size)
        all.isProgressive = isProgressive
        all.reordering = reordering
        all.frameRate = frameRate
        all.color = color
        all.bitDepth = bitDepth
        (all.profile, all.level) = (self.profile, level)
        all.chromaFormat = chromaFormat
        return all
    }

    /// The length of `frame_num`.
    let frameNumberBits: Int
    let hasSeparateColourPlanes: Bool
    /// Jumps of `frame_num` are no sign of loss.
    let allowsFrameNumberGaps: Bool

    /// The largest width or height that is accepted for a picture.
    static let largestSide = 16_384

    /// Reads a NAL unit of type 7. Any bytes at all.
    /// - Parameter nal: with its header byte, without its start code; not kept.
    public init(_ nal: UnsafeRawBufferPointer) throws(BitstreamFault) {
        guard nal.count >= 4, unsafe nal[0] & 0x9F == 7 else { throw .notAParameterSet }
        var r = unsafe RBSPReader(nal)
        let profile = r.bits(8)
        // `constraint_set0_flag` is the top bit.
        let constraints = r.bits(8)
        self.profile = UInt16(profile) | (constraints & 0x40 != 0 ? 0x100 : 0)
        level = UInt8(r.bits(8))
        id = r.unsigned()
        guard id < 32 else { throw .invalid(field: "seq_parameter_set_id") }
        let chroma = try Self.readChroma(&r, profile: profile)
        hasSeparateColourPlanes = chroma.hasSeparatePlanes
        bitDepth = chroma.bitDepth
        chromaFormat = chroma.format
        frameNumberBits = 4 + r.unsigned()
        guard frameNumberBits <= 16 else { throw .invalid(field: "log2_max_frame_num_minus4") }
        let order = try Self.readPictureOrder(&r)
        guard r.unsigned() <= 16 else { throw .invalid(field: "max_num_ref_frames") }
        allowsFrameNumberGaps = r.flag()
        let columns = r.unsigned() + 1
        let rows = r.unsigned() + 1
        isProgressive = r.flag()
        if !isProgressive { _ = r.bit() }
        _ = r.bit()
        size = try Self.readSize(
            &r, columns: columns, rows: isProgressive ? rows : 2 * rows, chromaFormat: chroma.format,
            isProgressive: isProgressive)
        let usability = r.flag() ? VideoUsability(&r) : VideoUsability()
        guard !r.isExhausted else { throw .truncated }
        color = usability.color
        frameRate = usability.frameRate
        if let stated = usability.reordering, stated <= 16 {
            reordering = stated
        } else {
            // Baseline has no B slices; picture order type 2 is decoding order (7.4.2.1.1); some intra profiles have
            // constraint_set3 say the same (E.2.1).
            let isIntra = constraints & 0x10 != 0 && [44, 86, 100, 110, 122, 244].contains(profile)
            reordering = profile == 66 || order == 2 || isIntra ? 0 : nil
        }
    }

    private static let highProfiles: Set<Int> = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]

    /// Reads what only the high profiles say of chroma, bit depths and scaling.
    private static func readChroma(
        _ r: inout RBSPReader, profile: Int
    ) throws(BitstreamFault) -> (format: Int, hasSeparatePlanes: Bool, bitDepth: Int) {
        guard highProfiles.contains(profile) else { return (1, false, 8) }
        let format = r.unsigned()
        guard format <= 3 else { throw .invalid(field: "chroma_format_idc") }
        let hasSeparatePlanes = format == 3 ? r.flag() : false
        let depth = r.unsigned()
        guard depth <= 6, r.unsigned() <= 6 else { throw .invalid(field: "bit_depth") }
        _ = r.bit()
        if r.flag() { skipScalingMatrix(&r, lists: format == 3 ? 12 : 8) }
        return (format, hasSeparatePlanes, 8 + depth)
    }

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

    /// - Returns: `pic_order_cnt_type`.
    private static func readPictureOrder(_ r: inout RBSPReader) throws(BitstreamFault) -> Int {
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
        return order
    }

    /// Reads the cropping.
    /// - Parameters:
    ///   - columns: macroblocks in a row of the frame.
    ///   - rows: rows of macroblocks in the frame.
    private static func readSize(
        _ r: inout RBSPReader, columns: Int, rows: Int, chromaFormat: Int, isProgressive: Bool
    ) throws(BitstreamFault) -> PictureSize {
        guard !r.isExhausted else { throw .truncated }
        guard columns <= largestSide / 16, rows <= largestSide / 16 else {
            throw .absurdSize(width: columns * 16, height: rows * 16)
        }
        var crop = (left: 0, right: 0, top: 0, bottom: 0)
        if r.flag() { crop = (r.unsigned(), r.unsigned(), r.unsigned(), r.unsigned()) }
        let unitX = chromaFormat == 1 || chromaFormat == 2 ? 2 : 1
        let unitY = (chromaFormat == 1 ? 2 : 1) * (isProgressive ? 1 : 2)
        let width = columns * 16 - (crop.left + crop.right) * unitX
        let height = rows * 16 - (crop.top + crop.bottom) * unitY
        guard width > 0, height > 0 else { throw .absurdSize(width: width, height: height) }
        return PictureSize(width: width, height: height)
    }
}
