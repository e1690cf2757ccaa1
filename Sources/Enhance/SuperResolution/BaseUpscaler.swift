import Kernels
import Media

/// The `base` tier: doubles all three planes with separable filters, in bands that several threads share.
///
/// Luma: eight fitted taps. Chroma: Catmull-Rom, placed where the chroma samples lie.
@safe final class BaseUpscaler: PiecewiseWork, @unchecked Sendable {
    /// Output rows of one piece.
    private static let bandHeight = 48

    private let kernels: Kernels
    private let size: PictureSize
    private let scratch: AlignedMemory
    private let scratchStride: Int
    private let luma: DoublingFilter
    private var chroma: DoublingFilter
    private var chromaLocation: UInt8 = 0
    // The frame in hand; valid during `upscale` only.
    private var source: PictureView?
    private var destination: MutablePictureView?

    init(size: PictureSize, kernels: Kernels, threadCount: Int) {
        self.kernels = kernels
        self.size = size
        scratchStride = (Kernels.doublingScratch(width: size.width) + 63) & ~63
        scratch = AlignedMemory(byteCount: scratchStride * threadCount)
        luma = BaseFilters.luma
        chroma = BaseFilters.chroma(location: 0)
    }

    /// Fills the whole of `destination`, which is twice the size of `source`.
    @unsafe func upscale(
        _ source: PictureView, into destination: MutablePictureView, chromaLocation: UInt8, with workers: WorkerPool
    ) {
        unsafe begin(source, into: destination, chromaLocation: chromaLocation)
        workers.run(self, pieces: lumaBands + chromaPieces)
        end()
    }

    /// Takes a frame of which the caller then asks for parts; ``end()`` lets go of it.
    @unsafe func begin(_ source: PictureView, into destination: MutablePictureView, chromaLocation: UInt8) {
        if chromaLocation != self.chromaLocation {
            chroma = BaseFilters.chroma(location: chromaLocation)
            self.chromaLocation = chromaLocation
        }
        unsafe self.source = unsafe source
        unsafe self.destination = unsafe destination
    }

    func end() {
        unsafe source = nil
        unsafe destination = nil
    }

    private var lumaBands: Int { (2 * size.height + Self.bandHeight - 1) / Self.bandHeight }
    private var chromaBands: Int { (2 * size.chroma.height + Self.bandHeight - 1) / Self.bandHeight }

    func perform(piece: Int, worker: Int) {
        if piece >= lumaBands { return performChroma(piece: piece - lumaBands, worker: worker) }
        guard let source = unsafe source, let destination = unsafe destination else { return }
        unsafe band(piece, source.y, destination.y, luma, scratch.pointer(at: worker * scratchStride))
    }

    /// Independent pieces that both chroma planes are made of, from the top to the bottom.
    var chromaPieces: Int { 2 * chromaBands }

    func performChroma(piece: Int, worker: Int) {
        guard let source = unsafe source, let destination = unsafe destination else { return }
        let scratch = unsafe scratch.pointer(at: worker * scratchStride)
        if piece % 2 == 0 {
            unsafe band(piece / 2, source.u, destination.u, chroma, scratch)
        } else {
            unsafe band(piece / 2, source.v, destination.v, chroma, scratch)
        }
    }

    /// Writes the luma of a part of the picture, given in input samples.
    func performLuma(_ region: PictureRegion, worker: Int) {
        guard let source = unsafe source, let destination = unsafe destination else { return }
        unsafe kernels.double(
            source.y, into: destination.y, columns: region.x..<region.x + region.width,
            rows: 2 * region.y..<2 * (region.y + region.height), filter: luma,
            scratch: scratch.pointer(at: worker * scratchStride))
    }

    private func band(
        _ band: Int, _ input: PlaneView, _ output: MutablePlaneView, _ filter: borrowing DoublingFilter,
        _ scratch: UnsafeMutableRawPointer
    ) {
        let first = band * Self.bandHeight
        let last = unsafe min(first + Self.bandHeight, output.height)
        guard first < last else { return }
        unsafe kernels.double(input, into: output, rows: first..<last, filter: filter, scratch: scratch)
    }
}
