import CFFmpeg
import Media

/// Encodes single pictures as JPEG, for people to see: upright, scaled down, with square pixels, 4:2:0, about quality 90.
///
/// For stills now and then: each call opens a scaler and an encoder, and allocates. Thread-safe.
public enum JPEGEncoder {
    private static let place = "JPEG encoder"
    /// libavcodec's scale: 1 is best, 31 worst.
    private static let quality: Int32 = 3
    private static let leastSide = 2
    /// BT.601's, by H.273's number.
    static let matrix: UInt8 = 6

    /// The size at which a picture is shown: upright, its pixels made square, and never enlarged.
    /// - Parameter width: the most columns.
    public static func shownSize(of size: PictureSize, _ color: ColorDescription, width: Int) -> PictureSize {
        let size = PictureTurn(color.orientation).size(of: size)
        let aspect = color.upright().sampleAspectRatio.value
        let isKnown = aspect > 0.1 && aspect < 10
        // Of the two sides, the one with too many samples is made smaller.
        let full = (
            width: Double(size.width) * (isKnown ? min(aspect, 1) : 1),
            height: Double(size.height) / (isKnown ? max(aspect, 1) : 1)
        )
        let factor = min(1, Double(width) / full.width)
        func even(_ side: Double) -> Int { max(leastSide, Int((side * factor / 2).rounded()) * 2) }
        return PictureSize(width: even(full.width), height: even(full.height))
    }

    /// Encodes a picture.
    /// - Parameters:
    ///   - picture: 8-bit 4:2:0; only read, and only during the call.
    ///   - color: how its samples are to be read. A JPEG has full range and the matrix of BT.601.
    ///   - width: the most columns of the result.
    /// - Returns: a JFIF file.
    @unsafe public static func encode(
        _ picture: PictureView, _ color: ColorDescription, width: Int
    ) throws(CodecError) -> [UInt8] {
        LibraryLog.capture()
        let size = unsafe shownSize(of: picture.size, color, width: width)
        let turn = PictureTurn(color.orientation)
        let scaled = try emptyFrame(turn.size(of: size))
        unsafe try scale(picture, color, into: scaled.pointer)
        if turn.isNone { return unsafe try encode(scaled.pointer) }
        let shown = try emptyFrame(size)
        let (from, to) = unsafe (view(of: scaled.pointer), view(of: shown.pointer))
        unsafe turn.turn(from.readOnly, into: to)
        return unsafe try encode(shown.pointer)
    }

    /// - Parameter format: 4:2:0 with the full range, or RGB.
    static func emptyFrame(
        _ size: PictureSize, _ format: AVPixelFormat = AV_PIX_FMT_YUVJ420P
    ) throws(CodecError) -> OwnedFrame {
        let frame = try OwnedFrame()
        let target = unsafe frame.pointer
        unsafe target.pointee.format = format.rawValue
        unsafe target.pointee.width = Int32(size.width)
        unsafe target.pointee.height = Int32(size.height)
        unsafe target.pointee.color_range = AVCOL_RANGE_JPEG
        unsafe target.pointee.quality = quality * FF_QP2LAMBDA
        unsafe try check(av_frame_get_buffer(target, 0), "av_frame_get_buffer", at: place)
        return frame
    }

    static func view(of frame: UnsafeMutablePointer<AVFrame>) -> MutablePictureView {
        let size = unsafe PictureSize(width: Int(frame.pointee.width), height: Int(frame.pointee.height))
        let (data, stride, chroma) = unsafe (frame.pointee.data, frame.pointee.linesize, size.chroma)
        return unsafe MutablePictureView(
            y: MutablePlaneView(base: data.0!, stride: Int(stride.0), width: size.width, height: size.height),
            u: MutablePlaneView(base: data.1!, stride: Int(stride.1), width: chroma.width, height: chroma.height),
            v: MutablePlaneView(base: data.2!, stride: Int(stride.2), width: chroma.width, height: chroma.height))
    }

    static func scale(
        _ picture: PictureView, _ color: ColorDescription, into target: UnsafeMutablePointer<AVFrame>
    ) throws(CodecError) {
        let size = unsafe picture.size
        let scaler = unsafe burnish_scaler_for(
            nil, Int32(size.width), Int32(size.height), AV_PIX_FMT_YUV420P, target.pointee.width, target.pointee.height,
            AVPixelFormat(rawValue: target.pointee.format),
            target.pointee.format == AV_PIX_FMT_YUVJ420P.rawValue ? burnish_sws_flags : burnish_sws_flags_full_chroma)
        defer { unsafe burnish_scaler_free(scaler) }
        guard unsafe scaler != nil else {
            throw CodecError(
                .unsupportedFormat, operation: "sws_getCachedContext", message: "a picture of \(size) cannot be scaled",
                place: place, advice: "ask for a wider picture")
        }
        // Players take a stream that does not say its matrix for one of these.
        let unspecified: UInt8 = 2
        let matrix = color.matrix == unspecified ? (size.height >= 720 ? SWS_CS_ITU709 : SWS_CS_ITU601) : Int32(color.matrix)
        unsafe burnish_scaler_set_colors(
            scaler, sws_getCoefficients(matrix), color.range == .full ? 1 : 0, sws_getCoefficients(SWS_CS_ITU601), 1)
        // A frame that only points to the caller's planes.
        let source = try OwnedFrame()
        let frame = unsafe source.pointer
        unsafe frame.pointee.data.0 = UnsafeMutablePointer(mutating: picture.y.base)
        unsafe frame.pointee.data.1 = UnsafeMutablePointer(mutating: picture.u.base)
        unsafe frame.pointee.data.2 = UnsafeMutablePointer(mutating: picture.v.base)
        unsafe frame.pointee.linesize.0 = Int32(picture.y.stride)
        unsafe frame.pointee.linesize.1 = Int32(picture.u.stride)
        unsafe frame.pointee.linesize.2 = Int32(picture.v.stride)
        unsafe try check(
            burnish_scale(
                scaler, burnish_const_planes(frame), burnish_linesizes(frame), Int32(size.height),
                burnish_frame_data(target), burnish_linesizes(target)), "sws_scale", at: place)
    }

    /// - Parameter codec: JPEG's, or PNG's for a frame of RGB.
    static func encode(
        _ frame: UnsafeMutablePointer<AVFrame>, as codec: AVCodecID = AV_CODEC_ID_MJPEG
    ) throws(CodecError) -> [UInt8] {
        let encoder = unsafe try OpenedEncoder(codec, at: place) { context in
            unsafe context.pointee.width = frame.pointee.width
            unsafe context.pointee.height = frame.pointee.height
            unsafe context.pointee.pix_fmt = AVPixelFormat(rawValue: frame.pointee.format)
            unsafe context.pointee.color_range = AVCOL_RANGE_JPEG
            unsafe context.pointee.time_base = AVRational(num: 1, den: 25)
            unsafe context.pointee.thread_count = 1
            unsafe context.pointee.flags |= AV_CODEC_FLAG_QSCALE
            unsafe context.pointee.global_quality = quality * FF_QP2LAMBDA
        }
        let packet = unsafe encoder.packet
        unsafe try check(avcodec_send_frame(encoder.context, frame), "avcodec_send_frame", at: place)
        unsafe try check(avcodec_receive_packet(encoder.context, packet), "avcodec_receive_packet", at: place)
        return unsafe Array(UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
    }
}
