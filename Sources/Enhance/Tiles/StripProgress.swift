import Kernels
import Media
import Synchronization

/// How far the strips of a run are. Two threads may work on one strip: they claim rows of samples from its two ends
/// until they meet. Both are busy until it is done, however fast each of them is, and neither computes a border that a
/// strip of its own would not have.
///
/// The thread that hands out the run calls ``begin(_:)``. Any thread may call the rest.
@safe final class StripProgress {
    /// A row of tiles of a strip, in rows of samples.
    private struct TileRow: ~Copyable {
        let begun = Atomic<Int>(0)
        let done = Atomic<Int>(0)
    }

    private let grid: TileGrid
    /// The rows that nobody has claimed yet, by the strip's place in the plan.
    private let rows: UnsafeMutablePointer<TwoEndedRange>
    /// By the number of its first tile.
    private let tileRows: UnsafeMutablePointer<TileRow>

    init(grid: TileGrid) {
        self.grid = grid
        unsafe rows = .allocate(capacity: grid.count)
        unsafe tileRows = .allocate(capacity: grid.count)
        for tile in 0..<grid.count {
            unsafe (rows + tile).initialize(to: TwoEndedRange())
            unsafe (tileRows + tile).initialize(to: TileRow())
        }
    }

    deinit {
        unsafe rows.deinitialize(count: grid.count)
        unsafe rows.deallocate()
        unsafe tileRows.deinitialize(count: grid.count)
        unsafe tileRows.deallocate()
    }

    /// Begins a run of strips, of which nothing is done yet.
    func begin(_ strips: [TileStrip]) {
        for (index, strip) in strips.enumerated() {
            let (top, bottom) = (self.rows(of: strip.row), self.rows(of: strip.row + strip.rows - 1))
            unsafe rows[index].fill(top.lowerBound..<bottom.upperBound)
            for row in strip.row..<strip.row + strip.rows {
                unsafe tileRows[first(row, of: strip)].begun.store(0, ordering: .relaxed)
                unsafe tileRows[first(row, of: strip)].done.store(0, ordering: .relaxed)
            }
        }
    }

    /// The rows of samples of a row of tiles.
    func rows(of tileRow: Int) -> Range<Int> {
        let top = tileRow * grid.tileSize.height
        return top..<min(top + grid.tileSize.height, grid.size.height)
    }

    /// Rows of samples that nobody has claimed yet.
    func rowsLeft(ofStrip index: Int) -> Int { unsafe rows[index].count }

    /// - Returns: nil when the strip has no rows left.
    func claimRows(ofStrip index: Int, _ direction: StripDirection, most: Int) -> Range<Int>? {
        switch direction {
        case .down: unsafe rows[index].claimFirst(most: most)
        case .up: unsafe rows[index].claimLast(most: most)
        }
    }

    /// Records that a thread begins rows of samples of a row of tiles.
    /// - Returns: whether nothing of it was begun before.
    func recordBegun(_ count: Int, tileRow: Int, of strip: TileStrip) -> Bool {
        unsafe tileRows[first(tileRow, of: strip)].begun.add(count, ordering: .relaxed).oldValue == 0
    }

    /// Records that rows of samples of a row of tiles are done.
    /// - Returns: whether all of it is done now. Only one caller gets true; it then sees what all threads have written.
    func recordDone(_ count: Int, tileRow: Int, of strip: TileStrip) -> Bool {
        let done = unsafe tileRows[first(tileRow, of: strip)].done.add(count, ordering: .acquiringAndReleasing)
        return done.newValue == rows(of: tileRow).count
    }

    func isDone(tileRow: Int, of strip: TileStrip) -> Bool {
        unsafe tileRows[first(tileRow, of: strip)].done.load(ordering: .acquiring) == rows(of: tileRow).count
    }

    private func first(_ row: Int, of strip: TileStrip) -> Int { row * grid.columns + strip.column }
}
