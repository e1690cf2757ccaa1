import CFFmpeg

import Bitstream

/// The mean luma quantiser over a picture's macroblocks in H.264's scale, from what libavcodec exports
/// (`AVVideoEncParams`); nil when it exports nothing.
func meanQuantiser(of frame: UnsafeMutablePointer<AVFrame>) -> Float? {
    guard let side = unsafe av_frame_get_side_data(frame, AV_FRAME_DATA_VIDEO_ENC_PARAMS) else { return nil }
    let bytes = unsafe UnsafeRawPointer(side.pointee.data!)
    let parameters = unsafe bytes.assumingMemoryBound(to: AVVideoEncParams.self)
    let count = unsafe Int(parameters.pointee.nb_blocks)
    let base = unsafe Float(parameters.pointee.qp)
    let isMPEG2 = unsafe parameters.pointee.type == AV_VIDEO_ENC_PARAMS_MPEG2
    guard count > 0 else { return isMPEG2 ? nil : base }
    var sum: Int64 = 0
    for i in 0..<count {
        let offset = unsafe parameters.pointee.blocks_offset + i * parameters.pointee.block_size
        sum += unsafe Int64((bytes + offset).assumingMemoryBound(to: AVVideoBlockParams.self).pointee.delta_qp)
    }
    let mean = base + Float(sum) / Float(count)
    return isMPEG2 ? QuantiserScale.mpeg2(scale: mean) : mean
}
