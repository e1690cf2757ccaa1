import CFFmpeg
import Media

/// Copies a transport stream into an MP4 file without another encode: video, sound and what else MP4 holds. Times begin with the first
/// keyframe.
///
/// The bytes come from and go to closures, so neither end needs a path. Each call runs to the end on the caller's thread.
@safe public enum MovieCopy {
    /// Gives the transport stream: fills the buffer, and returns how many bytes it has filled; 0 at the end.
    public typealias Reading = (UnsafeMutableRawBufferPointer) -> Int
    /// Writes bytes at a place of the file.
    /// - Returns: false where that cannot be done.
    public typealias Writing = (UnsafeRawBufferPointer, _ place: Int64) -> Bool

    private static let place = "MP4 file"
    private static let bufferSize: Int32 = 1 << 16

    /// What libavformat's callbacks reach.
    @safe private final class Ends {
        let reading: Reading
        let writing: Writing
        var position: Int64 = 0
        var size: Int64 = 0
        var hasFailed = false

        init(_ reading: @escaping Reading, _ writing: @escaping Writing) {
            unsafe self.reading = unsafe reading
            unsafe self.writing = unsafe writing
        }
    }

    /// How long a fragment gets where keyframes are further apart, in microseconds: what a crash costs at most.
    private static let longestFragment = "1000000"
    /// So many units are kept before the first picture.
    private static let mostEarly = 1024

    /// - Parameter isFragmented: the file can be played up to where it ends, however that comes. Then it also has the sound that comes
    ///   with the first keyframe and is heard before it.
    /// - Returns: how many units were left out because MP4 refused them, or their stream began too late.
    /// - Throws: `noVideo` where the stream has nothing that MP4 holds, `writeFailed`.
    @discardableResult public static func run(
        isFragmented: Bool, reading: @escaping Reading, writing: @escaping Writing
    ) throws(CodecError) -> Int {
        LibraryLog.capture()
        let ends = unsafe Ends(reading, writing)
        let copy = unsafe Copy(Unmanaged.passUnretained(ends).toOpaque())
        do throws(CodecError) {
            try copy.openInput(bufferSize)
            try copy.openOutput(bufferSize, isFragmented: isFragmented)
            try copy.copyPackets()
        } catch {
            if ends.hasFailed { throw writeFailure }
            throw error
        }
        // What was buffered may have failed last.
        copy.close()
        if ends.hasFailed { throw writeFailure }
        return withExtendedLifetime(ends) { copy.refused }
    }

    private static var writeFailure: CodecError {
        CodecError(
            .writeFailed, operation: "write", message: "the file cannot be written", place: place,
            advice: "check the space on the disk")
    }

    /// libavformat's contexts, freed with this value.
    @safe private final class Copy {
        private let ends: UnsafeMutableRawPointer
        private var input: UnsafeMutablePointer<AVFormatContext>?
        private var output: UnsafeMutablePointer<AVFormatContext>?
        private var source: UnsafeMutablePointer<AVIOContext>?
        private var sink: UnsafeMutablePointer<AVIOContext>?
        /// The output's stream for each of the input's; nil for what is left out.
        private var streams: [Int32?] = []
        /// By the input's streams, where they need one.
        private var filters: [Int: HeaderFilter] = [:]
        private var video: Int?
        private var isFragmented = false
        /// The first keyframe's decoding time, in the input's ticks of 90 kHz.
        private var start: Int64?
        /// What is written as soon as the first keyframe is known, each with its stream of the input.
        private var early: [(packet: UnsafeMutablePointer<AVPacket>, stream: Int)] = unsafe []
        /// Units that were left out and should not have been.
        private(set) var refused = 0

        init(_ ends: UnsafeMutableRawPointer) { unsafe self.ends = ends }

        deinit { close() }

        func close() {
            freeEarly()
            if unsafe sink != nil { unsafe avio_flush(sink) }
            unsafe avformat_close_input(&input)
            unsafe avformat_free_context(output)
            unsafe output = nil
            unsafe Self.free(&source)
            unsafe Self.free(&sink)
        }

        private static func free(_ context: inout UnsafeMutablePointer<AVIOContext>?) {
            guard unsafe context != nil else { return }
            unsafe av_freep(&context!.pointee.buffer)
            unsafe avio_context_free(&context)
        }

