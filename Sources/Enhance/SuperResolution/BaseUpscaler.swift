import Kernels
import Media

/// The `base` tier: doubles all three planes with separable filters, in bands that several threads share.
///
/// Luma has eight fitted taps. Chroma has Catmull-Rom, placed where the chroma samples lie. With the scale factor 1 it
/// copies the planes.
@safe final class BaseUpscaler {
    /// Output rows of one piece.
    private static let bandHeight = 48

    private let kernels: Kernels
    private let size: PictureSize
    private let scaleFactor: Int
    private let scratch: AlignedMemory
    private let scratchStride: Int
    private let luma: DoublingFilter
    private var chroma: DoublingFilter
    private var chromaLocation: UInt8 = 0

    init(size: PictureSize, scaleFactor: Int, kernels: Kernels, threadCount: Int) {
        self.kernels = kernels
        self.size = size
        self.scaleFactor = scaleFactor
        scratchStride = (Kernels.doublingScratch(width: size.width) + 63) & ~63
        scratch = AlignedMemory(byteCount: scratchStride * threadCount)
        luma = BaseFilters.luma
        chroma = BaseFilters.chroma(location: 0)
    }

    /// Fills the whole of `destination`, which is twice the size of `source`.
    @unsafe func upscale(
        _ source: PictureView, into destination: MutablePictureView, chromaLocation: UInt8, with workers: WorkerPool
    ) {
        let frame = unsafe frame(source, into: destination, chromaLocation: chromaLocation)
        workers.run(frame, pieces: lumaBands + frame.chromaPieces)
    }

    /// A frame whose parts the caller asks for one by one. Use it before the next one is made.
    @unsafe func frame(_ source: PictureView, into destination: MutablePictureView, chromaLocation: UInt8) -> Frame {
        if chromaLocation != self.chromaLocation {
            chroma = BaseFilters.chroma(location: chromaLocation)
            self.chromaLocation = chromaLocation
        }
        return unsafe Frame(upscaler: self, source: source, destination: destination)
    }

    /// One picture and where its enlargement goes. All parts are independent of each other: several threads may do them
    /// at once. The views must outlive this value.
    @safe struct Frame: PiecewiseWork {
        fileprivate let upscaler: BaseUpscaler
        let source: PictureView
        let destination: MutablePictureView

        /// Does the bands of luma, then the pieces of chroma.
        func perform(piece: Int, worker: Int) {
            let lumaBands = upscaler.lumaBands
            if piece >= lumaBands { return performChroma(piece: piece - lumaBands, worker: worker) }
            unsafe upscaler.double(band: piece, of: source.y, into: destination.y, upscaler.luma, worker: worker)
        }

        /// How many pieces the chroma planes have, from the top to the bottom.
        var chromaPieces: Int { 2 * upscaler.chromaBands }

        func performChroma(piece: Int, worker: Int) {
            if piece % 2 == 0 {
                unsafe upscaler.double(
                    band: piece / 2, of: source.u, into: destination.u, upscaler.chroma, worker: worker)
            } else {
                unsafe upscaler.double(
                    band: piece / 2, of: source.v, into: destination.v, upscaler.chroma, worker: worker)
            }
        }

        /// Writes the luma of a part of the picture, given in positions of networks.
        func performLuma(_ region: PictureRegion, worker: Int) {
            guard upscaler.scaleFactor == 2 else {
                for y in 2 * region.y..<2 * (region.y + region.height) {
                    unsafe (destination.y.row(y) + 2 * region.x).update(
                        from: source.y.row(y) + 2 * region.x, count: 2 * region.width)
                }
                return
            }
            unsafe upscaler.kernels.double(
                source.y, into: destination.y, columns: region.x..<region.x + region.width,
                rows: 2 * region.y..<2 * (region.y + region.height), filter: upscaler.luma,
                scratch: upscaler.scratch(of: worker))
        }
    }

    private var lumaBands: Int { bands(of: size.height) }
    private var chromaBands: Int { bands(of: size.chroma.height) }
    private func bands(of height: Int) -> Int { (scaleFactor * height + Self.bandHeight - 1) / Self.bandHeight }

    private func scratch(of worker: Int) -> UnsafeMutableRawPointer { unsafe scratch.pointer(at: worker * scratchStride) }

    @unsafe private func double(
        band: Int, of input: PlaneView, into output: MutablePlaneView, _ filter: borrowing DoublingFilter, worker: Int
    ) {
        let first = band * Self.bandHeight
        let last = unsafe min(first + Self.bandHeight, output.height)
        guard first < last else { return }
        guard scaleFactor == 2 else {
            for y in first..<last { unsafe output.row(y).update(from: input.row(y), count: input.width) }
            return
        }
        unsafe kernels.double(input, into: output, rows: first..<last, filter: filter, scratch: scratch(of: worker))
    }
}
