import CFFmpeg
import Media

/// Writes a container of libavformat's: one H.264 stream and copied audio.
///
/// Confined to one thread at a time.
@safe final class EncodedFileWriter {
    private let place: String
    private let encoder: VideoEncoder
    private var format: UnsafeMutablePointer<AVFormatContext>?
    /// The time bases of the packets that come in, by output stream.
    private var timeBases: [AVRational] = []
    private var nextID: Int64 = 0
    /// Of the packets written, by output stream.
    private var lastDecodes: [Int64] = []
    private var isFinished = false

    init(path: String, video: FileVideo, audio: FileReader?, settings: MediaFileWriter.Settings) throws(CodecError) {
        place = path
        var configuration = VideoEncoderConfiguration(size: video.size, frameRate: video.frameRate)
        configuration.color = video.color
        configuration.preset = settings.preset
        configuration.rateControl = .quality(settings.quality, maximumRate: nil, bufferFrames: 2)
        configuration.threads = settings.threads
        configuration.fileTimeBase = video.timeBase
        encoder = try VideoEncoder(configuration)
        unsafe try check(
            avformat_alloc_output_context2(&format, nil, nil, "file:\(path)"), "avformat_alloc_output_context2",
            at: place, .unsupportedCodec, advice: "give the file an extension that names a container, such as .mp4")
        try addVideo()
        if let audio { try addAudio(of: audio) }
        let output = unsafe format!
        unsafe try check(
            avio_open(&output.pointee.pb, "file:\(path)", AVIO_FLAG_WRITE), "avio_open", at: place, .cannotOpen,
            advice: "check the path and its permissions")
        unsafe try check(
            avformat_write_header(output, nil), "avformat_write_header", at: place, .unsupportedCodec,
            advice: "choose a container that can hold these streams, such as .mkv")
    }

    deinit {
        guard let output = unsafe format else { return }
        unsafe avio_closep(&output.pointee.pb)
        unsafe avformat_free_context(output)
    }

    func write(_ picture: PictureView, at time: Int64, carrying userData: PictureUserData?) throws(CodecError) {
        var failure: CodecError?
        unsafe try encoder.encode(picture, id: nextID, at: MediaTime(ticks: time), carrying: userData) { unit in
            failure = unsafe writeUnit(unit, failure)
        }
        nextID += 1
        if let failure { throw failure }
    }

    func write(_ packet: borrowing CodedPacket) throws(CodecError) {
        unsafe try write(packet.packet!, to: packet.stream + 1)
    }

    /// Completes the file. The index is written whatever else fails, because without it nothing of the file can be
    /// played.
    func finish() throws(CodecError) {
        if isFinished { return }
        isFinished = true
        var failure: CodecError?
        do throws(CodecError) {
            unsafe try encoder.finish { unit in failure = unsafe writeUnit(unit, failure) }
        } catch { failure = failure ?? error }
        let trailer = unsafe av_write_trailer(format)
        let closing = unsafe avio_closep(&format!.pointee.pb)
        if let failure { throw failure }
        try check(trailer, "av_write_trailer", at: place, .writeFailed)
        try check(closing, "avio_closep", at: place, .writeFailed)
    }

    /// Writes the encoder's current packet, unless something has failed before.
    /// - Parameter unit: its bytes, with what has been put in.
    /// - Returns: the first failure.
    private func writeUnit(_ unit: borrowing EncodedUnit, _ failure: CodecError?) -> CodecError? {
        if let failure { return failure }
        do throws(CodecError) {
            let packet = unsafe encoder.currentPacket
            let added = unsafe unit.bytes.count - Int(packet.pointee.size)
            if added > 0, let bytes = unsafe unit.bytes.baseAddress {
                unsafe try check(av_grow_packet(packet, Int32(added)), "av_grow_packet", at: place)
                unsafe UnsafeMutableRawPointer(packet.pointee.data!).copyMemory(from: bytes, byteCount: unit.bytes.count)
            }
            unsafe try write(packet, to: 0)
            return nil
        } catch { return error }
    }

    private func write(_ packet: UnsafeMutablePointer<AVPacket>, to index: Int) throws(CodecError) {
        let stream = unsafe format!.pointee.streams[index]!
        unsafe packet.pointee.stream_index = Int32(index)
        unsafe packet.pointee.pos = -1
        unsafe av_packet_rescale_ts(packet, timeBases[index], stream.pointee.time_base)
        // A muxer refuses a packet whose time goes back, and ends the file there. Of two recordings that overlap, keep
        // the first.
        let decode = unsafe packet.pointee.dts
        if index > 0, decode != burnish_nopts {
            if decode <= lastDecodes[index] { return }
            lastDecodes[index] = decode
        }
        unsafe try check(
            av_interleaved_write_frame(format, packet), "av_interleaved_write_frame", at: place, .writeFailed,
            advice: "check the space on the disk")
    }

    private func addVideo() throws(CodecError) {
        let output = unsafe format!
        // A negative answer means that the container does not say. Then writing its header will tell.
        guard unsafe avformat_query_codec(output.pointee.oformat, AV_CODEC_ID_H264, FF_COMPLIANCE_NORMAL) != 0 else {
            throw CodecError(
                .unsupportedCodec, operation: "avformat_query_codec", message: "this container cannot hold H.264",
                place: place, advice: "use .mp4, .mkv, .mov or .ts, or .y4m for uncompressed pictures")
        }
        let stream = unsafe try check(avformat_new_stream(output, nil), "avformat_new_stream", at: place)
        let context = unsafe encoder.contextForMuxer
        unsafe try check(
            avcodec_parameters_from_context(stream.pointee.codecpar, context), "avcodec_parameters_from_context",
            at: place)
        unsafe stream.pointee.time_base = context.pointee.time_base
        unsafe stream.pointee.avg_frame_rate = context.pointee.framerate
        unsafe stream.pointee.sample_aspect_ratio = context.pointee.sample_aspect_ratio
        unsafe timeBases.append(context.pointee.time_base)
        lastDecodes.append(.min)
    }

    private func addAudio(of reader: FileReader) throws(CodecError) {
        for index in reader.audioStreams {
            let source = unsafe reader.format!.pointee.streams[index]!
            let stream = unsafe try check(avformat_new_stream(format, nil), "avformat_new_stream", at: place)
            unsafe try check(
                avcodec_parameters_copy(stream.pointee.codecpar, source.pointee.codecpar), "avcodec_parameters_copy",
                at: place)
            // Tags belong to the container that the stream comes from.
            unsafe stream.pointee.codecpar.pointee.codec_tag = 0
            unsafe stream.pointee.time_base = source.pointee.time_base
            unsafe timeBases.append(source.pointee.time_base)
            lastDecodes.append(.min)
        }
    }
}
