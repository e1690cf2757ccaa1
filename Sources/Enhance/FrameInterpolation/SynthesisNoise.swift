import Kernels
import Media

/// Takes out of new pictures what is left in them of the noise of the pictures around them.
///
/// The mean of two pictures has less noise than either, but what is left is not the noise of the moment between them: it is only in
/// the way. The luma of a new picture is shrunk in the frequency domain, as the noise filter shrinks a picture that has no past.
/// Pictures without noise stay as they are, bit for bit.
///
/// Takes one call at a time; allocates nothing after `init`.
@safe final class SynthesisNoise {
    private let kernels: Kernels
    private let workers: WorkerPool
    private let estimator: NoiseEstimator
    private var tracker = NoiseTracker()
    /// The new picture's luma with a margin, and what it is shrunk to.
    private let drawn: PaddedPlane
    private let shrunk: PaddedPlane
    /// What the filter writes for a next picture, which there is none of.
    private let unused: FilteredSamples
    /// For each thread.
    private let scratch: AlignedMemory
    private let scratchStride: Int

    /// Rows of blocks, and of samples, in a piece.
    private static let blockRows = 8
    private static let bandHeight = 32

    /// - Parameter size: of new pictures.
    init(size: PictureSize, kernels: Kernels, workers: WorkerPool) {
        self.kernels = kernels
        self.workers = workers
        estimator = NoiseEstimator(size: size, kernels: kernels)
        drawn = PaddedPlane(size: size)
        shrunk = PaddedPlane(size: size)
        unused = FilteredSamples(size: size)
        scratchStride = (Kernels.noiseScratch(width: size.width) + 63) & ~63
        scratch = AlignedMemory(byteCount: scratchStride * workers.threadCount)
    }

    /// Forgets the noise of a sequence.
    func reset() { tracker = NoiseTracker() }

    /// Looks at the next picture of a sequence.
    /// - Returns: how much noise there is in pictures between it and the one before: its standard deviation in levels.
    func add(_ picture: InterpolationPicture, before: InterpolationPicture?) -> Double {
        let shown = estimator.deviation(picture.lumaAlone, before: before?.lumaAlone ?? [])
        tracker.add(luma: shown, chroma: nil)
        // No more than this picture shows: one that equals the one before shows none.
        return min(tracker.worthwhile.luma, NoiseTracker.worth(shown))
    }

    /// Shrinks a new picture's luma.
    /// - Parameters:
    ///   - deviation: the noise of the pictures that it is made from, in levels.
    ///   - phase: where it is between them, in 1/256.
    ///   - stop: rows that are not begun by then stay as they are.
    @unsafe func shrink(_ picture: MutablePictureView, deviation: Double, phase: Int, until stop: MonotonicTime?) {
        guard deviation > 0, stop.map({ MonotonicTime.now() < $0 }) ?? true else { return }
        let weight = Double(phase) / 256
        let left = 0.93 * (weight * weight + (1 - weight) * (1 - weight)).squareRoot()
        let luma = unsafe picture.y
        let bands = (drawn.height + Self.bandHeight - 1) / Self.bandHeight
        workers.run(unsafe CopyStep(target: self, luma: luma.readOnly), pieces: bands, order: .ownPartFirst)
        let rows = Kernels.noiseBlockRows(height: drawn.height)
        let step = unsafe ShrinkStep(target: self, model: NoiseModel(deviation: left * deviation), luma: luma, stop: stop)
        workers.run(step, pieces: (rows + Self.blockRows - 1) / Self.blockRows, order: .ownPartFirst)
    }

    /// Copies a band of the new picture, so that shrunk rows can be written while their neighbours are still read.
    @safe private struct CopyStep: PiecewiseWork {
        let target: SynthesisNoise
        let luma: PlaneView

        func perform(piece: Int, worker: Int) {
            let first = piece * SynthesisNoise.bandHeight
            let rows = unsafe first..<min(first + SynthesisNoise.bandHeight, luma.height)
            unsafe target.drawn.load(luma, rows: rows)
        }
    }

    /// Shrinks some rows of blocks. Row r completes four rows of samples, from 4 · (r - 1) on.
    @safe private struct ShrinkStep: PiecewiseWork {
        let target: SynthesisNoise
        let model: NoiseModel
        let luma: MutablePlaneView
        let stop: MonotonicTime?

        func perform(piece: Int, worker: Int) {
            if let stop, MonotonicTime.now() >= stop { return }
            let height = target.drawn.height
            let first = piece * SynthesisNoise.blockRows
            let end = min(first + SynthesisNoise.blockRows, Kernels.noiseBlockRows(height: height))
            let planes = unsafe NoiseFilterPlanes(
                now: target.drawn.view, first: nil, second: nil, filtered: target.unused.view,
                shown: target.shrunk.writable, scratch: target.scratch.pointer(at: target.scratchStride * worker))
            unsafe target.kernels.filterNoise(planes, model: model, rows: first..<end, begins: true)
            let shrunk = unsafe target.shrunk.view
            for y in max(4 * (first - 1), 0)..<min(4 * (end - 1), height) {
                unsafe luma.row(y).update(from: shrunk.row(y), count: shrunk.width)
            }
        }
    }
}
