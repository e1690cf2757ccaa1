import Kernels
import Media

/// Sharpens a luma plane in place, in bands that several threads share.
@safe final class Sharpener: PiecewiseWork, @unchecked Sendable {
    private static let bandHeight = 32
    /// Room on both sides of a row of scratch.
    private static let margin = 64

    private let kernels: Kernels
    private let amount: Int
    private let width: Int
    private let height: Int
    private let bands: Int
    private let stride: Int
    /// For each band the rows before and after it, and for each thread two, as they were.
    private let rows: AlignedMemory
    /// Valid during `sharpen` only.
    private var plane: MutablePlaneView?

    /// - Parameter sharpness: more than 0, at most 1.
    init(size: PictureSize, sharpness: Double, kernels: Kernels, threadCount: Int) {
        self.kernels = kernels
        amount = max(1, Int((Double(Kernels.strongestSharpening) * sharpness).rounded()))
        width = size.width
        height = size.height
        bands = (size.height + Self.bandHeight - 1) / Self.bandHeight
        stride = (size.width + 2 * Self.margin + 63) & ~63
        rows = AlignedMemory(byteCount: 2 * stride * (bands + threadCount))
    }

    @unsafe func sharpen(_ plane: MutablePlaneView, with workers: WorkerPool) {
        for band in 0..<bands {
            let first = band * Self.bandHeight
            unsafe row(2 * band).update(from: plane.row(max(first - 1, 0)), count: width)
            unsafe row(2 * band + 1).update(from: plane.row(min(first + Self.bandHeight, height - 1)), count: width)
        }
        unsafe self.plane = unsafe plane
        workers.run(self, pieces: bands)
        unsafe self.plane = nil
    }

    func perform(piece: Int, worker: Int) {
        guard let plane = unsafe plane else { return }
        let first = piece * Self.bandHeight
        let last = min(first + Self.bandHeight, height)
        var above = unsafe UnsafePointer(row(2 * piece))
        for y in first..<last {
            let line = unsafe row(2 * (bands + worker) + y % 2)
            unsafe line.update(from: plane.row(y), count: width)
            unsafe line[-1] = unsafe line[0]
            unsafe line[width] = unsafe line[width - 1]
            let below = unsafe y + 1 < last ? UnsafePointer(plane.row(y + 1)) : UnsafePointer(row(2 * piece + 1))
            unsafe kernels.sharpen(
                plane.row(y), above: above, row: line, below: below, width: width, amount: amount)
            unsafe above = UnsafePointer(line)
        }
    }

    private func row(_ index: Int) -> UnsafeMutablePointer<UInt8> {
        unsafe rows.pointer(at: index * stride + Self.margin).assumingMemoryBound(to: UInt8.self)
    }
}
