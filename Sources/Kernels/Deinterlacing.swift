import CKernels
import Media

/// What one block of an interlaced picture says about its two fields: sums over the rows of one field.
public struct CombSums: Sendable, BitwiseCopyable {
    /// |row − mean of the rows beside it|, which belong to the other field.
    public var other: UInt32 = 0
    /// |row − mean of the rows 2 above and 2 below|, which belong to the same field.
    public var same: UInt32 = 0
    /// |row of the picture before − mean of the rows beside it|.
    public var before: UInt32 = 0
    /// |row − row of the picture before|.
    public var change: UInt32 = 0

    public init() {}

    /// How many samples each sum is over.
    public static let samples = UInt32(BURNISH_COMB_WIDTH * BURNISH_COMB_ROWS)
}

extension Kernels {
    /// The size of a block in samples of the picture.
    public static let combBlock = PictureSize(width: Int(BURNISH_COMB_WIDTH), height: 2 * Int(BURNISH_COMB_ROWS))

    /// Makes a whole plane of one field of an interlaced plane.
    /// - Parameters:
    ///   - before: the plane of the picture before; nil makes the missing rows from the field alone.
    ///   - parity: 0 keeps the rows 0, 2, 4 …, 1 the others.
    ///   - isSecond: the kept field is the later one.
    /// - Precondition: at least 2 rows; all planes have one size.
    @unsafe public func deinterlace(
        _ output: MutablePlaneView, _ plane: PlaneView, before: PlaneView?, keeping parity: Int, isSecond: Bool
    ) {
        let (width, height) = unsafe (plane.width, plane.height)
        precondition(height >= 2, "two fields have at least two rows")
        for y in 0..<height {
            let out = unsafe output.row(y)
            if y & 1 == parity {
                unsafe out.update(from: plane.row(y), count: width)
                continue
            }
            // Above the first row and below the last one lies the nearest row of the same field.
            func row(_ plane: borrowing PlaneView, _ distance: Int) -> UnsafePointer<UInt8> {
                let wanted = y + distance
                if wanted < 0 { return unsafe plane.row(wanted & 1) }
                if wanted >= height { return unsafe plane.row(height - 1 - (height - 1 - wanted) & 1) }
                return unsafe plane.row(wanted)
            }
            var rows = burnish_deinterlace_rows()
            unsafe rows.kept = unsafe (row(plane, -3), row(plane, -1), row(plane, 1), row(plane, 3))
            if let before = unsafe before {
                unsafe rows.before = unsafe (row(before, -1), row(before, 1))
                unsafe rows.near.1 = unsafe (row(plane, -4), row(plane, -2), row(plane, 0), row(plane, 2), row(plane, 4))
                unsafe rows.near.0 =
                    unsafe isSecond
                    ? rows.near.1 : (row(before, -4), row(before, -2), row(before, 0), row(before, 2), row(before, 4))
                unsafe rows.change = unsafe (row(before, 0), row(plane, 0))
                rows.shift = isSecond ? 0 : 1
                unsafe table.deinterlace.row(out, &rows, Int32(width))
            } else {
                unsafe withUnsafePointer(to: &rows.kept) {
                    unsafe $0.withMemoryRebound(to: UnsafePointer<UInt8>?.self, capacity: 4) {
                        unsafe table.deinterlace.row_alone(out, $0, Int32(width))
                    }
                }
            }
        }
    }

    /// Compares the fields of one strip of blocks.
    /// - Parameters:
    ///   - sums: one for each block, side by side from the plane's left.
    ///   - first: the first row of the strip, which belongs to the field that is looked at.
    ///   - before: the plane of the picture before, of the same size.
    /// - Precondition: there are 2 rows above, 17 rows from `first` on, and 16 samples for each block.
    @unsafe public func measureCombs(
        _ sums: UnsafeMutableBufferPointer<CombSums>, _ plane: PlaneView, before: PlaneView, first: Int
    ) {
        precondition(unsafe first >= 2 && first + Self.combBlock.height < plane.height)
        precondition(unsafe sums.count * Self.combBlock.width <= plane.width)
        guard let base = sums.baseAddress else { return }
        unsafe UnsafeMutableRawPointer(base).withMemoryRebound(to: burnish_comb_sums.self, capacity: sums.count) {
            unsafe table.deinterlace.combs(
                $0, plane.row(first), plane.stride, before.row(first), before.stride, Int32(sums.count))
        }
    }
}
