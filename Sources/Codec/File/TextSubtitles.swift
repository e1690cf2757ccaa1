import CFFmpeg

/// Brings the packets of text subtitles to the format that another container has for them.
///
/// Confined to one thread at a time.
@safe final class TextSubtitles {
    private let place: String
    private var decoder: UnsafeMutablePointer<AVCodecContext>?
    private var encoder: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?

    /// Text of one subtitle: more is cut off.
    private static let mostBytes = 1 << 16

    /// The format that takes the place of one that a container does not hold; nil where there is none.
    static func format(in container: ContainerContents.Family, for codec: AVCodecID) -> AVCodecID? {
        let texts = [
            AV_CODEC_ID_SUBRIP, AV_CODEC_ID_TEXT, AV_CODEC_ID_WEBVTT, AV_CODEC_ID_MOV_TEXT, AV_CODEC_ID_ASS, AV_CODEC_ID_SSA,
        ]
        guard texts.contains(codec) else { return nil }
        let format: AVCodecID
        switch container {
        case .mov: format = AV_CODEC_ID_MOV_TEXT
        case .matroska: format = AV_CODEC_ID_SUBRIP
        case .transportStream, .other: return nil
        }
        let isThere = unsafe avcodec_find_decoder(codec) != nil && avcodec_find_encoder(format) != nil
        return isThere && format != codec ? format : nil
    }

    /// Whether subtitles of a format say where and how they are shown, which the other format does not hold.
    static func hasLayout(_ codec: AVCodecID) -> Bool { codec == AV_CODEC_ID_ASS || codec == AV_CODEC_ID_SSA }

    /// - Parameters:
    ///   - source: the stream that packets come from.
    ///   - place: of the output.
    init(
        _ source: UnsafeMutablePointer<AVStream>, to format: AVCodecID, at place: String
    ) throws(CodecError) {
        self.place = place
        let parameters = unsafe source.pointee.codecpar!
        let codec = unsafe avcodec_find_decoder(parameters.pointee.codec_id)
        unsafe decoder = try check(avcodec_alloc_context3(codec), "avcodec_alloc_context3", at: place)
        unsafe try check(avcodec_parameters_to_context(decoder, parameters), "avcodec_parameters_to_context", at: place)
        unsafe decoder!.pointee.pkt_timebase = source.pointee.time_base
        unsafe try check(avcodec_open2(decoder, codec, nil), "avcodec_open2", at: place, .unsupportedCodec)
        let writing = unsafe avcodec_find_encoder(format)
        unsafe encoder = try check(avcodec_alloc_context3(writing), "avcodec_alloc_context3", at: place)
        unsafe encoder!.pointee.time_base = AVRational(num: 1, den: 1000)
        // The styles that texts name.
        let count = unsafe Int(decoder!.pointee.subtitle_header_size)
        if count > 0, let header = unsafe decoder!.pointee.subtitle_header {
            let copy = unsafe try check(
                av_mallocz(count + 1)?.assumingMemoryBound(to: UInt8.self), "av_mallocz", at: place)
            unsafe copy.update(from: header, count: count)
            unsafe encoder!.pointee.subtitle_header = copy
            unsafe encoder!.pointee.subtitle_header_size = Int32(count)
        }
        unsafe try check(avcodec_open2(encoder, writing, nil), "avcodec_open2", at: place, .unsupportedCodec)
        unsafe packet = try check(av_packet_alloc(), "av_packet_alloc", at: place)
    }

    deinit {
        unsafe av_packet_free(&packet)
        unsafe avcodec_free_context(&encoder)
        unsafe avcodec_free_context(&decoder)
    }

    /// Says in a stream's parameters what packets are.
    func describe(_ parameters: UnsafeMutablePointer<AVCodecParameters>) throws(CodecError) {
        unsafe try check(avcodec_parameters_from_context(parameters, encoder), "avcodec_parameters_from_context", at: place)
    }

    /// The same subtitle in the other format, with the times of the packet. Valid until the next call.
    /// - Returns: nil where there is nothing to show.
    /// - Throws: `invalidData` for a packet that is damaged.
    func convert(_ source: UnsafeMutablePointer<AVPacket>) throws(CodecError) -> UnsafeMutablePointer<AVPacket>? {
        var subtitle = unsafe AVSubtitle()
        var isThere: Int32 = 0
        unsafe try check(
            avcodec_decode_subtitle2(decoder, &subtitle, &isThere, source), "avcodec_decode_subtitle2", at: place,
            .invalidData)
        defer { unsafe avsubtitle_free(&subtitle) }
        guard isThere != 0, unsafe subtitle.num_rects > 0 else { return nil }
        let converted = unsafe packet!
        unsafe av_packet_unref(converted)
        unsafe try check(av_new_packet(converted, Int32(Self.mostBytes)), "av_new_packet", at: place)
        let count = unsafe try check(
            avcodec_encode_subtitle(encoder, converted.pointee.data, Int32(Self.mostBytes), &subtitle),
            "avcodec_encode_subtitle", at: place, .invalidData)
        guard count > 0 else { return nil }
        unsafe av_shrink_packet(converted, count)
        unsafe (converted.pointee.pts, converted.pointee.dts) = (source.pointee.pts, source.pointee.dts)
        unsafe converted.pointee.duration = source.pointee.duration
        unsafe converted.pointee.flags = AV_PKT_FLAG_KEY
        return unsafe converted
    }
}
