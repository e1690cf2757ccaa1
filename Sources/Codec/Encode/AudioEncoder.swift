import CFFmpeg

/// Encodes mono samples as AAC-LC frames (libavcodec's own encoder) without a container's header: raw data blocks of
/// ISO/IEC 14496-3, 4.4.2.1. For instruments; a relay passes audio through untouched.
///
/// Confined to one thread at a time.
@safe public final class AudioEncoder {
    public static let samplesInFrame = 1024
    /// How many frames the output lags behind the input: the first frame is half of what primes a decoder, and one is
    /// held back.
    public static let delayInFrames = 2
    private static let place = "AAC encoder"
    private let encoder: OpenedEncoder
    private let frame: OwnedFrame
    private var position: Int64 = 0

    /// - Parameters:
    ///   - sampleRate: one of AAC's rates, in samples a second.
    ///   - bitRate: bits a second.
    /// - Throws: `unsupportedCodec` when libavcodec comes without an AAC encoder, `unsupportedFormat` for another rate.
    public init(sampleRate: Int, bitRate: Int) throws(CodecError) {
        LibraryLog.capture()
        encoder = unsafe try OpenedEncoder(AV_CODEC_ID_AAC, at: Self.place) { context in
            unsafe context.pointee.sample_rate = Int32(sampleRate)
            unsafe context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
            unsafe context.pointee.bit_rate = Int64(bitRate)
            unsafe av_channel_layout_default(&context.pointee.ch_layout, 1)
        }
        self.frame = try OwnedFrame()
        let frame = unsafe self.frame.pointer
        unsafe frame.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
        unsafe frame.pointee.nb_samples = Int32(Self.samplesInFrame)
        unsafe frame.pointee.sample_rate = Int32(sampleRate)
        unsafe av_channel_layout_copy(&frame.pointee.ch_layout, &encoder.context.pointee.ch_layout)
        unsafe try check(av_frame_get_buffer(frame, 0), "av_frame_get_buffer", at: Self.place)
    }

    /// Encodes the next ``samplesInFrame`` samples.
    /// - Parameters:
    ///   - sample: returns the n-th of them, -1…1.
    ///   - emit: called with the raw data block of the frame ``delayInFrames`` before these samples, borrowed for the
    ///     call; not called for the very first samples.
    public func encode(_ sample: (Int) -> Float, emit: (UnsafeRawBufferPointer) -> Void) throws(CodecError) {
        let frame = unsafe self.frame.pointer
        let (context, packet) = unsafe (encoder.context, encoder.packet)
        // The encoder may still refer to the samples before.
        unsafe try check(av_frame_make_writable(frame), "av_frame_make_writable", at: Self.place)
        let samples = unsafe UnsafeMutableRawPointer(frame.pointee.data.0!).assumingMemoryBound(to: Float.self)
        for n in 0..<Self.samplesInFrame { unsafe samples[n] = sample(n) }
        unsafe frame.pointee.pts = position
        position += Int64(Self.samplesInFrame)
        unsafe try check(avcodec_send_frame(context, frame), "avcodec_send_frame", at: Self.place)
        while true {
            let code = unsafe avcodec_receive_packet(context, packet)
            if code == burnish_averror_again { return }
            try check(code, "avcodec_receive_packet", at: Self.place)
            unsafe emit(UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
            unsafe av_packet_unref(packet)
        }
    }
}
