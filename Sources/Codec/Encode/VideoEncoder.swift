import CFFmpeg
import Media

/// Encodes 8-bit 4:2:0 pictures as access units of H.264 or HEVC (libx264, libx265, through libavcodec), tuned for latency: each picture's
/// unit is emitted before ``encode(_:id:at:asKeyframe:carrying:emit:)`` returns. There are no B-frames, no lookahead and no
/// scene-cut keyframes (the caller asks for the source's keyframes). There are access unit delimiters, and parameter
/// sets before every keyframe.
///
/// Confined to one thread at a time. Does not allocate per picture outside libav, and does not copy the picture: the library
/// makes its own copy while the call lasts.
@safe public final class VideoEncoder {
    private let place: String
    public private(set) var configuration: VideoEncoderConfiguration
    /// Bits a second that the level in the stream's headers allows.
    private let rateOfLevel: Int
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    private var frame: UnsafeMutablePointer<AVFrame>?
    private var lastTime = MediaTime(ticks: .min)
    private var messages: UnitMessages
    /// What pictures inside the encoder carry.
    private var userData: [Int64: PictureUserData] = [:]

    /// - Throws: `unsupportedFormat` for an odd size (H.264 with 4:2:0 has none) or one beyond the codec's levels,
    ///   `unsupportedCodec` when libavcodec comes without the library.
    public init(_ configuration: VideoEncoderConfiguration) throws(CodecError) {
        LibraryLog.capture()
        self.configuration = configuration
        place = "\(configuration.codec.name) encoder"
        messages = UnitMessages(for: configuration.codec)
        rateOfLevel = max(
            LevelLimit.maximumRate(of: configuration.size, frameRate: configuration.frameRate),
            configuration.rateControl.maximumRate ?? 0)
        let size = configuration.size
        guard configuration.frameRate.numerator > 0 else {
            throw CodecError(
                .unsupportedFormat, operation: "VideoEncoder.init",
                message: "a frame rate of \(configuration.frameRate)", place: place, advice: "give a positive one")
        }
        guard size.width >= 16, size.height >= 16, size.width <= 16384, size.height <= 16384,
            size.width % 2 == 0, size.height % 2 == 0
        else {
            throw CodecError(
                .unsupportedFormat, operation: "VideoEncoder.init",
                message: "cannot encode \(size) as \(configuration.codec.name)",
                place: place, advice: "give it an even width and height between 16 and 16384")
        }
        let library = configuration.codec.library
        guard let codec = unsafe avcodec_find_encoder_by_name(library) else {
            throw CodecError(
                .unsupportedCodec, operation: "avcodec_find_encoder_by_name", message: "libavcodec has no \(library)",
                place: place, advice: "install a libavcodec that was built with \(library), as Debian's is")
        }
        unsafe context = try check(avcodec_alloc_context3(codec), "avcodec_alloc_context3", at: place)
        unsafe packet = try check(av_packet_alloc(), "av_packet_alloc", at: place)
        unsafe frame = try check(av_frame_alloc(), "av_frame_alloc", at: place)
        unsafe try configuration.apply(to: context!, at: place)
        unsafe burnish_carry_numbers(context!)
        unsafe try check(
            avcodec_open2(context, codec, nil), "avcodec_open2", at: place, .unsupportedFormat,
            advice: "check size, rate and preset of the output")
        unsafe try prepareFrame(frame!)
    }

    deinit {
        unsafe av_frame_free(&frame)
        unsafe av_packet_free(&packet)
        unsafe avcodec_free_context(&context)
    }

    /// For a container's header, which holds the parameter sets where the stream does not.
    var contextForMuxer: UnsafeMutablePointer<AVCodecContext> { unsafe context! }

    /// Encodes one picture.
    /// - Parameters:
    ///   - picture: only read, and only during the call.
    ///   - id: comes out again with the unit.
    ///   - time: when it is to be shown; must be later than the one before.
    ///   - asKeyframe: makes it an IDR picture.
    ///   - userData: goes into the unit.
    ///   - emit: called with the unit, once for every picture with the settings of live streams; with B-frames or
    ///     lookahead there may be none, or one of an earlier picture.
    public func encode(
        _ picture: PictureView, id: Int64, at time: MediaTime, asKeyframe: Bool = false,
        carrying userData: PictureUserData? = nil, emit: (borrowing EncodedUnit) -> Void
    ) throws(CodecError) {
        guard unsafe picture.size == configuration.size else {
            throw unsafe CodecError(
                .unsupportedFormat, operation: "VideoEncoder.encode",
                message: "a picture of \(picture.size) for a stream of \(configuration.size)", place: place,
                advice: "open another encoder when the size changes")
        }
        guard time > lastTime else {
            throw CodecError(
                .invalidData, operation: "VideoEncoder.encode",
                message: "presentation time \(time.ticks) does not follow \(lastTime.ticks)", place: place,
                advice: "give pictures in the order they are shown in")
        }
        lastTime = time
        let frame = unsafe self.frame!
        unsafe frame.pointee.data.0 = UnsafeMutablePointer(mutating: picture.y.base)
        unsafe frame.pointee.data.1 = UnsafeMutablePointer(mutating: picture.u.base)
        unsafe frame.pointee.data.2 = UnsafeMutablePointer(mutating: picture.v.base)
        unsafe frame.pointee.linesize.0 = Int32(picture.y.stride)
        unsafe frame.pointee.linesize.1 = Int32(picture.u.stride)
        unsafe frame.pointee.linesize.2 = Int32(picture.v.stride)
        unsafe frame.pointee.pts = time.ticks
        unsafe burnish_number_picture(frame, id)
        unsafe frame.pointee.pict_type = asKeyframe ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
        if let userData { self.userData[id] = userData }
        unsafe try check(avcodec_send_frame(context, frame), "avcodec_send_frame", at: place)
        unsafe try emitUnits(emit)
    }

