/// Width and height of a picture's luma plane in samples. Pictures are 8-bit 4:2:0: each chroma plane has half of both,
/// rounded up.
public struct PictureSize: Hashable, Sendable, BitwiseCopyable {
    public var width: Int
    public var height: Int

    @inlinable public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    @inlinable public var chroma: PictureSize { PictureSize(width: (width + 1) / 2, height: (height + 1) / 2) }
    @inlinable public func scaled(by factor: Int) -> PictureSize {
        PictureSize(width: width * factor, height: height * factor)
    }

    /// How often pictures are halved before motion is sought between live ones: once, or twice where they are large. So some
    /// 320x180 samples remain, and neither the cost nor the result depends much on the size.
    public var halvingsForLiveMotion: Int { width * height / 4 > 200_000 ? 2 : 1 }
}

extension PictureSize: CustomStringConvertible {
    public var description: String { "\(width)x\(height)" }
}
