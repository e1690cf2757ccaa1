import CKernels
import Media

/// A displacement in 1/64 sample of the plane it was found in.
public struct MotionVector: Hashable, Sendable, BitwiseCopyable {
    public var x: Int16
    public var y: Int16

    @inlinable public init(x: Int16, y: Int16) {
        self.x = x
        self.y = y
    }

    /// The length of 1 sample.
    public static var one: Int { 1 << Int(BURNISH_MOTION_FRACTION) }
}

/// The motion of a synthesised picture at one cell.
public struct MotionCell: Sendable, BitwiseCopyable {
    /// From the picture before to the one after, through the cell's centre.
    public var vector: MotionVector
    /// Mean absolute difference between the two pictures there, in 1/64 level.
    public var difference: UInt16
    /// The sum of both directions' vectors, which is 0 where they are opposite: |x| + |y|, in 1/64 sample.
    public var disagreement: UInt16
    /// How far the path of the motion is from a straight line at this time.
    public var bend: MotionVector
    /// Other motions that may pass here: forward and backward motion alone.
    public var others: (forward: MotionVector, backward: MotionVector)
    /// How much the vector, both others and no motion count, in 1/8.
    public var shares: (vector: UInt8, forward: UInt8, backward: UInt8, none: UInt8)
}

/// A grid of vectors that somebody else owns, row by row; cell i, j covers samples 4i ... 4i + 3 and 4j ... 4j + 3.
@unsafe public struct MotionVectors {
    public let base: UnsafeMutablePointer<MotionVector>
    public let columns: Int
    public let rows: Int

    @inlinable public init(base: UnsafeMutablePointer<MotionVector>, columns: Int, rows: Int) {
        unsafe self.base = base
        unsafe self.columns = columns
        unsafe self.rows = rows
    }

    var raw: UnsafeMutablePointer<burnish_motion_vector> {
        unsafe UnsafeMutableRawPointer(base).assumingMemoryBound(to: burnish_motion_vector.self)
    }
}

/// Motion between a picture of a pair and the picture beyond it.
@unsafe public struct NeighbourMotion {
    /// From the pair's picture to the one beyond it.
    public let outward: MotionVectors
    /// From that one to the pair's picture.
    public let inward: MotionVectors

    @inlinable public init(outward: MotionVectors, inward: MotionVectors) {
        unsafe self.outward = unsafe outward
        unsafe self.inward = unsafe inward
    }
}

/// Planes of two pictures, the earlier one first. Each has ``Kernels/motionMargin`` samples around it.
@unsafe public struct MotionPair {
    public let before: PlaneView
    public let after: PlaneView

    @inlinable public init(_ before: PlaneView, _ after: PlaneView) {
        unsafe self.before = unsafe before
        unsafe self.after = unsafe after
    }
}

/// A sum for each sample of a plane, in 16 bits, that somebody else owns.
@unsafe public struct PlaneSums {
    public let base: UnsafeMutablePointer<UInt16>
    public let width: Int

    @inlinable public init(base: UnsafeMutablePointer<UInt16>, width: Int) {
        unsafe self.base = base
        unsafe self.width = width
    }

    @inlinable public func row(_ y: Int) -> UnsafeMutablePointer<UInt16> { unsafe base + y * width }
}

extension PlaneView {
    var motion: burnish_motion_plane {
        unsafe burnish_motion_plane(origin: base, stride: stride, width: Int32(width), height: Int32(height))
    }
}

extension Kernels {
    /// The number of samples around a plane on all four sides. They repeat the nearest sample of the plane.
    public static var motionMargin: Int { Int(BURNISH_MOTION_MARGIN) }
    /// The distance between cells, in samples.
    public static var motionStep: Int { Int(BURNISH_MOTION_STEP) }

    /// Writes rows of a plane of half the size, rounded down, by means of 2x2 samples.
    @unsafe public func halve(_ input: PlaneView, into output: MutablePlaneView, rows: Range<Int>) {
        unsafe precondition(output.width * 2 <= input.width && output.height * 2 <= input.height)
        for y in rows {
            unsafe table.motion.halve(output.row(y), input.row(2 * y), input.row(2 * y + 1), Int32(output.width))
        }
    }

