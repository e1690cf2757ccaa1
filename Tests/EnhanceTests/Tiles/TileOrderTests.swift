import Enhance
import Media
import Testing

@Suite struct TileOrderTests {
    private static let grid = TileGrid(
        size: PictureSize(width: 128, height: 96), tileSize: PictureSize(width: 32, height: 32))

    /// A picture of 4 × 3 tiles. Only the given ones have detail.
    private func picture(detailIn tiles: Set<Int>) -> Picture {
        let picture = Picture(size: Self.grid.size)
        for y in 0..<96 {
            for x in 0..<128 where tiles.contains(y / 32 * 4 + x / 32) {
                picture.mutableView.y.row(y)[x] = x % 2 == 0 ? 40 : 200
            }
        }
        return picture
    }

    @Test func detailComesFirstAndThenTheCentre() {
        var tiles = TileOrder(grid: Self.grid)
        let picture = picture(detailIn: [0, 11])
        withExtendedLifetime(picture) { tiles.arrange(for: picture.view.y) }
        #expect(Set(tiles.order.prefix(2)) == [0, 11])
        // Then the two flat ones in the middle.
        #expect(Set(tiles.order[2..<4]) == [5, 6])
        #expect(tiles.order.sorted() == Array(0..<12))
    }

    /// With time for one tile a picture, each tile has its turn.
    @Test func everyTileHasItsTurn() {
        var tiles = TileOrder(grid: Self.grid)
        let picture = picture(detailIn: [5])
        var turns = [Int](repeating: 0, count: 12)
        for _ in 0..<6000 {
            tiles.arrange(for: picture.view.y)
            turns[tiles.order[0]] += 1
            tiles.recordRefined(tiles.order[0])
        }
        #expect(turns.allSatisfy { $0 > 0 }, "\(turns)")
        #expect(turns.max() == turns[5])
    }

    /// With time for one tile a picture, a flat tile waits some seconds at most, however strong the detail elsewhere is.
    @Test func noTileWaitsLong() {
        var tiles = TileOrder(grid: Self.grid)
        let picture = picture(detailIn: [4, 5, 6])
        var waits = [Int](repeating: 0, count: 12)
        var longest = 0
        for _ in 0..<3000 {
            tiles.arrange(for: picture.view.y)
            longest = max(longest, waits.max()!)
            for tile in 0..<12 { waits[tile] += 1 }
            waits[tiles.order[0]] = 0
            tiles.recordRefined(tiles.order[0])
        }
        #expect(longest < 200)
    }

    /// Sizes that are no multiple of the tile size, down to one that is narrower than a sampling step.
    @Test(arguments: [(33, 33), (1, 1), (65, 2)]) func partialTiles(width: Int, height: Int) {
        let size = PictureSize(width: width, height: height)
        let grid = TileGrid(size: size, tileSize: Self.grid.tileSize)
        var tiles = TileOrder(grid: grid)
        let picture = Picture(size: size)
        withExtendedLifetime(picture) { tiles.arrange(for: picture.view.y) }
        #expect(tiles.order.sorted() == Array(0..<grid.count))
    }
}
