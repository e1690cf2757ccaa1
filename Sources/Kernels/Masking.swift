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

/// Makes parts of planes unrecognisable. Has memory for the sums of a row of blocks, which grows with the widest part.
///
/// Confined to one thread at a time.
@safe public final class MaskKernels {
    private var sums: [UInt32] = []
    private var lines: [Int32] = []

    public init() {}

    /// Gives each sample one value.
    @unsafe public func fill(_ part: MaskPart, with value: Int) {
        unsafe part.isDeep ? burnish_mask_fill16(part.part, Int32(value)) : burnish_mask_fill8(part.part, Int32(value))
    }

    /// Gives each block of a part its mean.
    /// - Parameter block: samples on a side, at most 256. The last block of a row or column takes what is left.
    @unsafe public func pixelate(_ part: MaskPart, block: Int) {
        unsafe withMemory(for: part) { memory in
            unsafe part.isDeep
                ? burnish_mask_pixelate16(part.part, Int32(block), memory)
                : burnish_mask_pixelate8(part.part, Int32(block), memory)
        }
    }

    /// Leaves nothing of a part but the means of its blocks, and a smooth way from each to the next.
    /// - Parameter block: as of ``pixelate(_:block:)``.
    @unsafe public func blur(_ part: MaskPart, block: Int) {
        unsafe withMemory(for: part) { memory in
            unsafe part.isDeep
                ? burnish_mask_blur16(part.part, Int32(block), memory) : burnish_mask_blur8(part.part, Int32(block), memory)
        }
    }

    private func withMemory(for part: MaskPart, _ body: (burnish_mask_memory) -> Void) {
        let width = unsafe Int(part.part.width)
        if sums.count < width {
            sums = [UInt32](repeating: 0, count: width)
            lines = [Int32](repeating: 0, count: 2 * width)
        }
        unsafe sums.withUnsafeMutableBufferPointer { sums in
            unsafe lines.withUnsafeMutableBufferPointer { lines in
                unsafe body(burnish_mask_memory(sums: sums.baseAddress, lines: lines.baseAddress))
            }
        }
    }
}
