import Kernels
import Media

/// The steps of the noise filters, each shared by the threads of a pool. Does not allocate after `init`.
@safe final class NoiseSteps {
    let size: PictureSize
    let kernels: Kernels
    let workers: WorkerPool
    private let lumaEstimator: NoiseEstimator
    private let chromaEstimator: NoiseEstimator
    /// The result of the last call of ``filter(_:references:levels:into:until:)``.
    let shown: [PaddedPlane]
    /// For each thread.
    private let scratch: AlignedMemory
    private let scratchStride: Int

    /// Rows of blocks between two checks of the time.
    private static let rowsAtOnce = 4

    /// A filtered picture of another moment, and the motion to it.
    @unsafe struct Reference {
        let picture: FilteredPicture
        let motion: MotionVectors
        let level: Int
    }

    init(_ configuration: TemporalNoiseConfiguration, workers: WorkerPool) throws(EnhanceError) {
        try configuration.check()
        size = configuration.size
        kernels = configuration.kernels
        self.workers = workers
        lumaEstimator = NoiseEstimator(size: size, kernels: kernels)
        chromaEstimator = NoiseEstimator(size: size.chroma, kernels: kernels)
        shown = [size, size.chroma, size.chroma].map { PaddedPlane(size: $0) }
        scratchStride = (Kernels.noiseScratch(width: size.width) + 63) & ~63
        scratch = AlignedMemory(byteCount: scratchStride * workers.threadCount)
    }

    /// The noise of a picture.
    /// - Parameter before: the picture before it, if there is one.
    func estimate(_ picture: NoisyPicture, before: NoisyPicture?) -> (luma: Double?, chroma: Double?) {
        let luma = lumaEstimator.deviation(picture.planes[..<1], before: before?.planes[..<1] ?? [])
        let chroma = chromaEstimator.deviation(picture.planes[1...], before: before?.planes[1...] ?? [])
        return (luma, chroma)
    }

    /// Filters a picture into `shown`, and for the next pictures into `output`.
    /// - Parameters:
    ///   - first: a picture of another moment.
    ///   - second: likewise.
    ///   - levels: the noise. Planes without noise are copied.
    ///   - stop: rows that are not begun by then are copied.
    /// - Returns: whether all was done in time.
    @unsafe func filter(
        _ picture: NoisyPicture, first: Reference?, second: Reference?, levels: NoiseLevels, into output: FilteredPicture,
        until stop: MonotonicTime?
    ) -> Bool {
        let bands = workers.threadCount == 1 ? 1 : 2 * workers.threadCount
        let work = unsafe Bands(
            steps: self, picture: picture, first: first, second: second, luma: NoiseModel(deviation: levels.luma),
            chroma: NoiseModel(deviation: levels.chroma), levels: levels, output: output, stop: stop, bands: bands)
        workers.run(work, pieces: 3 * bands)
        for plane in output.planes { plane.extend() }
        return stop.map { MonotonicTime.now() < $0 } ?? true
    }

    /// Bands of rows of all planes.
    @safe private struct Bands: PiecewiseWork {
        let steps: NoiseSteps
        let picture: NoisyPicture
        let first: Reference?
        let second: Reference?
        let luma: NoiseModel
        let chroma: NoiseModel
        let levels: NoiseLevels
        let output: FilteredPicture
        let stop: MonotonicTime?
        let bands: Int

        func perform(piece: Int, worker: Int) {
            let (index, band) = (piece / bands, piece % bands)
            let samples = output.planes[index]
            func reference(_ reference: Reference?) -> NoiseReference? {
                guard let reference = unsafe reference else { return nil }
                return unsafe NoiseReference(
                    reference.picture.planes[index].view, motion: reference.motion, level: reference.level,
                    chromaShift: min(index, 1))
            }
            let planes = unsafe NoiseFilterPlanes(
                now: picture.planes[index].view, first: reference(first), second: reference(second),
                filtered: samples.view, shown: steps.shown[index].writable,
                scratch: steps.scratch.pointer(at: steps.scratchStride * worker))
            let all = Kernels.noiseBlockRows(height: samples.height)
            let rows = band * all / bands..<(band + 1) * all / bands
            let isClean = index == 0 ? levels.luma == 0 : levels.chroma == 0
            var row = rows.lowerBound
            while row < rows.upperBound {
                if isClean || stop.map({ MonotonicTime.now() >= $0 }) ?? false {
                    return unsafe steps.kernels.copyNoise(planes, rows: row..<rows.upperBound)
                }
                let end = min(row + NoiseSteps.rowsAtOnce, rows.upperBound)
                unsafe steps.kernels.filterNoise(
                    planes, model: index == 0 ? luma : chroma, rows: row..<end, begins: row == rows.lowerBound)
                row = end
            }
        }
    }

    /// Copies what was filtered last.
    @unsafe func copyShown(into output: MutablePictureView) {
        for index in 0..<3 { unsafe shown[index].copy(into: output.plane(index)) }
    }
}
