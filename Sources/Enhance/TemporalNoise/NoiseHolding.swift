import Kernels
import Media

/// Gives out blocks of filtered pictures exactly as they were given out last, as long as they are nearly what the filter makes of
/// them now.
///
/// The mean of some pictures changes a little with each of them, even where an encoder skipped the block. Then no tile of it could
/// be reused. The filter itself goes on with its own result, so that nothing drifts.
///
/// Confined to one thread at a time. Does not allocate after `init`.
final class NoiseHolding {
    /// Luma, u and v as they were given out last.
    private let given: [PaddedPlane]
    private var hasGiven = false

    /// For a block that came as it had come last. What the filter makes of it moves towards what came, which the mean follows.
    private static let same = NoiseDistance(sample: 12, mean: 4)
    /// For a block that the encoder did code, but to say hardly anything new.
    private static let coded = NoiseDistance(sample: 1, mean: 1)

    init(size: PictureSize) { given = [size, size.chroma, size.chroma].map { PaddedPlane(size: $0) } }

    /// The next picture is given out as the filter makes it.
    func forget() { hasGiven = false }

    /// Gives out a picture.
    /// - Parameters:
    ///   - shown: what the filter makes of it.
    ///   - now: the picture as it came.
    ///   - before: the one that was given out last, as it came. Nil gives out `shown`.
    ///   - isCoded: whether the noise may be that of coding.
    @unsafe func give(
        _ shown: [PaddedPlane], now: NoisyPicture, before: NoisyPicture?, isCoded: Bool, into output: MutablePictureView,
        with workers: WorkerPool
    ) {
        let bands = workers.threadCount
        let work = unsafe Bands(
            given: given, shown: shown, now: now, before: before ?? now,
            // Nothing is near enough where nothing was given out.
            same: hasGiven && before != nil ? Self.same : NoiseDistance(sample: -1, mean: 0),
            other: hasGiven && before != nil && isCoded ? Self.coded : nil, output: output, bands: bands)
        workers.run(work, pieces: 3 * bands)
        hasGiven = true
    }

    /// Bands of rows of all planes.
    @safe private struct Bands: PiecewiseWork {
        let given: [PaddedPlane]
        let shown: [PaddedPlane]
        let now: NoisyPicture
        let before: NoisyPicture
        let same: NoiseDistance
        let other: NoiseDistance?
        let output: MutablePictureView
        let bands: Int

        func perform(piece: Int, worker: Int) {
            let (index, band) = (piece / bands, piece % bands)
            let all = Kernels.noiseHoldingRows(height: given[index].height)
            let planes = unsafe NoiseHoldingPlanes(
                now: now.planes[index].view, before: before.planes[index].view, shown: shown[index].view,
                given: given[index].writable, output: output.plane(index))
            unsafe Kernels.holdNoise(planes, same: same, other: other, rows: band * all / bands..<(band + 1) * all / bands)
        }
    }
}
