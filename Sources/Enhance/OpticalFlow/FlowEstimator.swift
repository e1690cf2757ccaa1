import Kernels
import Media

/// Flow between two luma pyramids in both directions, coarse to fine, each level's rows shared by several threads.
///
/// Source of the algorithm: Kroeger, Timofte, Dai, Van Gool, "Fast Optical Flow using Dense Inverse Search", ECCV 2016;
/// here in integers, on 8x8 patches, one for each cell of 4x4 samples, started from the coarser level, the neighbour
/// and the last pair's flow instead of by densification.
@safe final class FlowEstimator: PiecewiseWork, @unchecked Sendable {
    /// The level whose flow is the result; 0 is full size.
    let finestLevel: Int
    private let iterations: Int
    private let kernels: Kernels
    private let levels: [Level]
    private var hasSeed = false
    /// How many pairs' motion is kept, and which is the last one's.
    private let history: Int
    private var slot = 0

    // The pair in hand; valid during `estimate` only.
    /// The levels that the pieces of work are from: one by rows, or several whole, for each direction.
    private var working = 0..<0
    private var pair: (from: LumaPyramid, to: LumaPyramid)?
    private var stop: MonotonicTime?

    /// With fewer rows a level is too little to share.
    private static let fewRows = 16

    /// One level's fields.
    private final class Level {
        let columns: Int
        let rows: Int
        private let vectors: AlignedMemory
        private let costs: AlignedMemory

        init(plane: PaddedPlane, history: Int) {
            columns = (plane.width + Kernels.motionStep - 1) / Kernels.motionStep
            rows = (plane.height + Kernels.motionStep - 1) / Kernels.motionStep
            vectors = AlignedMemory(byteCount: 2 * history * columns * rows * MemoryLayout<MotionVector>.stride)
            costs = AlignedMemory(byteCount: 2 * columns * rows * MemoryLayout<Int32>.stride)
        }

        /// Direction 0 is forward.
        @unsafe func field(_ direction: Int, slot: Int) -> MotionVectors {
            let offset = (2 * slot + direction) * columns * rows
            return unsafe MotionVectors(
                base: vectors.pointer().assumingMemoryBound(to: MotionVector.self) + offset, columns: columns,
                rows: rows)
        }
        @unsafe func costs(_ direction: Int) -> UnsafeMutablePointer<Int32> {
            unsafe costs.pointer().assumingMemoryBound(to: Int32.self) + direction * columns * rows
        }
    }

    /// - Parameters:
    ///   - shape: a pyramid of the size that all pairs will have.
    ///   - history: how many pairs' motion is kept.
    init(shape: LumaPyramid, finestLevel: Int, iterations: Int, kernels: Kernels, history: Int = 1) {
        self.history = history
        self.finestLevel = min(finestLevel, shape.levels.count - 1)
        self.iterations = iterations
        self.kernels = kernels
        levels = shape.levels.map { Level(plane: $0, history: history) }
    }

    /// A pair's motion at a level, `finestLevel` or coarser; valid while this estimator lives.
    /// - Parameter age: how many pairs ago: less than the history's length.
    @unsafe func forward(level: Int, age: Int = 0) -> MotionVectors {
        unsafe levels[level].field(0, slot: (slot + history - age) % history)
    }
    @unsafe func backward(level: Int, age: Int = 0) -> MotionVectors {
        unsafe levels[level].field(1, slot: (slot + history - age) % history)
    }

    /// Forgets the last pair, whose flow would be tried first for the next.
    func reset() { hasSeed = false }

    /// Finds the flow of a pair.
    /// - Parameter stop: rows that are not begun by then keep what the coarser level says.
    /// - Returns: whether all was done in time.
    func estimate(from: LumaPyramid, to: LumaPyramid, until stop: MonotonicTime?, with workers: WorkerPool) -> Bool {
        pair = (from, to)
        self.stop = stop
        turn()
        // Both directions have nothing to do with each other.
        let small = max(levels.firstIndex { $0.rows < Self.fewRows } ?? levels.count, finestLevel)
        working = small..<levels.count
        if !working.isEmpty { workers.run(self, pieces: 2, order: .ownPartFirst) }
        for level in stride(from: small - 1, through: finestLevel, by: -1) {
            working = level..<level + 1
            workers.run(self, pieces: 2 * levels[level].rows, order: .ownPartFirst)
        }
        pair = nil
        hasSeed = true
        return stop.map { MonotonicTime.now() < $0 } ?? true
    }

    /// Makes room for a pair, with the last one's motion there to begin with.
    private func turn() {
        guard history > 1 else { return }
        let last = slot
        slot = (slot + 1) % history
        guard hasSeed else { return }
        for level in levels[finestLevel...] {
            let (from, to) = unsafe (level.field(0, slot: last), level.field(0, slot: slot))
            // Both directions lie one after the other.
            unsafe to.base.update(from: from.base, count: 2 * from.columns * from.rows)
        }
    }

    func perform(piece: Int, worker: Int) {
        let direction = piece & 1
        if levels[working.lowerBound].rows < Self.fewRows {
            for level in working.reversed() {
                for row in 0..<levels[level].rows { search(level: level, direction: direction, row: row) }
            }
        } else {
            search(level: working.lowerBound, direction: direction, row: piece >> 1)
        }
    }

    private func search(level: Int, direction: Int, row: Int) {
        guard let pair else { return }
        let (fine, rows) = (levels[level], row..<row + 1)
        let coarse = unsafe level + 1 < levels.count ? levels[level + 1].field(direction, slot: slot) : nil
        let field = unsafe fine.field(direction, slot: slot)
        if let stop, MonotonicTime.now() >= stop {
            unsafe keepCoarse(coarse, field, rows)
            return
        }
        let (from, to) = direction == 0 ? (pair.from, pair.to) : (pair.to, pair.from)
        unsafe kernels.searchMotion(
            from: from.levels[level].view, to: to.levels[level].view, coarse: coarse, into: field,
            costs: fine.costs(direction), isSeeded: hasSeed, iterations: iterations, rows: rows)
    }

    private func keepCoarse(_ coarse: MotionVectors?, _ field: MotionVectors, _ rows: Range<Int>) {
        for row in rows {
            for column in unsafe 0..<field.columns {
                var vector = MotionVector(x: 0, y: 0)
                if let coarse = unsafe coarse {
                    let (x, y) = unsafe (min(column / 2, coarse.columns - 1), min(row / 2, coarse.rows - 1))
                    let half = unsafe coarse.base[y * coarse.columns + x]
                    vector = MotionVector(x: doubled(half.x), y: doubled(half.y))
                }
                unsafe field.base[row * field.columns + column] = vector
            }
        }
    }

    private func doubled(_ value: Int16) -> Int16 { Int16(clamping: 2 * Int(value)) }
}
