import CKernels
import Media

/// A part of a plane that is to be masked. Samples have 8 bits, or up to 12 in 16.
@unsafe public struct MaskPart {
    fileprivate let part: burnish_mask_part
    fileprivate let isDeep: Bool

    /// - Parameter stride: bytes from a row to the next.
    public init(samples: UnsafeMutableRawPointer, stride: Int, width: Int, height: Int, isDeep: Bool) {
        unsafe part = unsafe burnish_mask_part(samples: samples, stride: stride, width: Int32(width), height: Int32(height))
        unsafe self.isDeep = isDeep
    }
}

/// Makes parts of planes unrecognisable. Has memory for a blur's means, which grows with the largest part.
///
/// Confined to one thread at a time.
@safe public final class MaskKernels {
    private var means: [UInt16] = []
    private var line: [Int32] = []

    public init() {}

    /// Gives each sample one value.
    @unsafe public func fill(_ part: MaskPart, with value: Int) {
        unsafe part.isDeep ? burnish_mask_fill16(part.part, Int32(value)) : burnish_mask_fill8(part.part, Int32(value))
    }

    /// Gives each block of a part its mean.
    /// - Parameter block: samples on a side. The last block of a row or column takes what is left.
    @unsafe public func pixelate(_ part: MaskPart, block: Int) {
        unsafe part.isDeep
            ? burnish_mask_pixelate16(part.part, Int32(block)) : burnish_mask_pixelate8(part.part, Int32(block))
    }

    /// Leaves nothing of a part but the means of its blocks, and a smooth way from each to the next.
    /// - Parameter block: as of ``pixelate(_:block:)``.
    @unsafe public func blur(_ part: MaskPart, block: Int) {
        let columns = unsafe Int(burnish_mask_blocks(part.part.width, Int32(block)))
        let rows = unsafe Int(burnish_mask_blocks(part.part.height, Int32(block)))
        if means.count < columns * rows { means = [UInt16](repeating: 0, count: columns * rows) }
        if line.count < columns { line = [Int32](repeating: 0, count: columns) }
        unsafe means.withUnsafeMutableBufferPointer { means in
            unsafe line.withUnsafeMutableBufferPointer { line in
                unsafe part.isDeep
                    ? burnish_mask_blur16(part.part, Int32(block), means.baseAddress!, line.baseAddress!)
                    : burnish_mask_blur8(part.part, Int32(block), means.baseAddress!, line.baseAddress!)
            }
        }
    }
}
