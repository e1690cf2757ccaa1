import CFFmpeg

/// An open encoder of libavcodec, and a packet for what comes out of it. Both are freed with this value.
///
/// Confined to one thread at a time.
@safe struct OpenedEncoder: ~Copyable {
    @unsafe let context: UnsafeMutablePointer<AVCodecContext>
    @unsafe let packet: UnsafeMutablePointer<AVPacket>

    /// - Parameters:
    ///   - place: the stage that the encoder is for.
    ///   - configure: sets what is to be encoded. `codec` of the context is set already.
    /// - Throws: `unsupportedCodec` when libavcodec comes without the encoder, `unsupportedFormat` when the encoder refuses what
    ///   was set.
    init(
        _ id: AVCodecID, at place: String, configure: (UnsafeMutablePointer<AVCodecContext>) -> Void
    ) throws(CodecError) {
        guard let codec = unsafe avcodec_find_encoder(id) else {
            let name = unsafe String(cString: avcodec_get_name(id))
            throw CodecError(
                .unsupportedCodec, operation: "avcodec_find_encoder", message: "libavcodec has no encoder for \(name)",
                place: place, advice: "install a complete libavcodec")
        }
        let context = unsafe try check(avcodec_alloc_context3(codec), "avcodec_alloc_context3", at: place)
        do throws(CodecError) {
            unsafe configure(context)
            unsafe try check(avcodec_open2(context, codec, nil), "avcodec_open2", at: place, .unsupportedFormat)
            unsafe packet = try check(av_packet_alloc(), "av_packet_alloc", at: place)
        } catch {
            var context: UnsafeMutablePointer<AVCodecContext>? = unsafe context
            unsafe avcodec_free_context(&context)
            throw error
        }
        unsafe self.context = unsafe context
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = unsafe self.packet
        var context: UnsafeMutablePointer<AVCodecContext>? = unsafe self.context
        unsafe av_packet_free(&packet)
        unsafe avcodec_free_context(&context)
    }
}
