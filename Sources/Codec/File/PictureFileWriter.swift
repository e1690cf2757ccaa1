import CFFmpeg
import Glibc
import Media

/// Writes one picture to a PNG or JPEG file.
///
/// Confined to one thread at a time.
@safe final class PictureFileWriter {
    enum Kind: Hashable, Sendable {
        case png, jpeg

        /// By the extension of a path; nil for other files.
        init?(path: String) {
            let name = path.lowercased()
            switch true {
            case name.hasSuffix(".png"): self = .png
            case name.hasSuffix(".jpg"), name.hasSuffix(".jpeg"): self = .jpeg
            default: return nil
            }
        }
    }

    private let kind: Kind
    private let place: String
    private let size: PictureSize
    private let color: ColorDescription
    private let descriptor: Int32
    private var isWritten = false
    /// libavcodec's scale for JPEG: 1 is best, 31 worst.
    private static let quality: Int32 = 2
    /// H.273's number for a matrix that is not known. Players take it for one of two by the height.
    private static let unspecifiedMatrix: UInt8 = 2

    /// Makes the file.
    /// - Throws: `cannotOpen`.
    init(_ kind: Kind, path: String, video: FileVideo) throws(CodecError) {
        self.kind = kind
        place = path
        size = video.size
        color = video.color
        descriptor = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        if descriptor < 0 { throw failure("open", .cannotOpen, "check the path and its permissions") }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether such files have transparent samples.
    var holdsTransparency: Bool { kind == .png }

    /// - Parameter transparency: from 0 (clear) to 255 for each sample; nil where all are opaque.
    /// - Throws: `unsupportedFormat` for a second picture.
    func write(_ picture: PictureView, transparency: PlaneView? = nil) throws(CodecError) {
        guard unsafe picture.size == size, !isWritten else {
            throw CodecError(
                .unsupportedFormat, operation: "PictureFileWriter.write", message: "a second picture for a file of one",
                place: place, advice: "name a video as the output, such as one that ends in .mp4")
        }
        isWritten = true
        var format = kind == .png ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_YUVJ420P
        if unsafe transparency != nil, holdsTransparency { format = AV_PIX_FMT_RGBA }
        let frame = unsafe try convert(picture, to: format)
        if format == AV_PIX_FMT_RGBA, let transparency = unsafe transparency {
            unsafe Self.set(transparency, of: frame.pointer)
        }
        try write(try encode(frame))
    }

    private static func set(_ transparency: PlaneView, of frame: UnsafeMutablePointer<AVFrame>) {
        let stride = unsafe Int(frame.pointee.linesize.0)
        for y in unsafe 0..<transparency.height {
            let (row, samples) = unsafe (transparency.row(y), frame.pointee.data.0! + y * stride)
            for x in unsafe 0..<transparency.width { unsafe samples[4 * x + 3] = row[x] }
        }
    }

    private func convert(_ picture: PictureView, to format: AVPixelFormat) throws(CodecError) -> OwnedFrame {
        let target = try OwnedFrame()
        let fields = unsafe target.pointer
        unsafe fields.pointee.format = format.rawValue
        unsafe fields.pointee.width = Int32(size.width)
        unsafe fields.pointee.height = Int32(size.height)
        unsafe fields.pointee.color_range = AVCOL_RANGE_JPEG
        let aspect = color.sampleAspectRatio
        if aspect.numerator > 0 {
            unsafe fields.pointee.sample_aspect_ratio = AVRational(
                num: Int32(clamping: aspect.numerator), den: Int32(clamping: aspect.denominator))
        }
        unsafe fields.pointee.quality = Self.quality * FF_QP2LAMBDA
        unsafe try check(av_frame_get_buffer(fields, 0), "av_frame_get_buffer", at: place)
        let scaler = unsafe burnish_scaler_for(
            nil, Int32(size.width), Int32(size.height), AV_PIX_FMT_YUV420P, Int32(size.width), Int32(size.height), format,
            burnish_sws_flags_full_chroma)
        defer { unsafe burnish_scaler_free(scaler) }
        guard unsafe scaler != nil else {
            throw CodecError(
                .unsupportedFormat, operation: "sws_getCachedContext", message: "a picture of \(size) cannot be converted",
                place: place, advice: "choose another size")
        }
        let matrix =
            color.matrix == Self.unspecifiedMatrix
            ? (size.height >= 720 ? SWS_CS_ITU709 : SWS_CS_ITU601) : Int32(color.matrix)
        unsafe burnish_scaler_set_colors(
            scaler, sws_getCoefficients(matrix), color.range == .full ? 1 : 0, sws_getCoefficients(SWS_CS_ITU601), 1)
        // A frame that only points to the caller's planes.
        let source = try OwnedFrame()
        let from = unsafe source.pointer
        unsafe from.pointee.data.0 = UnsafeMutablePointer(mutating: picture.y.base)
        unsafe from.pointee.data.1 = UnsafeMutablePointer(mutating: picture.u.base)
        unsafe from.pointee.data.2 = UnsafeMutablePointer(mutating: picture.v.base)
        unsafe from.pointee.linesize.0 = Int32(picture.y.stride)
        unsafe from.pointee.linesize.1 = Int32(picture.u.stride)
        unsafe from.pointee.linesize.2 = Int32(picture.v.stride)
        unsafe try check(
            burnish_scale(
                scaler, burnish_const_planes(from), burnish_linesizes(from), Int32(size.height),
                burnish_frame_data(fields), burnish_linesizes(fields)), "sws_scale", at: place)
        return target
    }

    private func encode(_ frame: borrowing OwnedFrame) throws(CodecError) -> [UInt8] {
        let aspect = unsafe frame.pointer.pointee.sample_aspect_ratio
        let encoder = unsafe try OpenedEncoder(kind == .png ? AV_CODEC_ID_PNG : AV_CODEC_ID_MJPEG, at: place) { context in
            unsafe context.pointee.width = Int32(size.width)
            unsafe context.pointee.height = Int32(size.height)
            unsafe context.pointee.pix_fmt = AVPixelFormat(rawValue: frame.pointer.pointee.format)
            unsafe context.pointee.color_range = AVCOL_RANGE_JPEG
            unsafe context.pointee.sample_aspect_ratio = aspect
            unsafe context.pointee.time_base = AVRational(num: 1, den: 25)
            unsafe context.pointee.thread_count = 1
            unsafe context.pointee.flags |= AV_CODEC_FLAG_QSCALE
            unsafe context.pointee.global_quality = Self.quality * FF_QP2LAMBDA
        }
        let packet = unsafe encoder.packet
        unsafe try check(avcodec_send_frame(encoder.context, frame.pointer), "avcodec_send_frame", at: place)
        unsafe try check(avcodec_receive_packet(encoder.context, packet), "avcodec_receive_packet", at: place)
        return unsafe Array(UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
    }

    private func write(_ bytes: [UInt8]) throws(CodecError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress! + written, bytes.count - written)
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw failure("write", .writeFailed, DiskSpace.advice)
            }
            written += count
        }
    }

    private func failure(_ operation: String, _ kind: CodecError.Kind, _ advice: String) -> CodecError {
        let code = errno
        return CodecError(
            kind, operation: operation, code: -code, message: unsafe String(cString: strerror(code)), place: place,
            advice: advice)
    }
}
