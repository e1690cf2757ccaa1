import CFFmpeg
import Media

/// Encodes single pictures as PNG, shown as ``JPEGEncoder`` shows them.
///
/// For stills now and then: each call opens a scaler and an encoder, and allocates. Thread-safe.
public enum PNGEncoder {
    /// Encodes a picture with 8 bits of red, green and blue.
    /// - Parameters: as ``JPEGEncoder/encode(_:_:width:)`` has them.
    /// - Returns: a PNG file.
    @unsafe public static func encode(
        _ picture: PictureView, _ color: ColorDescription, width: Int
    ) throws(CodecError) -> [UInt8] {
        LibraryLog.capture()
        let size = unsafe JPEGEncoder.shownSize(of: picture.size, color, width: width)
        let turn = PictureTurn(color.orientation)
        let result = try JPEGEncoder.emptyFrame(size, AV_PIX_FMT_RGB24)
        if turn.isNone {
            unsafe try JPEGEncoder.scale(picture, color, into: result.pointer)
        } else {
            let scaled = try JPEGEncoder.emptyFrame(turn.size(of: size))
            unsafe try JPEGEncoder.scale(picture, color, into: scaled.pointer)
            let shown = try JPEGEncoder.emptyFrame(size)
            let (from, to) = unsafe (JPEGEncoder.view(of: scaled.pointer), JPEGEncoder.view(of: shown.pointer))
            unsafe turn.turn(from.readOnly, into: to)
            var full = color
            (full.range, full.matrix) = (.full, JPEGEncoder.matrix)
            unsafe try JPEGEncoder.scale(to.readOnly, full, into: result.pointer)
        }
        return unsafe try JPEGEncoder.encode(result.pointer, as: AV_CODEC_ID_PNG)
    }
}