    /// Finds where each cell of `from` lies in `to`, for some rows of cells. Rows do not depend on each other.
    /// - Parameters:
    ///   - coarse: the field of planes of half the size, or nil at the coarsest level.
    ///   - field: the result. With `isSeeded` it holds vectors to try first.
    ///   - costs: for each cell the sum of squared differences that is left, in 1/64 level².
    @unsafe public func searchMotion(
        from: PlaneView, to: PlaneView, coarse: MotionVectors?, into field: MotionVectors,
        costs: UnsafeMutablePointer<Int32>, isSeeded: Bool, iterations: Int, rows: Range<Int>
    ) {
        var motion = table.motion
        unsafe withUnsafePointer(to: &motion) { kernels in
            var search = unsafe burnish_motion_search(
                kernels: kernels, from: from.motion, to: to.motion, columns: Int32(field.columns),
                rows: Int32(field.rows), coarse: coarse.map { unsafe UnsafePointer($0.raw) },
                coarse_columns: Int32(coarse?.columns ?? 0), coarse_rows: Int32(coarse?.rows ?? 0),
                vectors: field.raw, costs: costs, seeded: isSeeded ? 1 : 0, iterations: Int32(iterations))
            unsafe burnish_motion_search_rows(&search, Int32(rows.lowerBound), Int32(rows.upperBound))
        }
    }

    /// Decides which motion passes through each cell at a time between two pictures, for some rows of cells.
    /// - Parameters:
    ///   - earlier: motion between the first picture and the one before it, for motion that changes its speed; nil where it is not
    ///     known.
    ///   - later: motion between the second picture and the one after it; likewise.
    ///   - phase: the time, in 1/256 of the way from the first picture to the second.
    ///   - preference: how much the motion that fits best counts, where each other one counts as 1.
    @unsafe public func decideMotion(
        _ planes: MotionPair, forward: MotionVectors, backward: MotionVectors,
        earlier: NeighbourMotion? = nil, later: NeighbourMotion? = nil, phase: Int, preference: Int,
        into cells: UnsafeMutablePointer<MotionCell>, rows: Range<Int>
    ) {
        var motion = table.motion
        unsafe withUnsafePointer(to: &motion) { kernels in
            var middle = unsafe burnish_motion_middle(
                kernels: kernels, planes: (planes.before.motion, planes.after.motion),
                columns: Int32(forward.columns), rows: Int32(forward.rows),
                vectors: (UnsafePointer(forward.raw), UnsafePointer(backward.raw)),
                outer: (
                    earlier.map { unsafe UnsafePointer($0.outward.raw) }, later.map { unsafe UnsafePointer($0.outward.raw) }
                ),
                inner: (earlier.map { unsafe UnsafePointer($0.inward.raw) }, later.map { unsafe UnsafePointer($0.inward.raw) }),
                phase: Int32(phase), preference: Int32(preference),
                cells: UnsafeMutableRawPointer(cells).assumingMemoryBound(to: burnish_motion_cell.self))
            unsafe burnish_motion_middle_rows(&middle, Int32(rows.lowerBound), Int32(rows.upperBound))
        }
    }

    /// Decides how each cell of a picture that follows two others moves on from the last, for some rows of cells. First
    /// call it for all rows with `isTrial`: it then tries the motion on the last picture itself. Then call it for the
    /// picture to make.
    /// - Parameters:
    ///   - last: from the last picture to the one before.
    ///   - before: from that one to the one before it.
    ///   - distance: how far beyond the last picture, in 1/256 of the time between the others.
    ///   - trials: two numbers for each cell, written by the trial.
    ///   - cells: the result. Vectors are scaled to the distance and shrink with the confidence in them. `disagreement`
    ///     is 256 where there is no confidence.
    @unsafe public func decideMotionAhead(
        _ planes: MotionPair, last: MotionVectors, before: MotionVectors, distance: Int,
        trials: UnsafeMutablePointer<Int32>, into cells: UnsafeMutablePointer<MotionCell>, isTrial: Bool,
        rows: Range<Int>
    ) {
        var motion = table.motion
        unsafe withUnsafePointer(to: &motion) { kernels in
            var ahead = unsafe burnish_motion_ahead(
                kernels: kernels, planes: (planes.before.motion, planes.after.motion), columns: Int32(last.columns),
                rows: Int32(last.rows), last: last.raw, before: before.raw, distance: Int32(distance),
                trials: trials,
                cells: UnsafeMutableRawPointer(cells).assumingMemoryBound(to: burnish_motion_cell.self))
            if isTrial {
                unsafe burnish_motion_try_rows(&ahead, Int32(rows.lowerBound), Int32(rows.upperBound))
            } else {
                unsafe burnish_motion_ahead_rows(&ahead, Int32(rows.lowerBound), Int32(rows.upperBound))
            }
        }
    }

