import Kernels
import Media

/// Motion at one level of the pyramid as a picture between two sees it, and what it takes to make the picture from it.
final class MotionLayer {
    let level: Int
    let columns: Int
    let rows: Int
    /// Samples of the output's luma to one of the level's: 2 ^ shift.
    let shift: Int
    let lumaWindows: BlendWindows
    let chromaWindows: BlendWindows
    private let decided: AlignedMemory
    private let smoothed: AlignedMemory

    /// - Parameter enlargement: the output has 2 ^ enlargement times the size of level 0.
    init(level: Int, columns: Int, rows: Int, enlargement: Int) {
        self.level = level
        self.columns = columns
        self.rows = rows
        shift = level + enlargement
        lumaWindows = BlendWindows(cellSize: Kernels.motionStep << shift)
        chromaWindows = BlendWindows(cellSize: (Kernels.motionStep << shift) / 2)
        decided = AlignedMemory(byteCount: columns * rows * MemoryLayout<MotionCell>.stride)
        smoothed = AlignedMemory(byteCount: columns * rows * MemoryLayout<MotionCell>.stride)
    }

    /// Each cell's vector by itself.
    @unsafe var decidedCells: UnsafeMutablePointer<MotionCell> {
        unsafe decided.pointer().assumingMemoryBound(to: MotionCell.self)
    }
    /// The same without outliers: what pictures are made from.
    @unsafe var cells: UnsafeMutablePointer<MotionCell> {
        unsafe smoothed.pointer().assumingMemoryBound(to: MotionCell.self)
    }

    /// There is one row of blocks more than of cells.
    var blockRows: Int { rows + 1 }

    /// Whether both pictures have little to do with each other: in 70 of 100 cells motion forward and backward
    /// contradict each other by 2 samples, and what they show is 8 levels apart on average. (Cuts of the clips in
    /// docs/design/interpolation.md come to 87 and more, their fastest pans to 64.)
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
