import CFFmpeg
import Media

extension Orientation {
    /// What libav attached to a frame as a display matrix; nil where there is none.
    init?(_ frame: UnsafeMutablePointer<AVFrame>) {
        guard let side = unsafe av_frame_get_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX),
            unsafe side.pointee.size >= 9 * MemoryLayout<Int32>.size
        else { return nil }
        unsafe self.init(displayMatrix: UnsafeRawPointer(side.pointee.data!).assumingMemoryBound(to: Int32.self))
    }

    /// What a container says of a stream; nil where it says nothing.
    init?(_ stream: UnsafeMutablePointer<AVStream>) {
        guard let matrix = unsafe burnish_display_matrix(stream) else { return nil }
        unsafe self.init(displayMatrix: matrix)
    }

    /// - Parameter matrix: libav's nine numbers.
    private init(displayMatrix matrix: UnsafePointer<Int32>) {
        self.init()
        var turned: InlineArray<9, Int32> = .init { unsafe matrix[$0] }
        // A mirror image of either kind is a horizontal one, rotated.
        let determinant = Int64(turned[0]) * Int64(turned[4]) - Int64(turned[1]) * Int64(turned[3])
        isFlippedHorizontally = determinant < 0
        if isFlippedHorizontally { for column in [0, 3] { turned[column] = 0 &- turned[column] } }
        var degrees = unsafe turned.span.withUnsafeBufferPointer { unsafe av_display_rotation_get($0.baseAddress) }
        guard degrees.isFinite else { return }
        // The display matrix mirrors last, the SEI first.
        if isFlippedHorizontally { degrees = -degrees }
        rotation = UInt16(truncatingIfNeeded: Int((degrees / 360 * 65536).rounded()))
    }
}
