import Bitstream
import CFFmpeg
import Media

/// Decodes PNG files to 8 bits of red, green, blue and opacity. For images now and then: each call opens a decoder and a scaler, and
/// allocates. Thread-safe.
public enum PNGDecoder {
    private static let place = "image"

    /// - Throws: `invalidData` where the file is damaged.
    public static func decode(_ file: PNGChunks) throws(CodecError) -> OverlayImage {
        LibraryLog.capture()
        let codec = unsafe try check(
            UnsafeMutablePointer(mutating: avcodec_find_decoder(AV_CODEC_ID_PNG)), "avcodec_find_decoder", at: place)
        var context: UnsafeMutablePointer<AVCodecContext>? = unsafe avcodec_alloc_context3(codec)
        var packet = unsafe av_packet_alloc()
        defer {
            unsafe av_packet_free(&packet)
            unsafe avcodec_free_context(&context)
        }
        let decoder = unsafe try check(context, "avcodec_alloc_context3", at: place)
        let coded = unsafe try check(packet, "av_packet_alloc", at: place)
        unsafe decoder.pointee.thread_count = 1
        // libavcodec counts the samples of whole blocks.
        unsafe decoder.pointee.max_pixels = Int64((file.size.width + 128) * (file.size.height + 128))
        // A sum that does not match is a fault.
        unsafe decoder.pointee.err_recognition |= AV_EF_CRCCHECK | AV_EF_EXPLODE
        unsafe try check(avcodec_open2(decoder, codec, nil), "avcodec_open2", at: place)
        unsafe try check(av_new_packet(coded, Int32(file.bytes.count)), "av_new_packet", at: place)
        _ = unsafe UnsafeMutableBufferPointer(start: coded.pointee.data, count: file.bytes.count).update(
            fromContentsOf: file.bytes)
        let frame = try OwnedFrame()
        unsafe try check(avcodec_send_packet(decoder, coded), "avcodec_send_packet", at: place, .invalidData)
        unsafe try check(avcodec_send_packet(decoder, nil), "avcodec_send_packet", at: place)
        unsafe try check(avcodec_receive_frame(decoder, frame.pointer), "avcodec_receive_frame", at: place, .invalidData)
        return unsafe try convert(frame.pointer)
    }

    private static func convert(_ frame: UnsafeMutablePointer<AVFrame>) throws(CodecError) -> OverlayImage {
        let (width, height) = unsafe (frame.pointee.width, frame.pointee.height)
        let scaler = unsafe burnish_scaler_for(
            nil, width, height, AVPixelFormat(rawValue: frame.pointee.format), width, height, AV_PIX_FMT_RGBA, burnish_sws_flags
        )
        defer { unsafe burnish_scaler_free(scaler) }
        guard unsafe scaler != nil else {
            throw CodecError(
                .unsupportedFormat, operation: "sws_getCachedContext", message: "its samples cannot be converted", place: place)
        }
        let target = try OwnedFrame()
        let converted = unsafe target.pointer
        unsafe converted.pointee.format = AV_PIX_FMT_RGBA.rawValue
        unsafe converted.pointee.width = width
        unsafe converted.pointee.height = height
        unsafe try check(av_frame_get_buffer(converted, 0), "av_frame_get_buffer", at: place)
        unsafe try check(
            burnish_scale(
                scaler, burnish_const_planes(frame), burnish_linesizes(frame), height, burnish_frame_data(converted),
                burnish_linesizes(converted)), "sws_scale", at: place)
        var samples: [UInt8] = []
        samples.reserveCapacity(4 * Int(width) * Int(height))
        for y in 0..<Int(height) {
            let row = unsafe converted.pointee.data.0! + y * Int(converted.pointee.linesize.0)
            unsafe samples.append(contentsOf: UnsafeBufferPointer(start: row, count: 4 * Int(width)))
        }
        return OverlayImage(size: PictureSize(width: Int(width), height: Int(height)), samples: samples)
    }
}
