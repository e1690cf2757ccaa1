import Codec
import Enhance
import Media

/// The processors for pictures of one size, the memory for their results, and the previous picture.
///
/// Confined to the enhance thread.
final class Enhancement {
    let input: PictureSize
    let output: PictureSize
    private let superResolution: SuperResolutionSession
    private let pool: PicturePool
    private var previous: Previous?

    private struct Previous: ~Copyable {
        let presentation: MediaTime
        let arrived: MonotonicTime
        let enhanced: PictureLease
        let decoded: DecodedPicture
    }

    /// Two wait for the encoder, one is in it, one is the previous, two are being made; the rest is slack for a moment's
    /// overlap.
    private static let pictures = 8

    init(input: PictureSize, scale: Int, threads: Int, synthesises: Bool) throws(EnhanceError) {
        self.input = input
        let workers = WorkerPool(threadCount: threads)
        var configuration = SuperResolutionConfiguration(size: input)
        configuration.scaleFactor = scale
        superResolution = try SuperResolutionSession(configuration, workers: workers)
        output = superResolution.outputSize
        pool = PicturePool(size: output, count: Self.pictures)
    }
}
