import CFFmpeg
import Media

/// A picture's size and colour, to tell when they change.
struct PictureFormat {
    private var size = PictureSize(width: 0, height: 0)
    private var color = ColorDescription()

    /// - Returns: whether the frame's differ from those before.
    mutating func update(from frame: UnsafeMutablePointer<AVFrame>) -> Bool {
        let newSize = unsafe PictureSize(width: Int(frame.pointee.width), height: Int(frame.pointee.height))
        let newColor = unsafe ColorDescription(frame)
        defer { (size, color) = (newSize, newColor) }
        return newSize != size || newColor != color
    }
}
