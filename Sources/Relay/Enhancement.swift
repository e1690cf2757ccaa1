import Codec
import Enhance
import Media

/// The processors for pictures of one size, and the memory for their results.
///
/// Confined to the enhance thread.
final class Enhancement {
    let input: PictureSize
    let output: PictureSize
    private let superResolution: SuperResolutionSession
    private let interpolation: LowLatencyFrameInterpolation?
    private let pool: PicturePool
    private var previousTime: MediaTime?

    /// Two wait for the encoder, one is in it, two are being made, and one is still held by a queue while the next goes
    /// in.
    private static let pictures = 7

    init(input: PictureSize, scale: Int, threads: Int, synthesises: Bool) throws(EnhanceError) {
        self.input = input
        let workers = WorkerPool(threadCount: threads)
        var enlarging = SuperResolutionConfiguration(size: input)
        enlarging.scaleFactor = scale
        superResolution = try SuperResolutionSession(enlarging, workers: workers)
        output = superResolution.outputSize
        if synthesises {
            var interpolating = FrameInterpolationConfiguration(size: input)
            interpolating.scaleFactor = scale
            interpolation = try LowLatencyFrameInterpolation(interpolating, workers: workers)
        } else {
            interpolation = nil
        }
        pool = PicturePool(size: output, count: Self.pictures)
    }

    /// Memory for one result; nil when all of it is in use.
    func lease() -> PictureLease? { pool.lease() }

    /// Enlarges a picture, and makes it the newer one of the pair.
    /// - Returns: what the complete cheap upscale cost.
    func upscale(
        _ picture: borrowing DecodedPicture, into target: borrowing PictureLease, until: MonotonicTime
    ) -> Nanoseconds {
        let parameters = SuperResolutionParameters(
            until: until, quantiser: nil, chromaLocation: picture.color.chromaLocation)
        return certainly { () throws(EnhanceError) in
            unsafe try superResolution.process(
                picture.view, into: target.picture.mutableView, tier: .base, parameters
            ).baseTime
        }
    }

    /// Takes a picture and its enlarged version as the newer one of the pair.
    /// - Returns: the time from the picture before, or nil where there is none to make a pair with.
    func pair(
        _ picture: borrowing DecodedPicture, _ enlarged: borrowing PictureLease, at presentation: MediaTime
    ) -> Nanoseconds? {
        let interval = previousTime.map { MediaTime(ticks: presentation - $0).nanoseconds }
        previousTime = presentation
        let isPair = interval.map { $0 > .zero && $0 <= Self.longestPair } ?? false
        if !isPair { interpolation?.reset() }
        certainly { () throws(EnhanceError) in
            unsafe try interpolation?.push(picture.view, enhanced: enlarged.picture.view)
        }
        return isPair ? interval : nil
    }

    /// Pictures further apart than this show no motion that could be followed.
    private static let longestPair = Nanoseconds.milliseconds(250)

    /// Makes the picture halfway between the two of the pair.
    /// - Returns: false when there is no pair.
    func synthesise(into target: borrowing PictureLease, until: MonotonicTime) -> Bool {
        guard let interpolation, interpolation.isReady else { return false }
        certainly { () throws(EnhanceError) in
            _ = unsafe try interpolation.synthesise(phase: 0.5, into: target.picture.mutableView, until: until)
        }
        return true
    }

    /// The processors refuse pictures of other sizes than they were made for, and nothing else that is done here.
    private func certainly<Result>(_ body: () throws(EnhanceError) -> Result) -> Result {
        do throws(EnhanceError) {
            return try body()
        } catch {
            preconditionFailure("a picture of the right size was refused: \(error)")
        }
    }

    /// The next picture has nothing to do with those before.
    func forget() {
        interpolation?.reset()
        previousTime = nil
    }
}
