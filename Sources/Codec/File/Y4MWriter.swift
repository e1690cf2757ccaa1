import CFFmpeg
import Glibc
import Media

/// Writes uncompressed pictures as YUV4MPEG2: exact samples, size, frame rate, aspect, chroma location and range. The
/// format has no place for primaries, transfer and matrix, nor for times, so pictures follow each other at the frame
/// rate.
///
/// Confined to one thread at a time.
@safe final class Y4MWriter {
    private let descriptor: Int32
    private let place: String
    private let frame: UnsafeMutableRawBufferPointer
    private let size: PictureSize
    /// Up to the end of the last whole picture.
    private var wholeBytes = 0
    private static let marker: StaticString = "FRAME\n"

    /// - Parameter path: a file's path, or `-` for standard output, which is not closed.
    init(path: String, video: FileVideo) throws(CodecError) {
        place = path == "-" ? "standard output" : path
        size = video.size
        let samples = size.width * size.height + 2 * size.chroma.width * size.chroma.height
        let opened = unsafe path == "-" ? STDOUT_FILENO : Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o666)
        descriptor = opened
        unsafe frame = .allocate(byteCount: Self.marker.utf8CodeUnitCount + samples, alignment: 64)
        if opened < 0 { throw Self.failure("open", at: place, .cannotOpen) }
        var failure: CodecError?
        let header = Array(Self.header(video).utf8)
        wholeBytes = header.count
        unsafe header.withUnsafeBytes { bytes in
            do throws(CodecError) { unsafe try write(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    deinit {
        unsafe frame.deallocate()
        if descriptor > STDOUT_FILENO { close(descriptor) }
    }

    /// Writes the next picture, which must be of the file's size.
    func write(_ picture: PictureView) throws(CodecError) {
        guard unsafe picture.size == size else {
            throw unsafe CodecError(
                .unsupportedFormat, operation: "Y4MWriter.write",
                message: "a picture of \(picture.size) for a file of \(size)", place: place)
        }
        var at = Self.marker.utf8CodeUnitCount
        unsafe frame.baseAddress!.copyMemory(from: Self.marker.utf8Start, byteCount: at)
        unsafe copy(picture.y, to: &at)
        unsafe copy(picture.u, to: &at)
        unsafe copy(picture.v, to: &at)
        do throws(CodecError) {
            unsafe try write(UnsafeRawBufferPointer(frame))
        } catch {
            // A part of a picture is none.
            if descriptor > STDOUT_FILENO { ftruncate(descriptor, wholeBytes) }
            throw error
        }
        wholeBytes += unsafe frame.count
    }

    private func copy(_ plane: PlaneView, to at: inout Int) {
        for y in 0..<(unsafe plane.height) {
            unsafe (frame.baseAddress! + at).copyMemory(from: plane.row(y), byteCount: plane.width)
            at += unsafe plane.width
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(CodecError) {
        var rest = unsafe bytes[...]
        while unsafe !rest.isEmpty {
            let count = unsafe Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw Self.failure("write", at: place, .writeFailed)
            }
            unsafe rest = rest.dropFirst(count)
        }
    }

    private static func header(_ video: FileVideo) -> String {
        let chroma =
            switch video.color.chromaLocation {
            case 1: "420mpeg2"
            case 3: "420paldv"
            default: "420jpeg"
            }
        let aspect = video.color.sampleAspectRatio
        var header = "YUV4MPEG2 W\(video.size.width) H\(video.size.height)"
        header += " F\(video.frameRate.numerator):\(video.frameRate.denominator) Ip"
        header += " A\(aspect.numerator):\(aspect.numerator == 0 ? 0 : aspect.denominator) C\(chroma)"
        switch video.color.range {
        case .unspecified: break
        case .limited: header += " XCOLORRANGE=LIMITED"
        case .full: header += " XCOLORRANGE=FULL"
        }
        return header + "\n"
    }

    private static func failure(_ operation: String, at place: String, _ kind: CodecError.Kind) -> CodecError {
        let code = errno
        return CodecError(
            kind, operation: operation, code: -code, message: unsafe String(cString: strerror(code)), place: place,
            advice: kind == .cannotOpen ? "check the path and its permissions" : DiskSpace.advice)
    }
}