    /// Takes over another maximum rate with the next picture, which need not be a keyframe.
    ///
    /// Of H.264: libx264's wrapper compares `rc_max_rate` and `rc_buffer_size` with its own before each picture (libx264.c,
    /// `reconfig_encoder`). x264 counts on the frame rate that it was opened for, so a different one changes what a
    /// picture may take.
    /// - Parameters:
    ///   - rateControl: differs from the present one in its rate and buffer only.
    ///   - frameRate: pictures a second from now on.
    /// - Returns: false when it needs another encoder: the kind of rate control is another, or the rate exceeds what the
    ///   level in the stream's headers allows, or the codec is HEVC. Nothing has changed then.
    public func change(_ rateControl: VideoEncoderConfiguration.RateControl, at frameRate: Rational) -> Bool {
        guard configuration.codec == .h264, let rate = rateControl.maximumRate, rate <= rateOfLevel else { return false }
        let rateAsOpened = Int(Double(rate) * configuration.frameRate.value / frameRate.value)
        switch (configuration.rateControl, rateControl) {
        case (.quality(let former, _?, _), .quality(let factor, _?, let frames)) where factor == former:
            unsafe configuration.setBuffer(rateAsOpened, frames, of: context!)
        case (.rate, .rate(_, let frames)):
            unsafe configuration.setBuffer(rateAsOpened, frames, of: context!)
            unsafe context!.pointee.bit_rate = Int64(rateAsOpened)
        default: return false
        }
        configuration.rateControl = rateControl
        return true
    }

    /// Emits what is still inside: nothing with the settings of live streams. No picture can follow.
    public func finish(emit: (borrowing EncodedUnit) -> Void) throws(CodecError) {
        unsafe try check(avcodec_send_frame(context, nil), "avcodec_send_frame", at: place)
        unsafe try emitUnits(emit)
    }

    /// The coded picture that is being emitted, for a muxer of libavformat's. Only valid inside `emit`.
    var currentPacket: UnsafeMutablePointer<AVPacket> { unsafe packet! }

    private func emitUnits(_ emit: (borrowing EncodedUnit) -> Void) throws(CodecError) {
        while true {
            let code = unsafe avcodec_receive_packet(context, packet)
            if code == burnish_averror_again || code == burnish_averror_eof { return }
            try check(code, "avcodec_receive_packet", at: place)
            let coded = unsafe packet!
            let bytes = unsafe UnsafeRawBufferPointer(start: coded.pointee.data, count: Int(coded.pointee.size))
            let isKeyframe = unsafe coded.pointee.flags & AV_PKT_FLAG_KEY != 0
            let id = unsafe burnish_unit_number(context, coded)
            let quantiser = unsafe Self.quantiser(of: coded)
            func emitUnit(_ bytes: UnsafeRawBufferPointer) {
                unsafe emit(
                    EncodedUnit(
                        bytes: bytes, id: id,
                        presentationTime: MediaTime(ticks: coded.pointee.pts),
                        decodeTime: MediaTime(ticks: coded.pointee.dts), isKeyframe: isKeyframe, quantiser: quantiser))
            }
            messages.removeAll()
            if isKeyframe { messages.append(configuration.color.orientation) }
            if !userData.isEmpty, let data = userData.removeValue(forKey: id) { messages.append(data) }
            if messages.isEmpty {
                unsafe emitUnit(bytes)
            } else {
                unsafe messages.insert(into: bytes, emitUnit)
            }
            unsafe av_packet_unref(coded)
        }
    }

    /// Both wrappers state it in units of `FF_QP2LAMBDA` (libavcodec's packet.h, `AV_PKT_DATA_QUALITY_STATS`).
    private static func quantiser(of coded: UnsafeMutablePointer<AVPacket>) -> Float? {
        var size = 0
        guard let stats = unsafe av_packet_get_side_data(coded, AV_PKT_DATA_QUALITY_STATS, &size), size >= 4 else { return nil }
        let stated = unsafe UnsafeRawPointer(stats).loadUnaligned(as: UInt32.self).littleEndian
        return stated == 0 ? nil : Float(stated) / Float(FF_QP2LAMBDA)
    }

    /// Prepares the one frame that stands for every picture. libavcodec copies pictures that are not reference-counted,
    /// so the frame carries a reference to one byte. The planes that it points to belong to the caller of `encode`.
    private func prepareFrame(_ frame: UnsafeMutablePointer<AVFrame>) throws(CodecError) {
        unsafe frame.pointee.buf.0 = try check(av_buffer_alloc(1), "av_buffer_alloc", at: place)
        unsafe frame.pointee.width = Int32(configuration.size.width)
        unsafe frame.pointee.height = Int32(configuration.size.height)
        unsafe frame.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        unsafe frame.pointee.extended_data = burnish_frame_data(frame)
        let context = unsafe self.context!
        unsafe frame.pointee.color_primaries = context.pointee.color_primaries
        unsafe frame.pointee.color_trc = context.pointee.color_trc
        unsafe frame.pointee.colorspace = context.pointee.colorspace
        unsafe frame.pointee.color_range = context.pointee.color_range
        unsafe frame.pointee.chroma_location = context.pointee.chroma_sample_location
        unsafe frame.pointee.sample_aspect_ratio = context.pointee.sample_aspect_ratio
    }
}

extension OutputCodec {
    /// libavcodec's name of the encoder.
    fileprivate var library: String {
        switch self {
        case .h264: "libx264"
        case .hevc: "libx265"
        }
    }
}
