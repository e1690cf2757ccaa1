import CKernels

extension Kernels {
    /// Finds the motion of a picture between two by way of the pictures beyond them, for some rows of cells. First call it for all
    /// rows without `isSecond`, then with it.
    /// - Parameters:
    ///   - cells: the motion between the two.
    ///   - before: from the first picture to the one before it; nil where that is not known. Then the first takes its place.
    ///   - after: from the second picture to the one after it; likewise.
    ///   - phase: the time, in 1/256 of the way from the first picture to the second.
    @unsafe public static func decideMotionBeyond(
        _ cells: UnsafePointer<MotionCell>, columns: Int, totalRows: Int, before: MotionVectors?, after: MotionVectors?,
        phase: Int, into result: MotionBeyond, isSecond: Bool, rows: Range<Int>
    ) {
        precondition(columns * totalRows <= result.count)
        var beyond = unsafe burnish_motion_beyond(
            columns: Int32(columns), rows: Int32(totalRows),
            cells: UnsafeRawPointer(cells).assumingMemoryBound(to: burnish_motion_cell.self),
            beyond: (before.map { unsafe UnsafePointer($0.raw) }, after.map { unsafe UnsafePointer($0.raw) }),
            phase: Int32(phase), own: (result.vectors, result.vectors + result.count),
            outer: UnsafeMutableRawPointer(result.outer).assumingMemoryBound(to: burnish_motion_cell.self),
            inner: UnsafeMutableRawPointer(result.inner).assumingMemoryBound(to: burnish_motion_cell.self))
        if isSecond {
            unsafe burnish_motion_beyond_smooth_rows(&beyond, Int32(rows.lowerBound), Int32(rows.upperBound))
        } else {
            unsafe burnish_motion_beyond_rows(&beyond, Int32(rows.lowerBound), Int32(rows.upperBound))
        }
    }
}

/// The motion of a picture between two by way of the pictures beyond them.
@safe public final class MotionBeyond {
    fileprivate let count: Int
    private let cells: UnsafeMutablePointer<MotionCell>
    fileprivate let vectors: UnsafeMutablePointer<burnish_motion_vector>

    /// - Parameter count: how many cells there are.
    public init(count: Int) {
        self.count = count
        unsafe cells = .allocate(capacity: 2 * count)
        unsafe vectors = .allocate(capacity: 2 * count)
    }

    deinit {
        unsafe vectors.deallocate()
        unsafe cells.deallocate()
    }

    /// The motion from the picture before the first to the one after the second.
    @unsafe public var outer: UnsafeMutablePointer<MotionCell> { unsafe cells }
    /// The motion from the first picture to the second, as far as the motion beyond them goes on.
    @unsafe public var inner: UnsafeMutablePointer<MotionCell> { unsafe cells + count }
}
