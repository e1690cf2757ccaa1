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

/// Rows of cover, of 255, that become light to lay over a picture. Plain C, which compilers vectorise.
public enum CoverRows {
    /// Mixes two values by a row of cover.
    @unsafe public static func mix(
        _ output: UnsafeMutablePointer<UInt8>, _ cover: UnsafePointer<UInt8>, from low: UInt8, to high: UInt8, width: Int
    ) {
        unsafe burnish_overlay_mix(output, cover, low, high, Int32(width))
    }

    /// The means of squares of two by two samples.
    /// - Parameter width: of the output.
    @unsafe public static func halve(
        _ output: UnsafeMutablePointer<UInt8>, _ upper: UnsafePointer<UInt8>, _ lower: UnsafePointer<UInt8>, width: Int
    ) {
        unsafe burnish_overlay_halve(output, upper, lower, Int32(width))
    }

    /// Makes samples at least as large as those of another row.
    @unsafe public static func raise(_ output: UnsafeMutablePointer<UInt8>, to other: UnsafePointer<UInt8>, width: Int) {
        unsafe burnish_overlay_most(output, other, Int32(width))
    }
}