        func openInput(_ bufferSize: Int32) throws(CodecError) {
            let buffer = unsafe av_malloc(Int(bufferSize))?.assumingMemoryBound(to: UInt8.self)
            unsafe source = avio_alloc_context(
                try check(buffer, "av_malloc", at: place), bufferSize, 0, ends,
                { opaque, bytes, count in
                    let ends = unsafe Unmanaged<Ends>.fromOpaque(opaque!).takeUnretainedValue()
                    let filled = unsafe ends.reading(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
                    return filled > 0 ? Int32(filled) : burnish_averror_eof
                }, nil, nil)
            let context = unsafe try check(avformat_alloc_context(), "avformat_alloc_context", at: place)
            unsafe context.pointee.pb = source
            unsafe context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
            // No longer than it takes to see the first frame of each stream: live ends wait for it.
            unsafe context.pointee.max_analyze_duration = 1_000_000
            unsafe input = context
            unsafe try check(
                avformat_open_input(&input, nil, av_find_input_format("mpegts"), nil), "avformat_open_input", at: place,
                .invalidData)
            unsafe try check(avformat_find_stream_info(input, nil), "avformat_find_stream_info", at: place, .invalidData)
        }

        func openOutput(_ bufferSize: Int32, isFragmented: Bool) throws(CodecError) {
            self.isFragmented = isFragmented
            unsafe try check(
                avformat_alloc_output_context2(&output, nil, "mp4", nil), "avformat_alloc_output_context2", at: place,
                .unsupportedCodec)
            let (from, to) = unsafe (input!, output!)
            let container = unsafe ContainerContents(to.pointee.oformat)
            for index in unsafe 0..<Int(from.pointee.nb_streams) {
                let stream = unsafe from.pointee.streams[index]!
                let parameters = unsafe stream.pointee.codecpar!
                guard unsafe Self.isWhole(parameters), unsafe container.holds(parameters.pointee.codec_id) ?? true else {
                    streams.append(nil)
                    continue
                }
                if unsafe parameters.pointee.codec_type == AVMEDIA_TYPE_VIDEO {
                    guard video == nil else {
                        streams.append(nil)
                        continue
                    }
                    video = index
                }
                let added = unsafe try check(avformat_new_stream(to, nil), "avformat_new_stream", at: place)
                unsafe try check(
                    avcodec_parameters_copy(added.pointee.codecpar, parameters), "avcodec_parameters_copy", at: place)
                unsafe added.pointee.codecpar.pointee.codec_tag = 0
                unsafe added.pointee.time_base = stream.pointee.time_base
                if isFragmented, unsafe parameters.pointee.codec_id == AV_CODEC_ID_AAC {
                    filters[index] = unsafe try HeaderFilter(parameters, stream.pointee.time_base, at: place)
                }
                streams.append(unsafe added.pointee.index)
            }
            guard video != nil else {
                throw CodecError(
                    .noVideo, operation: "MovieCopy", message: "there is no video that MP4 holds", place: place,
                    advice: "ask for a transport stream (.ts)")
            }
            let buffer = unsafe av_malloc(Int(bufferSize))?.assumingMemoryBound(to: UInt8.self)
            unsafe sink = avio_alloc_context(
                try check(buffer, "av_malloc", at: place), bufferSize, 1, ends, nil,
                { opaque, bytes, count in
                    let ends = unsafe Unmanaged<Ends>.fromOpaque(opaque!).takeUnretainedValue()
                    guard unsafe ends.writing(UnsafeRawBufferPointer(start: bytes, count: Int(count)), ends.position) else {
                        ends.hasFailed = true
                        return burnish_averror_eof
                    }
                    ends.position += Int64(count)
                    ends.size = max(ends.size, ends.position)
                    return count
                },
                { opaque, offset, whence in
                    let ends = unsafe Unmanaged<Ends>.fromOpaque(opaque!).takeUnretainedValue()
                    switch whence & ~Int32(AVSEEK_FORCE) {
                    case SEEK_SET: ends.position = offset
                    case SEEK_CUR: ends.position += offset
                    case SEEK_END: ends.position = ends.size + offset
                    case Int32(AVSEEK_SIZE): return ends.size
                    default: return -1
                    }
                    return ends.position
                })
            unsafe to.pointee.pb = sink
            unsafe to.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
            var options: OpaquePointer?
            defer { unsafe av_dict_free(&options) }
            if isFragmented {
                // The header waits for the first fragment. Only then it can say what AAC is like, and how sound and pictures lie apart.
                unsafe av_dict_set(&options, "movflags", "frag_keyframe+delay_moov+default_base_moof", 0)
                unsafe av_dict_set(&options, "frag_duration", MovieCopy.longestFragment, 0)
                unsafe to.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
                // Sound may be heard before the first keyframe.
                unsafe to.pointee.avoid_negative_ts = AVFMT_AVOID_NEG_TS_MAKE_ZERO
            }
            unsafe try check(avformat_write_header(to, &options), "avformat_write_header", at: place, .unsupportedCodec)
        }

        /// Whether enough is known of a stream to describe it.
        private static func isWhole(_ parameters: UnsafeMutablePointer<AVCodecParameters>) -> Bool {
            switch unsafe parameters.pointee.codec_type {
            case AVMEDIA_TYPE_VIDEO: unsafe parameters.pointee.width > 0
            case AVMEDIA_TYPE_AUDIO: unsafe parameters.pointee.sample_rate > 0
            default: false
            }
        }

        func copyPackets() throws(CodecError) {
            var packet = unsafe av_packet_alloc()
            defer { unsafe av_packet_free(&packet) }
            let coded = unsafe try check(packet, "av_packet_alloc", at: place)
            while unsafe av_read_frame(input, coded) >= 0 {
                defer { unsafe av_packet_unref(coded) }
                let index = unsafe Int(coded.pointee.stream_index)
                guard streams.indices.contains(index) else {
                    refused += 1
                    continue
                }
                guard let stream = streams[index] else { continue }
                if start == nil {
                    guard index == video, unsafe coded.pointee.flags & AV_PKT_FLAG_KEY != 0 else {
                        if index != video { unsafe try hold(coded) }
                        continue
                    }
                    start = unsafe stamp(coded)
                    guard start != nil else {
                        refused += 1
                        continue
                    }
                    for unsafe(held, source) in unsafe early { unsafe try write(held, from: source, to: streams[source]!) }
                    freeEarly()
                }
                unsafe try write(coded, from: index, to: stream)
            }
            refused += unsafe early.count
            unsafe try check(av_write_trailer(output), "av_write_trailer", at: place, .writeFailed)
        }

        /// Keeps what libavformat gives before the first picture. Such a unit comes after it in the stream: where a picture ends is only
        /// known when the next one begins.
        private func hold(_ coded: UnsafeMutablePointer<AVPacket>) throws(CodecError) {
            guard unsafe early.count < MovieCopy.mostEarly else {
                refused += 1
                return
            }
            let held = unsafe try check(av_packet_alloc(), "av_packet_alloc", at: place)
            unsafe av_packet_move_ref(held, coded)
            unsafe early.append((held, Int(held.pointee.stream_index)))
        }

        private func freeEarly() {
            for unsafe(packet, _) in unsafe early {
                var packet: UnsafeMutablePointer<AVPacket>? = unsafe packet
                unsafe av_packet_free(&packet)
            }
            unsafe early = []
        }

        private func stamp(_ coded: UnsafeMutablePointer<AVPacket>) -> Int64? {
            let stamp = unsafe coded.pointee.dts != burnish_nopts ? coded.pointee.dts : coded.pointee.pts
            return unsafe stamp != burnish_nopts && coded.pointee.pts != burnish_nopts ? stamp : nil
        }

        /// - Parameters:
        ///   - index: its stream of the input.
        ///   - stream: its stream of the output.
        private func write(
            _ coded: UnsafeMutablePointer<AVPacket>, from index: Int, to stream: Int32
        ) throws(CodecError) {
            guard let stamp = unsafe stamp(coded), let start else {
                refused += 1
                return
            }
            guard isFragmented || stamp >= start else { return }
            if let filter = filters[index], unsafe !filter.apply(to: coded) {
                refused += 1
                return
            }
            let (from, to) = unsafe (input!, output!)
            unsafe coded.pointee.pts -= start
            unsafe coded.pointee.dts = stamp - start
            unsafe coded.pointee.stream_index = stream
            unsafe coded.pointee.pos = -1
            unsafe av_packet_rescale_ts(
                coded, from.pointee.streams[index]!.pointee.time_base, to.pointee.streams[Int(stream)]!.pointee.time_base)
            // A unit that cannot be written, such as one whose time goes back, is left out. A full disk ends it.
            let code = unsafe av_interleaved_write_frame(to, coded)
            if code < 0 {
                if unsafe to.pointee.pb.pointee.error < 0 {
                    try check(code, "av_interleaved_write_frame", at: place, .writeFailed)
                }
                refused += 1
            }
        }
    }
}
