@testable import Enhance
import Kernels
import Media
import Testing

@Suite struct StripPlanTests {
    @Test(arguments: 1...40 as ClosedRange<UInt64>) func everyTileIsInOneStrip(seed: UInt64) {
        var random = CheckRandom(seed: seed)
        let grid = TileGrid(
            size: PictureSize(width: random.number(in: 1...700), height: random.number(in: 1...400)),
            tileSize: PictureSize(width: 64, height: 32))
        var plan = StripPlan(grid: grid)
        for _ in 0..<2 {
            let tiles = (0..<grid.count).filter { _ in random.number(in: 0...2) > 0 }
            for (rank, tile) in tiles.enumerated() { plan.add(tile, rank: tiles.count - rank) }
            let limit = random.number(in: 1...30)
            plan.group(limit: limit, width: 4)
            var covered: [Int] = []
            for strip in plan.strips {
                #expect(strip.columns * strip.rows <= limit && strip.columns <= 4)
                for row in strip.row..<strip.row + strip.rows {
                    for column in strip.column..<strip.column + strip.columns {
                        covered.append(row * grid.columns + column)
                    }
                }
            }
            #expect(covered.sorted() == tiles)
            #expect(plan.strips.map(\.rank) == plan.strips.map(\.rank).sorted())
        }
    }
}
