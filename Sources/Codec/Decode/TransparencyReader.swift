import CFFmpeg
import Media

/// Reads how transparent the samples of a frame are, whatever its format. For photographs and files: allocates.
///
/// Confined to one thread at a time.
@safe final class TransparencyReader {
    private var scaler: OpaquePointer?
    private static let opaque: UInt8 = 255

    deinit { unsafe burnish_scaler_free(scaler) }

    /// - Returns: a picture whose luma is 0 where the frame is clear and 255 where it is opaque, without colour; nil where all of
    ///   the frame is opaque.
    func read(_ frame: UnsafeMutablePointer<AVFrame>, at place: String) throws(CodecError) -> Picture? {
        let (width, height) = unsafe (frame.pointee.width, frame.pointee.height)
        let format = unsafe AVPixelFormat(rawValue: frame.pointee.format)
        guard SampleFormat(format.rawValue).hasTransparency else { return nil }
        unsafe scaler = burnish_scaler_for(
            scaler, width, height, format, width, height, AV_PIX_FMT_RGBA, burnish_sws_flags)
        // What swscale does not know is refused where the picture itself is converted.
        guard unsafe scaler != nil else { return nil }
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
        return unsafe Self.picture(of: converted)
    }

    private static func picture(of frame: UnsafeMutablePointer<AVFrame>) -> Picture? {
        let size = unsafe PictureSize(width: Int(frame.pointee.width), height: Int(frame.pointee.height))
        let picture = Picture(size: size)
        let view = unsafe picture.mutableView
        var least = opaque
        for y in 0..<size.height {
            let source = unsafe frame.pointee.data.0! + y * Int(frame.pointee.linesize.0)
            let row = unsafe view.y.row(y)
            for x in 0..<size.width {
                let sample = unsafe source[4 * x + 3]
                unsafe row[x] = sample
                least = min(least, sample)
            }
        }
        guard least < opaque else { return nil }
        for y in 0..<size.chroma.height {
            unsafe view.u.row(y).update(repeating: 128, count: size.chroma.width)
            unsafe view.v.row(y).update(repeating: 128, count: size.chroma.width)
        }
        return picture
    }
}
