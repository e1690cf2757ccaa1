import CFFmpeg

/// Encodes 48 kHz stereo as Opus in packets of 10 ms, with the least delay that the format has (libopus by libavcodec).
///
/// Confined to one thread at a time.
@safe final class OpusEncoder {
    /// Samples of each channel in a packet.
    static let packetSamples = 480
    private static let bitRate: Int64 = 96_000
    private static let place = "Opus encoder"
    private let encoder: OpenedEncoder
    private let frame: OwnedFrame
    private var position: Int64 = 0

    /// So many samples later than it went in, a sample comes out of a decoder.
    var delay: Int { unsafe Int(encoder.context.pointee.initial_padding) }

    init() throws(CodecError) {
        LibraryLog.capture()
        encoder = unsafe try OpenedEncoder(AV_CODEC_ID_OPUS, at: Self.place) { context in
            unsafe context.pointee.sample_rate = Int32(SoundLine.rate)
            unsafe context.pointee.sample_fmt = AV_SAMPLE_FMT_FLT
            unsafe context.pointee.bit_rate = Self.bitRate
            unsafe context.pointee.time_base = AVRational(num: 1, den: Int32(SoundLine.rate))
            unsafe av_channel_layout_default(&context.pointee.ch_layout, Int32(SoundResampler.channels))
            unsafe av_opt_set(context.pointee.priv_data, "application", "lowdelay", 0)
            unsafe av_opt_set(context.pointee.priv_data, "frame_duration", "10", 0)
        }
        guard unsafe encoder.context.pointee.frame_size == Self.packetSamples else {
            throw CodecError(
                .unsupportedFormat, operation: "OpusEncoder.init", message: "no packets of 10 ms", place: Self.place,
                advice: "install a libavcodec with libopus")
        }
        self.frame = try OwnedFrame()
        let frame = unsafe self.frame.pointer
        unsafe frame.pointee.format = AV_SAMPLE_FMT_FLT.rawValue
        unsafe frame.pointee.nb_samples = Int32(Self.packetSamples)
        unsafe frame.pointee.sample_rate = Int32(SoundLine.rate)
        unsafe av_channel_layout_copy(&frame.pointee.ch_layout, &encoder.context.pointee.ch_layout)
        unsafe try check(av_frame_get_buffer(frame, 0), "av_frame_get_buffer", at: Self.place)
    }

    /// Encodes the next ``packetSamples``.
    /// - Parameters:
    ///   - samples: interleaved. What no loudspeaker could play becomes what it can.
    ///   - emit: gets the packet, borrowed for the call.
    func encode(_ samples: UnsafePointer<Float>, emit: (UnsafeRawBufferPointer) -> Void) throws(CodecError) {
        let frame = unsafe self.frame.pointer
        let (context, packet) = unsafe (encoder.context, encoder.packet)
        unsafe try check(av_frame_make_writable(frame), "av_frame_make_writable", at: Self.place)
        let target = unsafe UnsafeMutableRawPointer(frame.pointee.data.0!).assumingMemoryBound(to: Float.self)
        for n in 0..<Self.packetSamples * SoundResampler.channels {
            let sample = unsafe samples[n]
            unsafe target[n] = sample.isNaN ? 0 : min(max(sample, -1), 1)
        }
        unsafe frame.pointee.pts = position
        position += Int64(Self.packetSamples)
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
