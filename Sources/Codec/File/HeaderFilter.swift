import CFFmpeg

/// Takes the headers from AAC frames (ADTS), which MP4 has once. libavformat does it by itself only where a file is not in fragments.
@safe final class HeaderFilter {
    private let context: UnsafeMutablePointer<AVBSFContext>

    /// - Parameters:
    ///   - parameters: of the stream; borrowed for the call.
    ///   - timeBase: its ticks.
    init(_ parameters: UnsafeMutablePointer<AVCodecParameters>, _ timeBase: AVRational, at place: String) throws(CodecError) {
        var filter: UnsafeMutablePointer<AVBSFContext>?
        unsafe try check(av_bsf_alloc(av_bsf_get_by_name("aac_adtstoasc"), &filter), "av_bsf_alloc", at: place)
        unsafe context = try check(filter, "av_bsf_alloc", at: place)
        unsafe try check(avcodec_parameters_copy(context.pointee.par_in, parameters), "avcodec_parameters_copy", at: place)
        unsafe context.pointee.time_base_in = timeBase
        unsafe try check(av_bsf_init(context), "av_bsf_init", at: place, .unsupportedCodec)
    }

    deinit {
        var filter: UnsafeMutablePointer<AVBSFContext>? = unsafe context
        unsafe av_bsf_free(&filter)
    }

    /// Replaces a packet by the one without its header.
    /// - Returns: false where it is not what its stream says.
    func apply(to packet: UnsafeMutablePointer<AVPacket>) -> Bool {
        unsafe av_bsf_send_packet(context, packet) >= 0 && av_bsf_receive_packet(context, packet) >= 0
    }
}
