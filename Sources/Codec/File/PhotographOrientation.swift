import Bitstream
import Media

extension Orientation {
    /// How a photograph is to be turned, by its camera's tag (Exif 2.32, 4.6.4, tag 0112).
    /// - Parameter photograph: the whole file.
    init(photograph: UnsafeRawBufferPointer) {
        self.init()
        guard let tag = unsafe PhotographOrientation.tag(in: photograph) else { return }
        isFlippedHorizontally = [2, 4, 5, 7].contains(tag)
        rotation =
            switch tag {
            case 3, 4: 0x8000
            case 5, 8: 0x4000
            case 6, 7: 0xC000
            default: 0
            }
    }
}
