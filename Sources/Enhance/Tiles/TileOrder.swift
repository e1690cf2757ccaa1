import Media

/// The order in which a picture's tiles should be computed when there may not be time for all of them.
///
/// Tiles with much detail come first, and tiles near the centre come before those at the edge. A tile that has not been
/// refined for a long time comes before all others, so that no part of the picture stays soft. A tile whose input has
/// not changed costs nothing, because its last result is copied. Report it as refined too.
///
/// A value for one thread at a time. Nothing is allocated after `init`.
public struct TileOrder: Sendable {
    /// The numbers of all tiles, the most valuable one first.
    public private(set) var order: [Int]
    private let grid: TileGrid
    private var worth: [Float]
    /// For each tile, the pictures since it was last refined.
    private var age: [Float]
    private let centrality: [Float]

    /// By which share of a tile's detail its worth grows with each picture that it waits.
    private static let gainPerPicture: Float = 0.05
    /// After this many pictures a tile without detail is worth one step of the sample value more. This term grows with the
    /// square of the age, so that it is small as long as all tiles take turns quickly.
    private static let starvationAge: Float = 6

    public init(grid: TileGrid) {
        self.grid = grid
        order = Array(0..<grid.count)
        worth = Array(repeating: 0, count: grid.count)
        age = Array(repeating: 0, count: grid.count)
        centrality = (0..<grid.count).map { index in
            let x = (Float(index % grid.columns) + 0.5) / Float(grid.columns) - 0.5
            let y = (Float(index / grid.columns) + 0.5) / Float(grid.rows) - 0.5
            return 1.25 - (x * x + y * y)
        }
    }

    /// Sorts ``order`` for the next picture.
    /// - Parameter luma: the picture's luma plane, of the grid's size.
    @unsafe public mutating func arrange(for luma: PlaneView) {
        for index in worth.indices {
            let detail = unsafe detail(of: index, in: luma)
            let starvation = age[index] / Self.starvationAge
            worth[index] =
                ((detail + 1) * (1 + Self.gainPerPicture * age[index]) + starvation * starvation) * centrality[index]
            age[index] += 1
        }
        // An insertion sort, because the order of the last picture is nearly right.
        for i in 1..<max(1, order.count) {
            let moving = order[i]
            var place = i
            while place > 0, worth[order[place - 1]] < worth[moving] {
                order[place] = order[place - 1]
                place -= 1
            }
            order[place] = moving
        }
    }

    /// Records that a tile shows the network's result for the picture of the last ``arrange(for:)``.
    public mutating func recordRefined(_ tile: Int) { age[tile] = 0 }

    /// How much detail a network is likely to find in a tile, in sample values: half the mean absolute difference of
    /// horizontal neighbours, plus a quarter of the root mean square of the second differences, across and down. It reads
    /// one sample in sixteen. tools/bench/compare-tile-orders compares this measure with others and with what networks gain.
    private func detail(of index: Int, in luma: PlaneView) -> Float {
        let left = index % grid.columns * grid.tileSize.width
        let top = index / grid.columns * grid.tileSize.height
        let right = min(left + grid.tileSize.width, unsafe luma.width - 2)
        let bottom = min(top + grid.tileSize.height, unsafe luma.height - 2)
        var steps = 0
        var bends = 0
        var count = 0
        for y in stride(from: top, to: bottom, by: 4) {
            let (row, second, third) = unsafe (luma.row(y), luma.row(y + 1), luma.row(y + 2))
            for x in stride(from: left, to: right, by: 4) {
                let here = unsafe Int(row[x])
                let next = unsafe Int(row[x + 1])
                let across = unsafe 2 &* next &- here &- Int(row[x + 2])
                let down = unsafe 2 &* Int(second[x]) &- here &- Int(third[x])
                steps &+= max(next, here) &- min(next, here)
                bends &+= across &* across &+ down &* down
                count &+= 1
            }
        }
        if count == 0 { return 0 }
        // A second difference is twice a sample's distance from the mean of its neighbours.
        return (Float(steps) / Float(count) + (Float(bends) / Float(count)).squareRoot() / 2) / 2
    }
}
