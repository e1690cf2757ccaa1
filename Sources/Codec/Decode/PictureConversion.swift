import CFFmpeg

/// Converts pictures of any other sample format to 8-bit 4:2:0 of the same size, by `swscale`, with an allocation or two
/// inside libav. The fields of interlaced pictures are converted one by one where rows of chroma are merged.
///
/// The description of colours stays, that of HDR pictures, too: ``ScreenColors`` makes those SDR.
@safe final class PictureConversion {
    private var scaler: OpaquePointer?
    private let buffers = PictureBuffers()
    private let takesGreyAsFull: Bool

    /// - Parameter takesGreyAsFull: grey pictures that do not say their range have the full one, as photographs have.
    init(takesGreyAsFull: Bool = false) { self.takesGreyAsFull = takesGreyAsFull }

    deinit { unsafe burnish_scaler_free(scaler) }

    /// The format that a frame has to be converted from; nil where it is 8-bit 4:2:0.
    static func source(of frame: UnsafeMutablePointer<AVFrame>) -> SampleFormat? {
        let format = unsafe frame.pointee.format
        return format == AV_PIX_FMT_YUV420P.rawValue || format == AV_PIX_FMT_YUVJ420P.rawValue ? nil : SampleFormat(format)
    }

    /// Converts a frame and recycles it.
    /// - Parameter pool: of both frames.
    /// - Throws: `unsupportedFormat` when swscale does not know the format.
    func convert(_ frame: consuming OwnedFrame, _ pool: FramePool, at place: String) throws(CodecError) -> OwnedFrame {
        let target = try pool.emptyFrame()
        unsafe try convert(frame.pointer, into: target.pointer, at: place)
        pool.recycle(frame)
        return target
    }

    private func convert(
        _ source: UnsafeMutablePointer<AVFrame>, into target: UnsafeMutablePointer<AVFrame>, at place: String
    ) throws(CodecError) {
        let (width, height) = unsafe (source.pointee.width, source.pointee.height)
        let format = unsafe AVPixelFormat(rawValue: source.pointee.format)
        let layout = SampleFormat(format.rawValue)
        let isRGB = layout.isRGB
        // Rows of chroma that belong to different moments must not be merged.
        let fields = unsafe burnish_is_interlaced(source) && layout.hasChromaInEachRow && height % 4 == 0 ? 2 : 1
        unsafe scaler = burnish_scaler_for(
            scaler, width, height / Int32(fields), format, width, height / Int32(fields), AV_PIX_FMT_YUV420P,
            burnish_sws_flags)
        guard unsafe scaler != nil else {
            throw CodecError(
                .unsupportedFormat, operation: "sws_getCachedContext",
                message: "sample format \(layout.name) cannot be converted to 8-bit 4:2:0", place: place,
                advice: "convert the input with another program first")
        }
        unsafe try check(av_frame_copy_props(target, source), "av_frame_copy_props", at: place)
        // RGB has no matrix of its own. The converted picture says which one was used.
        if isRGB {
            // swscale has one matrix for palettes.
            let isLarge = height >= 720 && !layout.hasPalette
            unsafe target.pointee.colorspace = isLarge ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M
        }
        let range = unsafe source.pointee.color_range
        let isFull =
            !isRGB && range == AVCOL_RANGE_JPEG || isFullRange(format)
            || takesGreyAsFull && layout.isGrey && range == AVCOL_RANGE_UNSPECIFIED
        if isFull {
            unsafe target.pointee.color_range = AVCOL_RANGE_JPEG
        } else if isRGB {
            unsafe target.pointee.color_range = AVCOL_RANGE_MPEG
        }
        let matrix = unsafe sws_getCoefficients(Int32(target.pointee.colorspace.rawValue))
        unsafe burnish_scaler_set_colors(scaler, matrix, isRGB || isFull ? 1 : 0, matrix, isFull ? 1 : 0)
        unsafe target.pointee.width = width
        unsafe target.pointee.height = height
        unsafe target.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        unsafe try check(
            buffers.fill(target, width: Int(width), height: Int(height) + 2), "av_buffer_pool_get", at: place)
        for field in 0..<fields { unsafe try scale(source, into: target, field: field, of: fields, at: place) }
    }

    /// Converts every row, or those of one of two fields.
    private func scale(
        _ source: UnsafeMutablePointer<AVFrame>, into target: UnsafeMutablePointer<AVFrame>, field: Int, of fields: Int,
        at place: String
    ) throws(CodecError) {
        let (from, fromLines) = unsafe (source.pointee.data, source.pointee.linesize)
        let (to, toLines) = unsafe (target.pointee.data, target.pointee.linesize)
        func row(_ plane: UnsafeMutablePointer<UInt8>?, _ line: Int32) -> UnsafeMutablePointer<UInt8>? {
            unsafe plane.map { unsafe $0 + field * Int(line) }
        }
        let count = Int32(fields)
        let planes: InlineArray<4, UnsafePointer<UInt8>?> = unsafe [
            UnsafePointer(row(from.0, fromLines.0)), UnsafePointer(row(from.1, fromLines.1)),
            UnsafePointer(row(from.2, fromLines.2)), UnsafePointer(row(from.3, fromLines.3)),
        ]
        let lines: InlineArray<4, Int32> = [
            count * fromLines.0, count * fromLines.1, count * fromLines.2, count * fromLines.3,
        ]
        let targets: InlineArray<4, UnsafeMutablePointer<UInt8>?> = unsafe [
            row(to.0, toLines.0), row(to.1, toLines.1), row(to.2, toLines.2), nil,
        ]
        let targetLines: InlineArray<4, Int32> = [count * toLines.0, count * toLines.1, count * toLines.2, 0]
        let code = unsafe planes.span.withUnsafeBufferPointer { planes in
            unsafe lines.span.withUnsafeBufferPointer { lines in
                unsafe targets.span.withUnsafeBufferPointer { targets in
                    unsafe targetLines.span.withUnsafeBufferPointer { targetLines in
                        unsafe burnish_scale(
                            scaler, planes.baseAddress, lines.baseAddress, source.pointee.height / count,
                            targets.baseAddress, targetLines.baseAddress)
                    }
                }
            }
        }
        try check(code, "sws_scale", at: place)
    }

    private func isFullRange(_ format: AVPixelFormat) -> Bool {
        format == AV_PIX_FMT_YUVJ422P || format == AV_PIX_FMT_YUVJ444P || format == AV_PIX_FMT_YUVJ440P
            || format == AV_PIX_FMT_YUVJ411P
    }
}
