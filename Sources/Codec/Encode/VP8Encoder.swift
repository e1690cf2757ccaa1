import CFFmpeg
import Media

/// Encodes 8-bit 4:2:0 pictures as VP8 frames (libvpx, through libavcodec) for calls: as fast as it can, without frames that come later
/// or are not shown, and with keyframes only where they are asked for.
///
/// libavcodec does not change the rate of an open libvpx, so a much different rate needs another encoder.
///
/// Confined to one thread at a time. Does not allocate per picture outside libav.
@safe public final class VP8Encoder: PictureEncoder {
    private static let place = "VP8 encoder"
    public let configuration: VideoEncoderConfiguration
    private let encoder: OpenedEncoder
    private let frame: OwnedFrame
    private var lastTime = MediaTime(ticks: .min)

    /// Whether libavcodec comes with libvpx.
    public static var isAvailable: Bool { unsafe avcodec_find_encoder_by_name("libvpx") != nil }

    /// A rate of which the present one is such a share needs no other encoder.
    private static let likeRates = 0.9...1.4

    /// - Parameter configuration: its size, frame rate and rate control count, and its threads.
    /// - Throws: `unsupportedCodec` when libavcodec comes without libvpx, `unsupportedFormat` for a size or rate that it refuses.
    public init(_ configuration: VideoEncoderConfiguration) throws(CodecError) {
        LibraryLog.capture()
        self.configuration = configuration
        encoder = unsafe try OpenedEncoder(AV_CODEC_ID_VP8, at: Self.place) { context in
            unsafe context.pointee.width = Int32(configuration.size.width)
            unsafe context.pointee.height = Int32(configuration.size.height)
            unsafe context.pointee.pix_fmt = AV_PIX_FMT_YUV420P
            unsafe context.pointee.time_base = AVRational(num: 1, den: 90_000)
            unsafe context.pointee.framerate = AVRational(configuration.frameRate)
            unsafe context.pointee.thread_count = Int32(max(1, configuration.threads))
            unsafe context.pointee.gop_size = Int32.max
            if let rate = configuration.rateControl.maximumRate {
                // A constant rate. The buffer is what a link may have to hold.
                unsafe context.pointee.bit_rate = Int64(rate)
                unsafe context.pointee.rc_min_rate = Int64(rate)
                unsafe context.pointee.rc_max_rate = Int64(rate)
                unsafe context.pointee.rc_buffer_size = Int32(clamping: rate / 2)
                unsafe context.pointee.rc_initial_buffer_occupancy = Int32(clamping: rate / 4)
            }
            for (name, value) in [
                ("deadline", "realtime"), ("cpu-used", "8"), ("lag-in-frames", "0"), ("auto-alt-ref", "0"),
                ("error-resilient", "0"), ("max-intra-rate", "300"), ("static-thresh", "1"),
            ] {
                unsafe av_opt_set(context.pointee.priv_data, name, value, 0)
            }
        }
        self.frame = try OwnedFrame()
        let frame = unsafe self.frame.pointer
        // libavcodec copies pictures that are not reference-counted. The planes belong to the caller of `encode`.
        unsafe frame.pointee.buf.0 = try check(av_buffer_alloc(1), "av_buffer_alloc", at: Self.place)
        unsafe frame.pointee.width = Int32(configuration.size.width)
        unsafe frame.pointee.height = Int32(configuration.size.height)
        unsafe frame.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        unsafe frame.pointee.extended_data = burnish_frame_data(frame)
    }

    /// Encodes one picture; see ``PictureEncoder``. VP8 carries no user data.
    public func encode(
        _ picture: PictureView, id: Int64, at time: MediaTime, asKeyframe: Bool, carrying userData: PictureUserData?,
        emit: (borrowing EncodedUnit) -> Void
    ) throws(CodecError) {
        guard unsafe picture.size == configuration.size, time > lastTime else {
            throw CodecError(
                .invalidData, operation: "VP8Encoder.encode", message: "a picture of another size, or of a time that is gone",
                place: Self.place, advice: "open another encoder when the size changes, and give pictures in their order")
        }
        lastTime = time
        let (frame, context, packet) = unsafe (self.frame.pointer, encoder.context, encoder.packet)
        unsafe frame.pointee.data.0 = UnsafeMutablePointer(mutating: picture.y.base)
        unsafe frame.pointee.data.1 = UnsafeMutablePointer(mutating: picture.u.base)
        unsafe frame.pointee.data.2 = UnsafeMutablePointer(mutating: picture.v.base)
        unsafe frame.pointee.linesize.0 = Int32(picture.y.stride)
        unsafe frame.pointee.linesize.1 = Int32(picture.u.stride)
        unsafe frame.pointee.linesize.2 = Int32(picture.v.stride)
        unsafe frame.pointee.pts = time.ticks
        unsafe frame.pointee.pict_type = asKeyframe ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
        unsafe try check(avcodec_send_frame(context, frame), "avcodec_send_frame", at: Self.place)
        while true {
            let code = unsafe avcodec_receive_packet(context, packet)
            if code == burnish_averror_again || code == burnish_averror_eof { return }
            try check(code, "avcodec_receive_packet", at: Self.place)
            unsafe emit(
                EncodedUnit(
                    bytes: UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)), id: id,
                    presentationTime: time, decodeTime: time, isKeyframe: packet.pointee.flags & AV_PKT_FLAG_KEY != 0,
                    quantiser: nil))
            unsafe av_packet_unref(packet)
        }
    }

    public func change(_ rateControl: VideoEncoderConfiguration.RateControl, at frameRate: Rational) -> Bool {
        guard let present = configuration.rateControl.maximumRate, let rate = rateControl.maximumRate else { return false }
        return Self.likeRates.contains(Double(rate) / Double(present))
    }
}
