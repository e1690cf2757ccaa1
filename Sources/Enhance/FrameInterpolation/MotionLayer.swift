import Kernels
import Media

/// The motion at one level of the pyramid for a picture between two.
final class MotionLayer {
    let level: Int
    let columns: Int
    let rows: Int
    /// Samples of the output's luma to one of the level's: 2 ^ shift.
    let shift: Int
    private let decided: AlignedMemory
    private let smoothed: AlignedMemory

    /// - Parameter enlargement: the output has 2 ^ enlargement times the size of level 0.
    init(level: Int, columns: Int, rows: Int, enlargement: Int) {
        self.level = level
        self.columns = columns
        self.rows = rows
        shift = level + enlargement
        decided = AlignedMemory(byteCount: columns * rows * MemoryLayout<MotionCell>.stride)
        smoothed = AlignedMemory(byteCount: columns * rows * MemoryLayout<MotionCell>.stride)
    }

    /// Each cell's vector, decided without its neighbours.
    @unsafe var decidedCells: UnsafeMutablePointer<MotionCell> {
        unsafe decided.pointer().assumingMemoryBound(to: MotionCell.self)
    }
    /// The same cells without outliers. Pictures are made from these.
    @unsafe var cells: UnsafeMutablePointer<MotionCell> {
        unsafe smoothed.pointer().assumingMemoryBound(to: MotionCell.self)
    }

    /// There is one more row of blocks than of cells.
    var blockRows: Int { rows + 1 }

    /// Samples of luma, u or v by number, across and down a cell.
    func cellSize(plane: Int) -> Int { (Kernels.motionStep << shift) / (plane == 0 ? 1 : 2) }

    /// The rows of a plane that a row of blocks covers.
    func rows(ofBlocks row: Int, plane: Int, height: Int) -> Range<Int> {
        let size = cellSize(plane: plane)
        let first = max(row * size - size / 2, 0)
        return min(first, height)..<min(max((row + 1) * size - size / 2, first), height)
    }

    /// The longest motion of the decided cells, in samples of the output, where three cells in a row have it: one or two may be wrong.
    var longestMotion: Double {
        var longest = 0
        for row in 0..<rows {
            var last = (Int.max, Int.max)
            for column in 0..<columns {
                let vector = unsafe decidedCells[row * columns + column].vector
                let length = Int(vector.x) * Int(vector.x) + Int(vector.y) * Int(vector.y)
                longest = max(longest, min(length, last.0, last.1))
                last = (last.1, length)
            }
        }
        return Double(longest).squareRoot() / Double(MotionVector.one) * Double(1 << shift)
    }

    /// Whether the two pictures belong to different scenes: in 70 of 100 cells the vectors forward and backward
    /// disagree by 2 samples, and the samples that they lead to differ by 8 levels on average. (Cuts of the clips in
    /// docs/measurements/interpolation.md come to 87 and more, their fastest pans to 64.)
    var isSceneCut: Bool {
        var (contradicting, difference) = (0, 0)
        let count = columns * rows
        for i in 0..<count {
            let cell = unsafe decidedCells[i]
            if Int(cell.disagreement) > 2 * MotionVector.one { contradicting += 1 }
            difference += Int(cell.difference)
        }
        return contradicting * 10 > count * 7 && difference > 8 * 64 * count
    }
}
