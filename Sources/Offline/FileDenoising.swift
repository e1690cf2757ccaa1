import Enhance
import Media
import Telemetry

/// What stays with a picture on its way through the processors.
struct FilePictureFacts {
    /// In the file's time unit.
    var time: Int64
    var quantiser: Int?
    var chromaLocation: UInt8
    /// What it carries for viewers, and what pictures before it carried that were left out.
    var userData: PictureUserData?
}

/// Takes noise out of a file's pictures before they are enlarged. Pictures may come out later than they go in.
///
/// Confined to one thread at a time. Does not allocate after `init`, but for the first pictures that wait.
final class FileDenoising {
    private enum Method {
        case past(TemporalNoiseFilter)
        case both(TwoSidedNoiseFilter)
    }

    private let method: Method
    private let strength: NoiseStrength
    private let result: Picture
    private var waiting: [FilePictureFacts] = []
    /// The picture in `result` has not been taken yet.
    private var isReady = false
    private var current = TemporalNoiseResult()

    /// Milliseconds for each picture.
    private(set) var times = Histogram()
    private(set) var total = Nanoseconds.zero
    private var luma = 0.0
    private var chroma = 0.0
    private var count = 0

    /// - Parameter usesPastAlone: pictures are compared with earlier ones alone, as live.
    init(
        size: PictureSize, strength: NoiseStrength, usesPastAlone: Bool, workers: WorkerPool
    ) throws(EnhanceError) {
        let configuration = TemporalNoiseConfiguration(size: size)
        method =
            usesPastAlone
            ? .past(try TemporalNoiseFilter(configuration, workers: workers))
            : .both(try TwoSidedNoiseFilter(configuration, workers: workers))
        self.strength = strength
        result = Picture(size: size)
    }

    /// Adds the next picture. Take all that ``next()`` gives before the next call.
    @unsafe func push(_ view: PictureView, _ facts: FilePictureFacts) throws(EnhanceError) {
        let start = MonotonicTime.now()
        switch method {
        case .past(let filter):
            current = unsafe try filter.process(
                view, into: result.mutableView,
                TemporalNoiseParameters(strength: strength, quantiser: facts.quantiser))
            isReady = true
        case .both(let filter):
            unsafe try filter.push(view, TwoSidedNoiseParameters(strength: strength, quantiser: facts.quantiser))
        }
        waiting.append(facts)
        total += .now() - start
        if case .past = method { times.record(.now() - start) }
    }

    /// How many pictures later than they come pictures are filtered.
    var lookahead: Int {
        switch method {
        case .past: 0
        case .both(let filter): filter.lookahead
        }
    }

    /// No picture follows: all that wait come out.
    func finish() {
        if case .both(let filter) = method { filter.finish() }
    }

    /// The next filtered picture, valid until the next call; nil while none is ready.
    func next() throws(EnhanceError) -> (picture: Picture, facts: FilePictureFacts)? {
        let start = MonotonicTime.now()
        switch method {
        case .past:
            guard isReady else { return nil }
            isReady = false
        case .both(let filter):
            guard let made = unsafe try filter.next(into: result.mutableView) else { return nil }
            current = made
            times.record(.now() - start)
            total += .now() - start
        }
        luma += current.lumaDeviation
        chroma += current.chromaDeviation
        count += 1
        return (result, waiting.removeFirst())
    }

    /// What was done so far.
    var report: FileEnhancementReport.Denoising {
        let pictures = Double(max(count, 1))
        return FileEnhancementReport.Denoising(
            time: .init(times), meanTime: total.milliseconds / pictures, lumaDeviation: luma / pictures,
            chromaDeviation: chroma / pictures)
    }
}

extension FileEnhancementReport {
    /// What the noise filter did.
    public struct Denoising: Codable, Sendable {
        /// Milliseconds for one picture.
        public var time: Quantiles
        /// The mean, which says more where several pictures are filtered at once.
        public var meanTime: Double
        /// The noise that was filtered, in levels: the mean over all pictures.
        public var lumaDeviation: Double
        public var chromaDeviation: Double
    }
}