    /// Copies rows of cells. Each vector becomes the median of its 3x3 neighbourhood.
    @unsafe public func smoothMotion(
        _ cells: UnsafePointer<MotionCell>, into output: UnsafeMutablePointer<MotionCell>, columns: Int,
        totalRows: Int, rows: Range<Int>
    ) {
        unsafe burnish_motion_smooth_rows(
            UnsafeMutableRawPointer(output).assumingMemoryBound(to: burnish_motion_cell.self),
            UnsafeRawPointer(cells).assumingMemoryBound(to: burnish_motion_cell.self), Int32(columns),
            Int32(totalRows), Int32(rows.lowerBound), Int32(rows.upperBound))
    }

    /// Mixes rows of two planes into a third; the first gets half of the weight.
    @unsafe public func mix(_ a: PlaneView, _ b: PlaneView, into output: MutablePlaneView, rows: Range<Int>) {
        for y in rows { unsafe table.motion.mix(output.row(y), a.row(y), b.row(y), Int32(output.width)) }
    }

    /// Adds rows of a plane to sums, so many times. The weights of a sum are at most 256 together.
    @unsafe public func add(_ plane: PlaneView, weight: Int, to sums: PlaneSums, rows: Range<Int>) {
        unsafe precondition(plane.width <= sums.width)
        for y in rows { unsafe table.motion.add_weighted(sums.row(y), plane.row(y), Int32(weight), Int32(plane.width)) }
    }

    /// Writes rows of sums, divided by 256.
    @unsafe public func writeMean(_ sums: PlaneSums, into output: MutablePlaneView, rows: Range<Int>) {
        unsafe precondition(output.width <= sums.width)
        for y in rows { unsafe table.motion.mean(output.row(y), sums.row(y), Int32(output.width)) }
    }

    /// Writes rows of blocks of a plane between two others. There is one more row of blocks than of cells; the first
    /// and the last row are half as high.
    /// - Parameters:
    ///   - cellSize: samples of this plane in a cell: 2, 4, 8, 16 or 32.
    ///   - shift: this plane has 2 ^ shift samples where the plane of the cells' vectors has one; -1 or more.
    ///   - phase: where between both planes the vectors are read, in 1/256.
    ///   - taps: see ``BlendTaps``.
    ///   - withOthers: whether the cells' other motions count, too.
    ///   - alike: motions that are less apart count as one, in quarters of this plane's samples.
    ///   - second: where to write what the second plane says alone; then `output` is what the first says alone, and the taps are
    ///     those that ``BlendTaps/fillForEach()`` makes.
    @unsafe public func synthesise(
        _ planes: MotionPair, into output: MutablePlaneView, cells: UnsafePointer<MotionCell>, columns: Int, rows: Int,
        cellSize: Int, shift: Int, phase: Int, taps: BlendTaps, withOthers: Bool, alike: Int = 1,
        blockRows: Range<Int>, second: MutablePlaneView? = nil, needed: NeededBlocks? = nil
    ) {
        precondition([2, 4, 8, 16, 32].contains(cellSize), "there are no windows for cells of \(cellSize) samples")
        var motion = table.motion
        unsafe withUnsafePointer(to: &motion) { kernels in
            var synthesis = unsafe burnish_motion_synthesis(
                kernels: kernels, planes: (planes.before.motion, planes.after.motion), out: output.base,
                out_stride: output.stride, second: second?.base, second_stride: second?.stride ?? 0, columns: Int32(columns),
                rows: Int32(rows),
                cells: UnsafeRawPointer(cells).assumingMemoryBound(to: burnish_motion_cell.self),
                size: Int32(cellSize), shift: Int32(shift), phase: Int32(phase), taps: taps.table,
                others: withOthers ? 1 : 0, alike: Int32(alike), numbers: needed?.numbers,
                number_columns: Int32(needed?.columns ?? 0), most: Int32(needed?.most ?? 0))
            unsafe burnish_motion_synthesise_rows(
                &synthesis, Int32(blockRows.lowerBound), Int32(blockRows.upperBound))
        }
    }
}

/// Which samples of a plane somebody needs: a number for each 8x8 of them, row by row. Those are needed whose number is at most
/// `most`. The memory must live as long as this.
@unsafe public struct NeededBlocks {
    let numbers: UnsafePointer<UInt8>
    let columns: Int
    let most: Int
}

/// The weights of both pictures' samples at every phase of a sample, for one share of the second picture. Not
/// thread-safe while it is being filled.
@safe public final class BlendTaps {
    fileprivate let table: UnsafeMutablePointer<burnish_motion_taps>

    public init() {
        unsafe table = .allocate(capacity: 1)
        fill(weight: 128)
    }

    deinit { unsafe table.deallocate() }

    /// - Parameter weight: the share of the second picture, in 1/256.
    public func fill(weight: Int) { unsafe burnish_motion_make_taps(table, Int32(weight)) }
    /// For pictures of each plane alone.
    public func fillForEach() { unsafe burnish_motion_make_taps_of_each(table) }
}
