import CFFmpeg
import Media

extension PictureUserData {
    /// The captions and the active format that libav attached to a frame. It knows nothing of bars.
    init(_ frame: UnsafeMutablePointer<AVFrame>) {
        self.init()
        if let side = unsafe av_frame_get_side_data(frame, AV_FRAME_DATA_A53_CC) {
            let bytes = unsafe UnsafeRawBufferPointer(start: side.pointee.data, count: Int(side.pointee.size))
            for at in stride(from: 0, through: bytes.count - Self.pieceBytes, by: Self.pieceBytes) {
                unsafe append(bytes[at], bytes[at + 1], bytes[at + 2])
            }
        }
        if let side = unsafe av_frame_get_side_data(frame, AV_FRAME_DATA_AFD), unsafe side.pointee.size > 0 {
            activeFormat = unsafe side.pointee.data[0] & 15
        }
    }
}
