import Glibc
import Media

/// The last frame's luma and what networks made of it. A tile's result stays valid for the next frame where nothing
/// that it depends on has changed.
///
/// Networks write into this object's own plane. Where there is a time to stop, results are copied into the caller's
/// picture when a tile is complete, so that an abandoned tile leaves no trace there. Otherwise they are copied row by
/// row. Tiles are independent: several threads may work on different ones at once.
@safe final class TileHistory {
    private let grid: TileGrid
    /// How many positions around a tile each tier's result depends on, by the tier's raw value.
    private let radii: [Int]
    /// Input samples in a position of the grid, on each side.
    private let inputScale: Int
    private let stride: Int
    /// The luma of the last frame and of the present one. They change places in ``advance()``.
    private let inputs: AlignedMemory
    private let results: AlignedMemory
    private var present = 0
    /// Each tile's tier; `base` where no result is valid.
    private let tiers: UnsafeMutablePointer<SuperResolutionTier>

    init(grid: TileGrid, radii: [Int], inputScale: Int) {
        self.grid = grid
        self.radii = radii
        self.inputScale = inputScale
        stride = (grid.size.width + 63) & ~63
        inputs = AlignedMemory(byteCount: 2 * inputScale * stride * inputScale * grid.size.height)
        results = AlignedMemory(byteCount: 4 * stride * grid.size.height)
        unsafe tiers = .allocate(capacity: grid.count)
        unsafe tiers.initialize(repeating: .base, count: grid.count)
    }

    deinit { unsafe tiers.deallocate() }

    /// The tier whose result is valid for the present frame; `base` when none is.
    func tier(ofTile tile: Int) -> SuperResolutionTier { unsafe tiers[tile] }

    func set(_ tier: SuperResolutionTier, ofTile tile: Int) { unsafe tiers[tile] = tier }

    /// Makes all results invalid.
    func invalidate() { unsafe tiers.update(repeating: .base, count: grid.count) }

    /// Where results are computed: twice the size of the grid.
    @unsafe var plane: MutablePlaneView {
        unsafe MutablePlaneView(
            base: results.pointer().assumingMemoryBound(to: UInt8.self), stride: 2 * stride,
            width: 2 * grid.size.width, height: 2 * grid.size.height)
    }

    /// Copies the results of tiles beside each other, from this one on, into the picture.
    @unsafe func copy(_ tile: Int, columns: Int = 1, into output: MutablePlaneView) {
        let region = grid.region(tile)
        let last = grid.region(tile + columns - 1)
        let width = last.x + last.width - region.x
        let results = unsafe plane
        for y in 2 * region.y..<2 * (region.y + region.height) {
            unsafe (output.row(y) + 2 * region.x).update(from: results.row(y) + 2 * region.x, count: 2 * width)
        }
    }

    /// Compares one row of tiles with the last frame, makes results invalid where it differs, and keeps its samples.
    /// Rows do not depend on each other. Call ``advance()`` when all of them are done.
    @unsafe func update(row: Int, from source: PlaneView) {
        for column in 0..<grid.columns {
            let tile = row * grid.columns + column
            let tier = tier(ofTile: tile)
            if tier != .base, unsafe !isUnchanged(grid.region(tile), within: radii[Int(tier.rawValue)], source) {
                set(.base, ofTile: tile)
            }
        }
        let first = row * grid.tileSize.height
        for y in inputScale * first..<inputScale * min(first + grid.tileSize.height, grid.size.height) {
            unsafe self.row(y, of: 1 - present).update(from: source.row(y), count: inputScale * grid.size.width)
        }
    }

    /// Makes the samples that were kept the last frame.
    func advance() { present = 1 - present }

    private func row(_ y: Int, of input: Int) -> UnsafeMutablePointer<UInt8> {
        unsafe inputs.pointer(at: (input * inputScale * grid.size.height + y) * inputScale * stride)
            .assumingMemoryBound(to: UInt8.self)
    }

    private func isUnchanged(_ region: PictureRegion, within radius: Int, _ source: PlaneView) -> Bool {
        let left = inputScale * max(region.x - radius, 0)
        let width = inputScale * min(region.x + region.width + radius, grid.size.width) - left
        let (top, bottom) = (max(region.y - radius, 0), min(region.y + region.height + radius, grid.size.height))
        for y in inputScale * top..<inputScale * bottom {
            if unsafe memcmp(row(y, of: present) + left, source.row(y) + left, width) != 0 { return false }
        }
        return true
    }
}
