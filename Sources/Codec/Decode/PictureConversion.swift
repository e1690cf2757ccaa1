import CFFmpeg

/// Converts pictures of any other sample format to 8-bit 4:2:0 of the same size. Rare in live streams and not on the
/// measured path: one `swscale` pass, with an allocation or two inside libav.
@safe final class PictureConversion {
    private var scaler: OpaquePointer?
    private let buffers = PictureBuffers()

    deinit { unsafe sws_freeContext(scaler) }

    static func isNeeded(for frame: UnsafeMutablePointer<AVFrame>) -> Bool {
        let format = unsafe frame.pointee.format
        return format != AV_PIX_FMT_YUV420P.rawValue && format != AV_PIX_FMT_YUVJ420P.rawValue
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
        let isRGB =
            unsafe av_pix_fmt_desc_get(format).map {
                unsafe $0.pointee.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0
            } ?? false
        unsafe scaler = sws_getCachedContext(
            scaler, width, height, format, width, height, AV_PIX_FMT_YUV420P,
            burnish_sws_flags, nil, nil, nil)
        guard unsafe scaler != nil else {
            let name = unsafe av_get_pix_fmt_name(format).map { unsafe String(cString: $0) } ?? "unknown"
            throw CodecError(
                .unsupportedFormat, operation: "sws_getCachedContext",
                message: "sample format \(name) cannot be converted to 8-bit 4:2:0", place: place,
                advice: "convert the input with another program first")
        }
        unsafe try check(av_frame_copy_props(target, source), "av_frame_copy_props", at: place)
        // RGB has no matrix of its own. The converted picture says which one was used.
        if isRGB { unsafe target.pointee.colorspace = height >= 720 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M }
        let isFull = unsafe !isRGB && source.pointee.color_range == AVCOL_RANGE_JPEG || isFullRange(format)
        if isFull {
            unsafe target.pointee.color_range = AVCOL_RANGE_JPEG
        } else if isRGB {
            unsafe target.pointee.color_range = AVCOL_RANGE_MPEG
        }
        let matrix = unsafe sws_getCoefficients(Int32(target.pointee.colorspace.rawValue))
        unsafe sws_setColorspaceDetails(
            scaler, matrix, isRGB || isFull ? 1 : 0, matrix, isFull ? 1 : 0, 0, 1 << 16, 1 << 16)
        unsafe target.pointee.width = width
        unsafe target.pointee.height = height
        unsafe target.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        unsafe try check(
            buffers.fill(target, width: Int(width), height: Int(height) + 2), "av_buffer_pool_get", at: place)
        unsafe try check(
            sws_scale(
                scaler, burnish_const_planes(source), burnish_linesizes(source), 0, height,
                burnish_frame_data(target), burnish_linesizes(target)), "sws_scale", at: place)
    }

    private func isFullRange(_ format: AVPixelFormat) -> Bool {
        format == AV_PIX_FMT_YUVJ422P || format == AV_PIX_FMT_YUVJ444P || format == AV_PIX_FMT_YUVJ440P
            || format == AV_PIX_FMT_YUVJ411P
    }
}
