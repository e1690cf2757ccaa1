import Bitstream
import CFFmpeg
import Kernels
import Media

/// Makes pictures that usual screens cannot show right, HDR or wide-gamut ones, into SDR with BT.709's colours, by a table, and those of
/// the full range into the limited one, which all receivers know.
///
/// Confined to one thread at a time. Allocates nothing per picture outside libav.
@safe final class ScreenColors {
    /// The brightest light of PQ pictures in cd/m², as somebody says; nil: as the pictures say.
    var peak: Double?

    /// Of live streams: the tables need not be those of exactly a picture's peak, and pictures of the full range get the limited one. A
    /// file's receivers read what it says.
    private let isLive: Bool
    private let tables: ColorTables
    private let buffers = PictureBuffers()
    /// What the newest metadata says. Not every picture carries it.
    private var stated: Double?
    private var description = ColorDescription()
    /// What headers said last.
    private var expected: StatedColor?

    init(isLive: Bool = false) {
        self.isLive = isLive
        tables = ColorTables(isExact: !isLive)
    }

    /// Prepares for pictures that are about to come, by what headers say of them.
    func expect(_ stated: StatedColor) {
        if stated == expected { return }
        expected = stated
        if let wanted = ColorConversion(of: stated.color, peak: peak ?? stated.peak) { tables.expect(wanted) }
    }

    /// Gives a frame the samples and the colours that all behind the decoder take: 8-bit 4:2:0 that usual screens show right.
    /// - Parameters:
    ///   - frame: takes the new one's place.
    ///   - needsCopy: whether its samples have to be converted, or copied, in any case.
    /// - Returns: what its colours were; nil where they stayed.
    func shown(
        _ frame: inout OwnedFrame, by samples: PictureConversion, _ pool: FramePool, needsCopy: Bool, at place: String
    ) throws(CodecError) -> ColorDescription? {
        let isNeeded = unsafe areNeeded(for: frame.pointer)
        let isFull = unsafe isLive && ColorDescription(frame.pointer).range == .full
        let before = unsafe isNeeded || isFull ? ColorDescription(frame.pointer) : nil
        guard needsCopy || isNeeded || isFull else { return nil }
        var given = try pool.emptyFrame()
        swap(&given, &frame)
        if needsCopy, unsafe !isNeeded || !Self.takes(given.pointer) { given = try samples.convert(given, pool, at: place) }
        if isNeeded {
            given = try convert(given, pool, at: place)
        } else if isFull {
            given = try limit(given, pool, at: place)
        }
        swap(&given, &frame)
        pool.recycle(given)
        return before
    }

    /// Gives a frame of 8-bit 4:2:0 the limited range, and recycles it.
    /// - Parameter pool: of both frames.
    private func limit(_ frame: consuming OwnedFrame, _ pool: FramePool, at place: String) throws(CodecError) -> OwnedFrame {
        let source = unsafe frame.pointer
        let result = try unsafe emptyFrame(like: source, pool, at: place)
        let target = unsafe result.pointer
        let (from, fromLines) = unsafe (source.pointee.data, source.pointee.linesize)
        let (to, toLines) = unsafe (target.pointee.data, target.pointee.linesize)
        let size = unsafe PictureSize(width: Int(source.pointee.width), height: Int(source.pointee.height))
        unsafe Kernels.limitRange(of: from.0!, Int(fromLines.0), size, isLuma: true, into: to.0!, Int(toLines.0))
        unsafe Kernels.limitRange(of: from.1!, Int(fromLines.1), size.chroma, isLuma: false, into: to.1!, Int(toLines.1))
        unsafe Kernels.limitRange(of: from.2!, Int(fromLines.2), size.chroma, isLuma: false, into: to.2!, Int(toLines.2))
        pool.recycle(frame)
        return result
    }

    /// A frame with memory for 8-bit 4:2:0 of the limited range, that says all else that another one does.
    private func emptyFrame(
        like source: UnsafeMutablePointer<AVFrame>, _ pool: FramePool, at place: String
    ) throws(CodecError) -> OwnedFrame {
        let result = try pool.emptyFrame()
        let target = unsafe result.pointer
        unsafe try check(av_frame_copy_props(target, source), "av_frame_copy_props", at: place)
        let (width, height) = unsafe (Int(source.pointee.width), Int(source.pointee.height))
        unsafe (target.pointee.width, target.pointee.height) = unsafe (source.pointee.width, source.pointee.height)
        unsafe target.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        unsafe target.pointee.color_range = AVCOL_RANGE_MPEG
        unsafe try check(buffers.fill(target, width: width, height: height), "av_buffer_pool_get", at: place)
        return result
    }

