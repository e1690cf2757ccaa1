import CFFmpeg

/// Decodes units of sound: what one packet of a transport stream held, with any number of frames. Frames may continue in the
/// next unit.
///
/// Confined to one thread at a time.
@safe final class SoundDecoder {
    private let codec: SoundCodec
    private let place: String
    private let context: UnsafeMutablePointer<AVCodecContext>
    /// The parser's own: it writes to it what it finds in headers.
    private let parsed: UnsafeMutablePointer<AVCodecContext>
    private let parser: UnsafeMutablePointer<AVCodecParserContext>?
    private let packet: UnsafeMutablePointer<AVPacket>
    private let piece: UnsafeMutablePointer<AVPacket>
    private let frame: OwnedFrame
    private var input = PaddedInput()
    /// The parser may hold the beginning of a frame.
    private var isParsing = false

    init(_ codec: SoundCodec) throws(CodecError) {
        LibraryLog.capture()
        self.codec = codec
        let place = "\(codec.name) decoder"
        self.place = place
        guard let library = unsafe avcodec_find_decoder(codec.library) else {
            throw CodecError(
                .unsupportedCodec, operation: "avcodec_find_decoder", message: "libavcodec has no decoder for \(codec.name)",
                place: place, advice: "install a complete libavcodec")
        }
        var context = unsafe avcodec_alloc_context3(library)
        var parsed = unsafe avcodec_alloc_context3(nil)
        var packet = unsafe av_packet_alloc()
        var piece = unsafe av_packet_alloc()
        do throws(CodecError) {
            frame = try OwnedFrame()
            unsafe self.context = try check(context, "avcodec_alloc_context3", at: place)
            unsafe self.parsed = try check(parsed, "avcodec_alloc_context3", at: place)
            unsafe self.packet = try check(packet, "av_packet_alloc", at: place)
            unsafe self.piece = try check(piece, "av_packet_alloc", at: place)
            unsafe self.context.pointee.thread_count = 1
            unsafe try check(avcodec_open2(self.context, library, nil), "avcodec_open2", at: place, .unsupportedFormat)
        } catch {
            unsafe av_packet_free(&piece)
            unsafe av_packet_free(&packet)
            unsafe avcodec_free_context(&parsed)
            unsafe avcodec_free_context(&context)
            throw error
        }
        unsafe self.parsed.pointee.codec_type = AVMEDIA_TYPE_AUDIO
        unsafe self.parsed.pointee.codec_id = codec.library
        unsafe parser = burnish_parser(codec.library)
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = unsafe self.packet
        var piece: UnsafeMutablePointer<AVPacket>? = unsafe self.piece
        var context: UnsafeMutablePointer<AVCodecContext>? = unsafe self.context
        var parsed: UnsafeMutablePointer<AVCodecContext>? = unsafe self.parsed
        unsafe av_packet_free(&packet)
        unsafe av_packet_free(&piece)
        if let parser = unsafe parser { unsafe av_parser_close(parser) }
        unsafe avcodec_free_context(&parsed)
        unsafe avcodec_free_context(&context)
    }

    /// Decodes a unit.
    /// - Parameters:
    ///   - time: of the first frame that begins in it, in any unit; nil where it is not known.
    ///   - body: gets each decoded frame with its time, which is nil for frames that follow another one.
    /// - Returns: whether all of it could be decoded.
    func decode(
        _ unit: UnsafeRawBufferPointer, at time: Int64?,
        _ body: (UnsafeMutablePointer<AVFrame>, Int64?) throws(CodecError) -> Void
    ) throws(CodecError) -> Bool {
        let bytes = unsafe Span<UInt8>(_unsafeElements: unit.assumingMemoryBound(to: UInt8.self))
        let isWhole = codec.isWhole(bytes)
        var isGood = true
        // What the parser holds is complete, or the rest of it is lost.
        if isWhole, isParsing {
            isGood = unsafe try parse(nil, 0, time: nil, body)
            isParsing = false
        }
        unsafe try input.fill(packet, with: unit, at: place)
        defer { unsafe av_packet_unref(packet) }
        guard !isWhole, unsafe parser != nil else {
            unsafe packet.pointee.pts = time ?? burnish_nopts
            return try unsafe decode(packet, body) && isGood
        }
        isParsing = true
        return unsafe try parse(packet.pointee.data, packet.pointee.size, time: time, body)
    }

    private func parse(
        _ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int32, time: Int64?,
        _ body: (UnsafeMutablePointer<AVFrame>, Int64?) throws(CodecError) -> Void
    ) throws(CodecError) -> Bool {
        var (at, isGood) = (Int32(0), true)
        repeat {
            var found: UnsafeMutablePointer<UInt8>?
            var size: Int32 = 0
            let used = unsafe av_parser_parse2(
                parser, parsed, &found, &size, bytes.map { unsafe $0 + Int(at) }, count - at,
                at == 0 ? time ?? burnish_nopts : burnish_nopts, burnish_nopts, 0)
            guard used > 0 || size > 0 else { break }
            at += max(0, used)
            guard size > 0 else { continue }
            // The packet has no memory of its own: libavcodec copies what it is given.
            unsafe piece.pointee.data = found
            unsafe piece.pointee.size = size
            unsafe piece.pointee.pts = parser!.pointee.pts
            isGood = try unsafe decode(piece, body) && isGood
            unsafe av_packet_unref(piece)
        } while at < count
        return isGood
    }

    private func decode(
        _ packet: UnsafeMutablePointer<AVPacket>,
        _ body: (UnsafeMutablePointer<AVFrame>, Int64?) throws(CodecError) -> Void
    ) throws(CodecError) -> Bool {
        var isGood = unsafe avcodec_send_packet(context, packet) >= 0
        var failures = 0
        while failures < 2 {
            let code = unsafe avcodec_receive_frame(context, frame.pointer)
            if code == burnish_averror_again || code == burnish_averror_eof { break }
            guard code >= 0 else {
                isGood = false
                failures += 1
                continue
            }
            let time = unsafe frame.pointer.pointee.pts
            unsafe try body(frame.pointer, time == burnish_nopts ? nil : time)
            unsafe av_frame_unref(frame.pointer)
        }
        if !isGood { _ = LibraryLog.popLastError() }
        return isGood
    }
}
