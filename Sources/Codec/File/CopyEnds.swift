import CFFmpeg

/// What a copy of libavformat's reads from and writes to: closures, so neither end needs a path.
///
/// Confined to one thread. It must outlive the contexts that it makes, and ``close()`` frees them.
@safe final class CopyEnds {
    private let reading: MovieCopy.Reading
    private let writing: MovieCopy.Writing
    private let place: String
    private var position: Int64 = 0
    private var size: Int64 = 0
    /// A write has failed.
    private(set) var hasFailed = false
    private var source: UnsafeMutablePointer<AVIOContext>?
    private var sink: UnsafeMutablePointer<AVIOContext>?

    private static let bufferSize: Int32 = 1 << 16

    /// - Parameter place: for errors.
    init(_ reading: @escaping MovieCopy.Reading, _ writing: @escaping MovieCopy.Writing, at place: String) {
        unsafe self.reading = unsafe reading
        unsafe self.writing = unsafe writing
        self.place = place
    }

    deinit { close() }

    /// Writes what is buffered, and frees both contexts: those that use them must have been freed.
    func close() {
        if unsafe sink != nil { unsafe avio_flush(sink) }
        unsafe Self.free(&source)
        unsafe Self.free(&sink)
    }

    private static func free(_ context: inout UnsafeMutablePointer<AVIOContext>?) {
        guard unsafe context != nil else { return }
        unsafe av_freep(&context!.pointee.buffer)
        unsafe avio_context_free(&context)
    }

    private var opaque: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

    private func buffer() -> UnsafeMutablePointer<UInt8>? {
        unsafe av_malloc(Int(Self.bufferSize))?.assumingMemoryBound(to: UInt8.self)
    }

    /// Opens the stream that is read, a transport stream.
    /// - Parameter input: owned by the caller.
    func openInput(_ input: inout UnsafeMutablePointer<AVFormatContext>?) throws(CodecError) {
        unsafe source = avio_alloc_context(
            try check(buffer(), "av_malloc", at: place), Self.bufferSize, 0, opaque,
            { opaque, bytes, count in
                let ends = unsafe Unmanaged<CopyEnds>.fromOpaque(opaque!).takeUnretainedValue()
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

    /// Makes the context of what is written.
    /// - Parameter output: owned by the caller.
    func openOutput(_ output: UnsafeMutablePointer<AVFormatContext>) throws(CodecError) {
        unsafe sink = avio_alloc_context(
            try check(buffer(), "av_malloc", at: place), Self.bufferSize, 1, opaque, nil,
            { opaque, bytes, count in
                let ends = unsafe Unmanaged<CopyEnds>.fromOpaque(opaque!).takeUnretainedValue()
                guard unsafe ends.writing(UnsafeRawBufferPointer(start: bytes, count: Int(count)), ends.position) else {
                    ends.hasFailed = true
                    return burnish_averror_eof
                }
                ends.position += Int64(count)
                ends.size = max(ends.size, ends.position)
                return count
            },
            { opaque, offset, whence in
                let ends = unsafe Unmanaged<CopyEnds>.fromOpaque(opaque!).takeUnretainedValue()
                switch whence & ~Int32(AVSEEK_FORCE) {
                case SEEK_SET: ends.position = offset
                case SEEK_CUR: ends.position += offset
                case SEEK_END: ends.position = ends.size + offset
                case Int32(AVSEEK_SIZE): return ends.size
                default: return -1
                }
                return ends.position
            })
        unsafe output.pointee.pb = sink
        unsafe output.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    }

    /// Why a write has failed.
    var writeFailure: CodecError {
        CodecError(
            .writeFailed, operation: "write", message: "the file cannot be written", place: place,
            advice: "check the space on the disk")
    }
}
