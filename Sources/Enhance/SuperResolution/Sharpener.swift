import Kernels
import Media

/// Sharpens a luma plane in place, in bands that several threads share.
@safe final class Sharpener {
    private static let bandHeight = 32
    /// Bytes on both sides of a row of scratch.
    private static let margin = 64

    private let kernels: Kernels
    private let width: Int
    private let height: Int
    private let bands: Int
    private let stride: Int
    /// Copies of rows before they are sharpened: for each band the rows above and below it, and for each thread two
    /// more.
    private let rows: AlignedMemory

    init(size: PictureSize, kernels: Kernels, threadCount: Int) {
        self.kernels = kernels
        width = size.width
        height = size.height
        bands = (size.height + Self.bandHeight - 1) / Self.bandHeight
        stride = (size.width + 2 * Self.margin + 63) & ~63
        rows = AlignedMemory(byteCount: 2 * stride * (bands + threadCount))
    }

    /// - Parameter sharpness: more than 0, at most 1.
    @unsafe func sharpen(_ plane: MutablePlaneView, sharpness: Double, with workers: WorkerPool) {
        let amount = max(1, Int((Double(Kernels.strongestSharpening) * sharpness).rounded()))
        for band in 0..<bands {
            let first = band * Self.bandHeight
            unsafe row(2 * band).update(from: plane.row(max(first - 1, 0)), count: width)
            unsafe row(2 * band + 1).update(from: plane.row(min(first + Self.bandHeight, height - 1)), count: width)
        }
        unsafe workers.run(Bands(sharpener: self, plane: plane, amount: amount), pieces: bands)
    }

    /// The bands of one plane.
    @safe private struct Bands: PiecewiseWork {
        let sharpener: Sharpener
        let plane: MutablePlaneView
        let amount: Int

        func perform(piece: Int, worker: Int) {
            unsafe sharpener.sharpen(band: piece, of: plane, by: amount, worker: worker)
        }
    }

    @unsafe private func sharpen(band: Int, of plane: MutablePlaneView, by amount: Int, worker: Int) {
        let first = band * Self.bandHeight
        let last = min(first + Self.bandHeight, height)
        var above = unsafe UnsafePointer(row(2 * band))
        for y in first..<last {
            let line = unsafe row(2 * (bands + worker) + y % 2)
            unsafe line.update(from: plane.row(y), count: width)
            unsafe line[-1] = unsafe line[0]
            unsafe line[width] = unsafe line[width - 1]
            let below = unsafe y + 1 < last ? UnsafePointer(plane.row(y + 1)) : UnsafePointer(row(2 * band + 1))
            unsafe kernels.sharpen(
                plane.row(y), above: above, row: line, below: below, width: width, amount: amount)
            unsafe above = UnsafePointer(line)
        }
    }

    private func row(_ index: Int) -> UnsafeMutablePointer<UInt8> {
        unsafe rows.pointer(at: index * stride + Self.margin).assumingMemoryBound(to: UInt8.self)
    }
}
