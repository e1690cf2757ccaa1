import CFFmpeg

/// Reads what libavcodec exports about a picture's blocks: quantisers (`AVVideoEncParams`) and motion vectors.
enum CodecBlocks {
    /// The mean luma quantiser over all macroblocks; nil when the decoder did not export it.
    static func meanQuantiser(of frame: UnsafeMutablePointer<AVFrame>) -> Float? {
        guard let side = unsafe av_frame_get_side_data(frame, AV_FRAME_DATA_VIDEO_ENC_PARAMS) else { return nil }
        let bytes = unsafe UnsafeRawPointer(side.pointee.data!)
        let parameters = unsafe bytes.assumingMemoryBound(to: AVVideoEncParams.self)
        let count = unsafe Int(parameters.pointee.nb_blocks)
        let base = unsafe Float(parameters.pointee.qp)
        guard count > 0 else { return base }
        var sum: Int64 = 0
        for i in 0..<count {
            let offset = unsafe parameters.pointee.blocks_offset + i * parameters.pointee.block_size
            sum += unsafe Int64((bytes + offset).assumingMemoryBound(to: AVVideoBlockParams.self).pointee.delta_qp)
        }
        return base + Float(sum) / Float(count)
    }

    static func forEachMotionVector(of frame: UnsafeMutablePointer<AVFrame>, _ body: (MotionVector) -> Void) {
        guard let side = unsafe av_frame_get_side_data(frame, AV_FRAME_DATA_MOTION_VECTORS) else { return }
        let count = unsafe side.pointee.size / MemoryLayout<AVMotionVector>.stride
        let vectors = unsafe UnsafeRawPointer(side.pointee.data!).assumingMemoryBound(to: AVMotionVector.self)
        for i in 0..<count {
            let v = unsafe vectors[i]
            let scale = max(Int32(v.motion_scale), 1)
            body(
                MotionVector(
                    x: v.dst_x, y: v.dst_y, width: v.w, height: v.h, dx: v.motion_x * 4 / scale,
                    dy: v.motion_y * 4 / scale, isBackward: v.source > 0))
        }
    }
}
