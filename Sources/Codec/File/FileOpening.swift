import CFFmpeg
import Glibc

/// Opens files for ``FileReader``, and says what to do about one that it cannot read.
enum FileOpening {
    /// Only the operating system's own codes mean that the file is not there. Demuxers use any other code.
    private static let missing = [ENOENT, ENOTDIR, EACCES, EPERM, EISDIR, ELOOP, ENAMETOOLONG, EMFILE]

    /// - Parameter path: `-` is standard input.
    /// - Throws: `cannotOpen`, `invalidData`.
    static func open(_ path: String, at place: String) throws(CodecError) -> UnsafeMutablePointer<AVFormatContext> {
        var format: UnsafeMutablePointer<AVFormatContext>?
        var options: OpaquePointer?
        unsafe av_dict_set(&options, "protocol_whitelist", "file,pipe", 0)
        // RecordingClock bridges stamps that go back. libavformat would treat each as a wrap and go 26 hours ahead.
        unsafe av_dict_set(&options, "correct_ts_overflow", "0", 0)
        defer { unsafe av_dict_free(&options) }
        // The prefix keeps libavformat from reading a name with a colon as a protocol.
        let url = path == "-" ? "pipe:0" : "file:\(path)"
        do throws(CodecError) {
            unsafe try check(avformat_open_input(&format, url, nil, &options), "avformat_open_input", at: place)
        } catch {
            throw explained(error, path)
        }
        do throws(CodecError) {
            unsafe try check(avformat_find_stream_info(format, nil), "avformat_find_stream_info", at: place)
        } catch {
            unsafe avformat_close_input(&format)
            throw explained(error, path)
        }
        return unsafe format!
    }

    /// - Throws: `noVideo`, `unsupportedCodec`, `unsupportedFormat`.
    static func findVideo(
        in format: UnsafeMutablePointer<AVFormatContext>, _ codec: inout UnsafePointer<AVCodec>?, maximumSamples: Int,
        at place: String
    ) throws(CodecError) -> Int32 {
        let found = unsafe av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0)
        let isMissing = found == burnish_averror_decoder_not_found
        let index = try check(
            found, "av_find_best_stream", at: place, isMissing ? .unsupportedCodec : .noVideo,
            advice: isMissing ? "convert the video to a codec that libavcodec has" : "give a file with video in it")
        let stream = unsafe format.pointee.streams[Int(index)]!
        if unsafe stream.pointee.disposition & Int32(AV_DISPOSITION_ATTACHED_PIC) != 0 {
            throw CodecError(
                .noVideo, operation: "av_find_best_stream", message: "it has no video, only a cover", place: place,
                advice: "give a file with video in it, or the cover as a picture of its own")
        }
        let (width, height) = unsafe (Int(stream.pointee.codecpar.pointee.width), Int(stream.pointee.codecpar.pointee.height))
        guard width > 0, height > 0 else {
            throw CodecError(
                .unsupportedFormat, operation: "avformat_find_stream_info",
                message: "nothing in it says how large pictures are",
                place: place, advice: wholeFile)
        }
        guard width <= maximumSamples / height else {
            throw CodecError(
                .unsupportedFormat, operation: "FileReader.init", message: "pictures of \(width)x\(height)", place: place,
                advice: "check that the file is what it claims to be")
        }
        return index
    }

    private static let wholeFile = "it ends before its first picture: get the whole file"

    /// Says what a code means that a demuxer gave.
    private static func explained(_ error: CodecError, _ path: String) -> CodecError {
        func because(_ kind: CodecError.Kind, _ advice: String) -> CodecError {
            CodecError(
                kind, operation: error.operation, code: error.code, message: error.message, place: error.place, advice: advice)
        }
        if error.kind == .outOfMemory { return error }
        if missing.contains(-error.code) { return because(.cannotOpen, "check the path and its permissions") }
        var status = stat()
        let isFile = unsafe path != "-" && stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        if isFile, status.st_size == 0 { return because(.invalidData, "the file is empty: get the whole file") }
        if error.message.contains("moov atom not found") {
            return because(.invalidData, "an MP4 file has its index at its end, where this one was cut off: get the whole file")
        }
        if error.code == -EIO {
            // Matroska's demuxer gives this code at the end of a file, too.
            return because(isFile && canRead(path, upTo: status.st_size) ? .invalidData : .cannotOpen, wholeFile)
        }
        if error.code == burnish_averror_eof { return because(.invalidData, wholeFile) }
        return because(.invalidData, "the file is of no kind that libavformat can read, or damaged")
    }

    /// Whether the operating system gives a file's last byte.
    private static func canRead(_ path: String, upTo size: Int) -> Bool {
        let file = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var byte: UInt8 = 0
        return unsafe pread(file, &byte, 1, size - 1) == 1
    }
}
