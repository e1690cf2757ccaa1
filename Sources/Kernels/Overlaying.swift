import CKernels

extension Kernels {
    /// Lays a row of light over samples.
    /// - Parameters:
    ///   - output: what is below, and then the result.
    ///   - light: what is added.
    ///   - rest: the part of what is below that stays, of 255.
    @unsafe public func overlay(
        _ output: UnsafeMutablePointer<UInt8>, light: UnsafePointer<UInt8>, rest: UnsafePointer<UInt8>, width: Int
    ) {
        unsafe table.overlay.row(output, light, rest, Int32(width))
    }
}