    private func areNeeded(for frame: UnsafeMutablePointer<AVFrame>) -> Bool {
        let color = unsafe ColorDescription(frame)
        guard color.isHDR || ColorPrimaries.wide(color.primaries) != nil else { return false }
        if color != description { (description, stated) = (color, nil) }
        if stated == nil { unsafe stated = Self.peak(of: frame) }
        return ColorConversion(of: color) != nil
    }

    /// Whether a frame can be converted from its own samples. Others are made 8-bit 4:2:0 before.
    private static func takes(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
        let format = unsafe frame.pointee.format
        return format == AV_PIX_FMT_YUV420P10LE.rawValue || format == AV_PIX_FMT_YUV420P.rawValue
            || format == AV_PIX_FMT_YUVJ420P.rawValue
    }

    /// Converts a frame that is 4:2:0 with 8 or 10 bits, and recycles it.
    /// - Parameter pool: of both frames.
    private func convert(_ frame: consuming OwnedFrame, _ pool: FramePool, at place: String) throws(CodecError) -> OwnedFrame {
        let source = unsafe frame.pointer
        let color = unsafe ColorDescription(source)
        guard let wanted = ColorConversion(of: color, peak: peak ?? stated) else { return frame }
        let table = tables.table(for: wanted)
        let result = try unsafe emptyFrame(like: source, pool, at: place)
        let target = unsafe result.pointer
        let (width, height) = unsafe (Int(source.pointee.width), Int(source.pointee.height))
        unsafe target.pointee.color_primaries = AVCOL_PRI_BT709
        unsafe target.pointee.color_trc = AVCOL_TRC_BT709
        unsafe target.pointee.colorspace = AVCOL_SPC_BT709
        let (from, fromLines) = unsafe (source.pointee.data, source.pointee.linesize)
        let (to, toLines) = unsafe (target.pointee.data, target.pointee.linesize)
        let chroma = PictureSize(width: width, height: height).chroma
        let isDeep = unsafe source.pointee.format == AV_PIX_FMT_YUV420P10LE.rawValue
        unsafe Kernels.best.mapColors(
            (
                DeepPlane(base: from.0!, stride: Int(fromLines.0)), DeepPlane(base: from.1!, stride: Int(fromLines.1)),
                DeepPlane(base: from.2!, stride: Int(fromLines.2))
            ), isDeep: isDeep, by: table,
            into: MutablePictureView(
                y: MutablePlaneView(base: to.0!, stride: Int(toLines.0), width: width, height: height),
                u: MutablePlaneView(base: to.1!, stride: Int(toLines.1), width: chroma.width, height: chroma.height),
                v: MutablePlaneView(base: to.2!, stride: Int(toLines.2), width: chroma.width, height: chroma.height)))
        pool.recycle(frame)
        return result
    }

    /// The brightest light that a frame's metadata tells, in cd/m²: of its content (MaxCLL), or else of the display on which it was
    /// mastered (SMPTE ST 2086); nil where there is none, or an absurd one.
    private static func peak(of frame: UnsafeMutablePointer<AVFrame>) -> Double? {
        func sensible(_ peak: Double) -> Double? { ColorConversion.peaks.contains(peak) ? peak : nil }
        if let side = unsafe av_frame_get_side_data(frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL),
            unsafe side.pointee.size >= MemoryLayout<AVContentLightMetadata>.size
        {
            let level = unsafe UnsafeRawPointer(side.pointee.data!).load(as: AVContentLightMetadata.self)
            if let peak = sensible(Double(level.MaxCLL)) { return peak }
        }
        guard let side = unsafe av_frame_get_side_data(frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA),
            unsafe side.pointee.size >= MemoryLayout<AVMasteringDisplayMetadata>.size
        else { return nil }
        let display = unsafe UnsafeRawPointer(side.pointee.data!).load(as: AVMasteringDisplayMetadata.self)
        guard display.has_luminance != 0, display.max_luminance.den != 0 else { return nil }
        return sensible(av_q2d(display.max_luminance))
    }
}
