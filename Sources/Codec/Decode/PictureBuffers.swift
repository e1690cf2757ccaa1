import CFFmpeg
import Media

/// Pooled memory that pictures are decoded into. Rows are aligned to 64 bytes, and bytes before and after every plane
/// are readable (``Media/Picture/slop``), which libavcodec's own buffers do not promise.
///
/// Confined to its decoder's thread. The buffers themselves outlive it for as long as a picture refers to them.
@safe final class PictureBuffers {
    private var pool: OpaquePointer?
    private var strideY = 0
    private var strideC = 0
    private var rows = 0

    deinit { unsafe av_buffer_pool_uninit(&pool) }

    /// Makes libavcodec decode into these buffers. They must live as long as the context.
    func attach(to context: UnsafeMutablePointer<AVCodecContext>) {
        unsafe context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
        unsafe context.pointee.get_buffer2 = { context, frame, flags in
            guard let context = unsafe context, let frame = unsafe frame else { return burnish_averror_invaliddata }
            let format = unsafe frame.pointee.format
            guard format == AV_PIX_FMT_YUV420P.rawValue || format == AV_PIX_FMT_YUVJ420P.rawValue,
                let opaque = unsafe context.pointee.opaque
            else { return unsafe avcodec_default_get_buffer2(context, frame, flags) }
            var width = unsafe frame.pointee.width
            var height = unsafe frame.pointee.height
            unsafe withUnsafeTemporaryAllocation(of: Int32.self, capacity: Int(AV_NUM_DATA_POINTERS)) {
                unsafe avcodec_align_dimensions2(context, &width, &height, $0.baseAddress!)
            }
            let buffers = unsafe Unmanaged<PictureBuffers>.fromOpaque(opaque).takeUnretainedValue()
            return unsafe buffers.fill(frame, width: Int(width), height: Int(height))
        }
    }

    /// Attaches memory for a picture of at least this size to the frame.
    /// - Returns: 0, or libav's code for a lack of memory.
    func fill(_ frame: UnsafeMutablePointer<AVFrame>, width: Int, height: Int) -> Int32 {
        let slop = Picture.slop
        let (wantedY, wantedC) = ((width + 63) & ~63, ((width + 1) / 2 + 63) & ~63)
        if wantedY != strideY || height != rows {
            unsafe av_buffer_pool_uninit(&pool)
            (strideY, strideC, rows) = (wantedY, wantedC, height)
        }
        let bytesY = strideY * rows + 2 * slop
        let bytesC = strideC * ((rows + 1) / 2) + 2 * slop
        if unsafe pool == nil { unsafe pool = av_buffer_pool_init(bytesY + 2 * bytesC + 64, nil) }
        guard unsafe pool != nil, let buffer = unsafe av_buffer_pool_get(pool) else { return burnish_averror_enomem }
        let start = unsafe UnsafeMutableRawPointer(buffer.pointee.data).alignedUp(toMultipleOf: 64)
        let base = unsafe start.assumingMemoryBound(to: UInt8.self) + slop
        unsafe frame.pointee.buf.0 = buffer
        unsafe frame.pointee.data.0 = base
        unsafe frame.pointee.data.1 = base + bytesY
        unsafe frame.pointee.data.2 = base + bytesY + bytesC
        unsafe frame.pointee.linesize.0 = Int32(strideY)
        unsafe frame.pointee.linesize.1 = Int32(strideC)
        unsafe frame.pointee.linesize.2 = Int32(strideC)
        unsafe frame.pointee.extended_data = burnish_frame_data(frame)
        return 0
    }
}
