import Kernels
import Media

/// Flow between two luma pyramids in one direction or both, coarse to fine, each level's rows shared by several threads.
///
/// Source of the algorithm: Kroeger, Timofte, Dai, Van Gool, "Fast Optical Flow using Dense Inverse Search", ECCV 2016;
/// here in integers, on 8x8 patches, one for each cell of 4x4 samples. Instead of densification, a search starts from
/// the coarser level, the neighbour and the last pair's flow.
final class FlowEstimator {
    /// The level whose flow is the result; 0 is full size.
    let finestLevel: Int
    private let iterations: Int
    /// 1 finds forward motion alone.
    private let directions: Int
    private let kernels: Kernels
    private let levels: [Level]
    private var hasSeed = false
    /// For how many pairs motion is kept, and which slot is the last pair's.
    private let history: Int
    private var slot = 0

    /// A level with fewer rows is too little to share by rows.
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
    ///   - directions: 2, or 1 for forward motion alone.
    init(shape: LumaPyramid, finestLevel: Int, iterations: Int, kernels: Kernels, history: Int = 1, directions: Int = 2) {
        self.history = history
        self.directions = directions
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

    /// Forgets the last pair. Otherwise its flow is tried first for the next pair.
    func reset() { hasSeed = false }

    /// Finds the flow of a pair.
    /// - Parameter stop: rows that are not begun by then keep what the coarser level says.
    /// - Returns: whether all was done in time.
    func estimate(from: LumaPyramid, to: LumaPyramid, until stop: MonotonicTime?, with workers: WorkerPool) -> Bool {
        advanceHistory()
        // Small levels are too little to share by rows. Both directions have nothing to do with each other, so that
        // each is a piece of its own.
        let small = max(levels.firstIndex { $0.rows < Self.fewRows } ?? levels.count, finestLevel)
        if small < levels.count {
            workers.run(
                SmallLevels(estimator: self, from: from, to: to, levels: small..<levels.count, stop: stop), pieces: directions,
                order: .ownPartFirst)
        }
        for level in stride(from: small - 1, through: finestLevel, by: -1) {
            workers.run(
                LargeLevel(estimator: self, from: from, to: to, level: level, stop: stop),
                pieces: directions * levels[level].rows, order: .ownPartFirst)
        }
        hasSeed = true
        return stop.map { MonotonicTime.now() < $0 } ?? true
    }

    /// Takes a pair's flow that was found before.
    func adopt(_ flow: FlowPair) {
        advanceHistory()
        for level in finestLevel..<levels.count {
            unsafe flow.forward.write(into: forward(level: level), level: level)
            unsafe flow.backward.write(into: backward(level: level), level: level)
        }
        hasSeed = true
    }

    /// Makes room for a pair's motion. It begins as the last pair's.
    private func advanceHistory() {
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

    /// Several levels with few rows. A piece is a direction, through all levels.
    private struct SmallLevels: PiecewiseWork {
        let estimator: FlowEstimator
        let from: LumaPyramid
        let to: LumaPyramid
        let levels: Range<Int>
        let stop: MonotonicTime?

        func perform(piece: Int, worker: Int) {
            for level in levels.reversed() {
                for row in 0..<estimator.levels[level].rows {
                    estimator.search(from, to, level: level, direction: piece, row: row, until: stop)
                }
            }
        }
    }

    /// One level. A piece is a row in one direction.
    private struct LargeLevel: PiecewiseWork {
        let estimator: FlowEstimator
        let from: LumaPyramid
        let to: LumaPyramid
        let level: Int
        let stop: MonotonicTime?

        func perform(piece: Int, worker: Int) {
            let (row, direction) = piece.quotientAndRemainder(dividingBy: estimator.directions)
            estimator.search(from, to, level: level, direction: direction, row: row, until: stop)
        }
    }

    private func search(
        _ first: LumaPyramid, _ second: LumaPyramid, level: Int, direction: Int, row: Int, until stop: MonotonicTime?
    ) {
        let (fine, rows) = (levels[level], row..<row + 1)
        let coarse = unsafe level + 1 < levels.count ? levels[level + 1].field(direction, slot: slot) : nil
        let field = unsafe fine.field(direction, slot: slot)
        if let stop, MonotonicTime.now() >= stop {
            unsafe keepCoarse(coarse, field, rows)
            return
        }
        let (from, to) = direction == 0 ? (first, second) : (second, first)
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
