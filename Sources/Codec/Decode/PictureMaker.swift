import CFFmpeg
import Media

/// Makes pictures that take the place of decoded ones, in pooled memory.
///
/// Confined to one thread. Its pictures may outlive it. Does not allocate per picture, once as many are in use as ever.
public final class PictureMaker {
    private let pool = FramePool()
    private let buffers = PictureBuffers()

    public init() {}

    /// Makes a picture that says the same of itself as `original`.
    /// - Parameters:
    ///   - scan: its own.
    ///   - fill: writes all samples. The view must not outlive the call.
    /// - Throws: when there is no memory.
    public func make(
        like original: borrowing DecodedPicture, scan: Scan = .progressive, fill: (MutablePictureView) -> Void
    ) throws(CodecError) -> DecodedPicture {
        let frame = try pool.emptyFrame()
        let fields = unsafe frame.pointer
        let (size, chroma) = (original.size, original.size.chroma)
        unsafe fields.pointee.width = Int32(size.width)
        unsafe fields.pointee.height = Int32(size.height)
        unsafe fields.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        unsafe try check(
            buffers.fill(fields, width: size.width, height: size.height), "av_buffer_pool_get", at: "picture")
        let (data, stride) = unsafe (fields.pointee.data, fields.pointee.linesize)
        unsafe fill(
            MutablePictureView(
                y: MutablePlaneView(base: data.0!, stride: Int(stride.0), width: size.width, height: size.height),
                u: MutablePlaneView(base: data.1!, stride: Int(stride.1), width: chroma.width, height: chroma.height),
                v: MutablePlaneView(base: data.2!, stride: Int(stride.2), width: chroma.width, height: chroma.height)))
        return DecodedPicture(frame, from: pool, like: original, scan: scan)
    }
}
