import Media

/// In which order a frame's tiles are worth a network's time: detail first, the centre before the edge, and a tile that
/// has gone without for long before all, so that no region stays soft. (What has not changed since it was done is copied
/// for nothing and does not count as waiting.)
///
/// Confined to the enhance thread; allocates nothing after `init`.
struct TileOrder {
    /// Tiles, most worthy first.
    private(set) var order: [Int]
    private var worth: [Float]
    private var age: [Float]
    private let centrality: [Float]
    private let columns: Int
    private let tile: PictureSize

    /// How much a frame of waiting counts, as a share of the tile's own detail.
    private static let impatience: Float = 0.05
    /// Frames of waiting after which a tile without any detail has the worth of a step of one sample value more: it grows
    /// with their square, so that it does not matter for as long as the others take turns quickly.
    private static let patience: Float = 6

    init(columns: Int, rows: Int, tile: PictureSize) {
        self.columns = columns
        self.tile = tile
        order = Array(0..<(columns * rows))
        worth = Array(repeating: 0, count: columns * rows)
        age = Array(repeating: 0, count: columns * rows)
        centrality = (0..<(columns * rows)).map { index in
            let x = (Float(index % columns) + 0.5) / Float(columns) - 0.5
            let y = (Float(index / columns) + 0.5) / Float(rows) - 0.5
            return 1.25 - (x * x + y * y)
        }
    }

    /// Puts the tiles of a picture in order.
    mutating func arrange(for luma: PlaneView) {
        for index in worth.indices {
            let detail = unsafe detail(of: index, in: luma)
            let waited = age[index] / Self.patience
            worth[index] =
                ((detail + 1) * (1 + Self.impatience * age[index]) + waited * waited) * centrality[index]
            age[index] += 1
        }
        // The order of the last frame is nearly right: an insertion sort does little.
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

    /// A tile shows the network's result for the picture of the last ``arrange(for:)``.
    mutating func refined(_ tile: Int) { age[tile] = 0 }

    /// What a network is likely to find to do, in sample values: half the mean step from a sample to the next, and half of
    /// how far samples are from the middle between their neighbours, across and down, root mean square. Over one sample in
    /// sixteen. (tools/bench/compare-tile-orders compares it with others, and with what networks really gain.)
    private func detail(of index: Int, in luma: PlaneView) -> Float {
        let left = index % columns * tile.width
        let top = index / columns * tile.height
        let right = min(left + tile.width, unsafe luma.width - 2)
        let bottom = min(top + tile.height, unsafe luma.height - 2)
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
        // A bend is twice as large as the distance from the middle.
        return (Float(steps) / Float(count) + (Float(bends) / Float(count)).squareRoot() / 2) / 2
    }
}
