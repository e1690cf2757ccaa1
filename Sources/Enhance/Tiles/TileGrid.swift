import Media

/// A rectangle of a picture's luma plane, in samples.
public struct PictureRegion: Hashable, Sendable, BitwiseCopyable {
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int

    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}

/// The division of a picture into tiles, numbered row by row from the top left. The last column and row may be smaller.
public struct TileGrid: Hashable, Sendable, BitwiseCopyable {
    /// The input picture.
    public let size: PictureSize
    /// A whole tile, in input samples.
    public let tileSize: PictureSize
    public let columns: Int
    public let rows: Int

    /// - Precondition: both sizes are positive.
    public init(size: PictureSize, tileSize: PictureSize) {
        precondition(size.width > 0 && size.height > 0 && tileSize.width > 0 && tileSize.height > 0)
        self.size = size
        self.tileSize = tileSize
        columns = (size.width + tileSize.width - 1) / tileSize.width
        rows = (size.height + tileSize.height - 1) / tileSize.height
    }

    public var count: Int { columns * rows }

    /// The input samples of a tile.
    public func region(_ tile: Int) -> PictureRegion {
        let x = tile % columns * tileSize.width
        let y = tile / columns * tileSize.height
        return PictureRegion(
            x: x, y: y, width: min(tileSize.width, size.width - x), height: min(tileSize.height, size.height - y))
    }
}
