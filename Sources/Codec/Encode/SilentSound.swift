import Bitstream
import CFFmpeg

/// Makes coded frames of silence for a stream of sound, by libavcodec's encoders, and for Opus by hand.
public enum SilentSound {
    private static let place = "silent sound"
    /// Frames after which an encoder's output no longer changes.
    private static let frames = 6

    /// A frame of silence, with the header that it has in a transport stream. Each frame can follow itself.
    /// - Throws: `unsupportedFormat` or `unsupportedCodec` where libavcodec cannot make such a stream.
    public static func frame(_ format: SoundFrame.Format) throws(CodecError) -> [UInt8] {
        LibraryLog.capture()
        switch format.codec {
        case .aac:
            guard let rate = SoundFrame.aacSampleRates.firstIndex(of: format.sampleRate), format.channels <= 8,
                format.channels != 7
            else {
                throw CodecError(
                    .unsupportedFormat, operation: "SilentSound.frame",
                    message: "AAC with \(format.channels) channels at \(format.sampleRate) Hz", place: place,
                    advice: "send sound with up to 6 channels")
            }
            let block = try encode(format, AV_CODEC_ID_AAC, bitRate: 64_000)
            let length = block.count + 7
            let configuration = format.channels == 8 ? 7 : format.channels
            // ISO/IEC 13818-7, 6.2: AAC-LC, no checksum, one block.
            return [
                0xFF, 0xF1, UInt8(1 << 6 | rate << 2 | configuration >> 2),
                UInt8((configuration & 3) << 6 | length >> 11), UInt8(length >> 3 & 0xFF), UInt8((length & 7) << 5 | 0x1F),
                0xFC,
            ] + block
        case .layer2: return try encode(format, AV_CODEC_ID_MP2, bitRate: format.bitRate)
        case .ac3: return try encode(format, AV_CODEC_ID_AC3, bitRate: format.bitRate)
        case .opus:
            // A control header; then CELT, 20 ms, and a frame that says that it is silent.
            return [0x7F, 0xE0, 3, format.channels == 2 ? 0xFC : 0xF8, 0xFF, 0xFE]
        }
    }

    private static func encode(_ format: SoundFrame.Format, _ id: AVCodecID, bitRate: Int) throws(CodecError) -> [UInt8] {
        let encoder = unsafe try OpenedEncoder(id, at: place) { context in
            unsafe context.pointee.sample_rate = Int32(format.sampleRate)
            unsafe context.pointee.sample_fmt = burnish_first_sample_format(context)
            unsafe context.pointee.bit_rate = Int64(bitRate)
            unsafe av_channel_layout_default(&context.pointee.ch_layout, Int32(format.channels))
        }
        let (opened, packet) = unsafe (encoder.context, encoder.packet)
        let sampleFormat = unsafe opened.pointee.sample_fmt
        let frame = try OwnedFrame()
        let samples = unsafe frame.pointer
        unsafe samples.pointee.format = sampleFormat.rawValue
        unsafe samples.pointee.nb_samples = opened.pointee.frame_size
        unsafe samples.pointee.sample_rate = opened.pointee.sample_rate
        unsafe av_channel_layout_copy(&samples.pointee.ch_layout, &opened.pointee.ch_layout)
        unsafe try check(av_frame_get_buffer(samples, 0), "av_frame_get_buffer", at: place)
        unsafe try check(
            av_samples_set_silence(
                burnish_frame_data(samples), 0, opened.pointee.frame_size, Int32(format.channels), sampleFormat),
            "av_samples_set_silence", at: place)
        var newest: [UInt8] = []
        for number in 0..<Int64(frames) {
            unsafe samples.pointee.pts = number * Int64(opened.pointee.frame_size)
            unsafe try check(avcodec_send_frame(opened, samples), "avcodec_send_frame", at: place)
            while true {
                let code = unsafe avcodec_receive_packet(opened, packet)
                if code == burnish_averror_again { break }
                try check(code, "avcodec_receive_packet", at: place)
                newest = unsafe Array(
                    UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
                unsafe av_packet_unref(packet)
            }
        }
        return newest
    }
}
