import Codec
import Enhance
import Media

/// The processors for pictures of one size, the memory for their results, and the previous picture.
///
/// Confined to the enhance thread.
final class Enhancement {
    private struct Previous: ~Copyable {
        let decoded: DecodedPicture
        let enhanced: PictureLease
    }

    let input: PictureSize
    let output: PictureSize
    private let superResolution: SuperResolutionSession
    private let pool: PicturePool
    private var previous: Previous?
    private var previousTime: MediaTime?

    /// Two wait for the encoder, one is in it, one is the previous, two are being made, and one is still held by a queue
    /// while the next goes in.
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

    /// Memory for one result; nil when all of it is in use.
    func lease() -> PictureLease? { pool.lease() }

    /// Enlarges a picture.
    /// - Returns: what the complete cheap upscale cost.
    func upscale(_ picture: borrowing DecodedPicture, into target: borrowing PictureLease, until: MonotonicTime) -> Nanoseconds {
        let parameters = SuperResolutionParameters(
            until: until, quantiser: nil, chromaLocation: picture.color.chromaLocation)
        do throws(EnhanceError) {
            return unsafe try superResolution.process(
                picture.view, into: target.picture.mutableView, tier: .base, parameters
            ).baseTime
        } catch {
            preconditionFailure("a picture of the session's own size was refused: \(error)")
        }
    }

    /// The time from the previous picture to one of this presentation time; nil without a previous one.
    func interval(to presentation: MediaTime) -> Nanoseconds? {
        guard let previousTime else { return nil }
        let interval = MediaTime(ticks: presentation - previousTime).nanoseconds
        return interval > .zero ? interval : nil
    }

    /// Makes the picture halfway between the previous one and this.
    /// - Returns: false when the two have no motion between them that could be shown.
    func synthesise(
        _ picture: borrowing DecodedPicture, _ enhanced: borrowing PictureLease, into target: borrowing PictureLease
    ) -> Bool {
        false
    }

    /// Keeps a picture and its result for the next pair.
    func remember(_ picture: consuming DecodedPicture, _ enhanced: consuming PictureLease, presentation: MediaTime) {
        previous = Previous(decoded: picture, enhanced: enhanced)
        previousTime = presentation
    }

    /// The next picture has nothing to do with those before.
    func forget() {
        previous = nil
        previousTime = nil
    }
}
