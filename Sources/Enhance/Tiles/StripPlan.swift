/// A rectangle of tiles that is computed row by row. Large strips are cheaper than their tiles one by one, because
/// tiles beside each other share their border, and rows share the parts of their convolutions that they have in common.
struct TileStrip: Hashable, Sendable, BitwiseCopyable {
    /// In tiles.
    var column: Int
    var row: Int
    var columns: Int
    var rows: Int
    /// The smallest place of its tiles in the caller's order.
    var rank: Int
}

/// Groups tiles into strips. Nothing is allocated after `init`.
struct StripPlan {
    private(set) var strips: [TileStrip] = []
    private let grid: TileGrid
    /// For each tile its place in the caller's order, or `none` where it has not been added.
    private var ranks: [Int]
    private static let none = Int.max

    init(grid: TileGrid) {
        self.grid = grid
        ranks = Array(repeating: Self.none, count: grid.count)
        strips.reserveCapacity(grid.count)
    }

    /// Adds a tile for the next ``group(limit:width:)``.
    mutating func add(_ tile: Int, rank: Int) { ranks[tile] = min(ranks[tile], rank) }

    /// Makes strips of all tiles that have been added, removes the tiles, and sorts the strips by rank.
    /// - Parameters:
    ///   - limit: the most tiles in one strip, so that threads have enough strips to share.
    ///   - width: the most columns of one strip.
    mutating func group(limit: Int, width: Int) {
        strips.removeAll(keepingCapacity: true)
        for row in 0..<grid.rows {
            for column in 0..<grid.columns where rank(column, row) != Self.none {
                addStrip(from: column, row, limit: limit, width: width)
            }
        }
        // An insertion sort: the strips are few and nearly sorted, and the library's sort allocates.
        for i in strips.indices.dropFirst() {
            let strip = strips[i]
            var j = i
            while j > 0 && strips[j - 1].rank > strip.rank {
                strips[j] = strips[j - 1]
                j -= 1
            }
            strips[j] = strip
        }
    }

    private func rank(_ column: Int, _ row: Int) -> Int { ranks[row * grid.columns + column] }

    private mutating func addStrip(from column: Int, _ row: Int, limit: Int, width: Int) {
        var columns = 1
        while columns < min(limit, width), column + columns < grid.columns,
            rank(column + columns, row) != Self.none
        { columns += 1 }
        var rows = 1
        while (rows + 1) * columns <= limit, row + rows < grid.rows,
            (column..<column + columns).allSatisfy({ rank($0, row + rows) != Self.none })
        { rows += 1 }
        var best = Self.none
        for y in row..<row + rows {
            for x in column..<column + columns {
                best = min(best, rank(x, y))
                ranks[y * grid.columns + x] = Self.none
            }
        }
        strips.append(TileStrip(column: column, row: row, columns: columns, rows: rows, rank: best))
    }
}
