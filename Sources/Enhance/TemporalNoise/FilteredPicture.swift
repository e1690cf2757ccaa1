import Kernels
import Media

/// A plane of a filtered picture: samples finer than a level, with a margin, and how uncertain they are.
@safe final class FilteredSamples {
    let width: Int
    let height: Int
    private let stride: Int
    private let samples: AlignedMemory
    private let variance: AlignedMemory
    private static var margin: Int { Kernels.noiseMargin }

    init(size: PictureSize) {
        width = size.width
        height = size.height
        stride = (width + 2 * Self.margin + 31) & ~31
        let sampleBytes = MemoryLayout<Int16>.stride
        samples = AlignedMemory(byteCount: stride * (height + 2 * Self.margin) * sampleBytes + 64)
        let blocks = Kernels.noiseBlocks(width: width) * Kernels.noiseBlockRows(height: height)
        variance = AlignedMemory(byteCount: blocks * Kernels.noiseBands * MemoryLayout<UInt16>.stride)
    }

    /// Valid while this plane lives.
    @unsafe var view: FilteredPlane {
        unsafe FilteredPlane(
            base: samples.pointer().assumingMemoryBound(to: Int16.self) + Self.margin * stride + Self.margin, stride: stride,
            width: width, height: height, variance: variance.pointer().assumingMemoryBound(to: UInt16.self))
    }

    /// Fills the margins.
    func extend() {
        let (margin, whole) = (Self.margin, width + 2 * Self.margin)
        let base = unsafe view.base
        for y in 0..<height {
            let row = unsafe base + y * stride
            unsafe (row - margin).update(repeating: row[0], count: margin)
            unsafe (row + width).update(repeating: row[width - 1], count: margin)
        }
        for y in 1...margin {
            unsafe (base - y * stride - margin).update(from: base - margin, count: whole)
            let last = unsafe base + (height - 1) * stride - margin
            unsafe (last + y * stride).update(from: last, count: whole)
        }
    }
}

/// A picture after the filter, as a reference for others. Its luma as it is shown lies elsewhere: motion is found in that.
final class FilteredPicture {
    let planes: [FilteredSamples]

    init(size: PictureSize) { planes = [size, size.chroma, size.chroma].map { FilteredSamples(size: $0) } }
}

/// A picture as it came: a pyramid of its luma, whose finest level is the plane to filter, and its chroma.
final class NoisyPicture {
    let pyramid: LumaPyramid
    /// Luma, u and v.
    let planes: [PaddedPlane]

    init(size: PictureSize) {
        pyramid = LumaPyramid(size: size)
        planes = [pyramid.levels[0], PaddedPlane(size: size.chroma), PaddedPlane(size: size.chroma)]
    }

    /// Copies a picture.
    @unsafe func load(_ picture: PictureView, kernels: Kernels, with workers: WorkerPool) {
        unsafe workers.run(
            Bands(target: self, picture: picture, kernels: kernels), pieces: pyramid.bands, order: .ownPartFirst)
    }

    @safe private struct Bands: PiecewiseWork {
        let target: NoisyPicture
        let picture: PictureView
        let kernels: Kernels

        func perform(piece: Int, worker: Int) {
            unsafe target.pyramid.load(band: piece, of: picture.y, kernels: kernels)
            for index in 1...2 {
                let plane = target.planes[index]
                let bands = target.pyramid.bands
                unsafe plane.load(
                    picture.plane(index), rows: piece * plane.height / bands..<(piece + 1) * plane.height / bands)
            }
        }
    }
}
