import CKernels

extension Kernels {
    /// Sharpens one row of a plane: adds to each sample a part of its difference from the mean of its four neighbours.
    /// - Parameters:
    ///   - output: must not be one of the other rows.
    ///   - row: with one more sample on each side.
    ///   - amount: 0…``strongestSharpening``, which is the whole difference.
    @unsafe public func sharpen(
        _ output: UnsafeMutablePointer<UInt8>, above: UnsafePointer<UInt8>, row: UnsafePointer<UInt8>,
        below: UnsafePointer<UInt8>, width: Int, amount: Int
    ) {
        precondition((0...Self.strongestSharpening).contains(amount))
        unsafe table.sharpen.row(output, above, row, below, Int32(width), Int32(amount))
    }

    public static var strongestSharpening: Int { Int(BURNISH_SHARPEN_FULL) }
}
