import Codec
import Enhance
import Media

/// The noise filter of one stream's pictures, and memory for one result.
///
/// Confined to one thread at a time: the one that makes it, then the enhance thread.
final class Denoising {
    private let filter: TemporalNoiseFilter
    private let memory: Picture
    private var isFiltered = false

    init(size: PictureSize, workers: WorkerPool) throws(EnhanceError) {
        filter = try TemporalNoiseFilter(TemporalNoiseConfiguration(size: size), workers: workers)
        memory = Picture(size: size)
    }

    /// The picture that was filtered last; nil where the last one was left as it is.
    @unsafe var result: PictureView? { unsafe isFiltered ? memory.view : nil }

    /// - Parameters:
    ///   - strength: 0…1; nil finds out.
    ///   - stop: rows that are not begun by then stay as they are.
    /// - Returns: what it took.
    func process(
        _ picture: borrowing DecodedPicture, strength: Double?, until stop: MonotonicTime
    ) throws(EnhanceError) -> Nanoseconds {
        let parameters = TemporalNoiseParameters(
            strength: strength.map { .fixed($0) } ?? .automatic,
            quantiser: picture.meanQuantiser.map { Int($0.rounded()) }, until: stop)
        let result = unsafe try filter.process(picture.view, into: memory.mutableView, parameters)
        isFiltered = true
        return result.time
    }

    /// The next picture is not filtered. The filter goes on with the last one that was.
    func leave() { isFiltered = false }
}
