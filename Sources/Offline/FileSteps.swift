import Codec
import Enhance
import Media
import Telemetry

/// What stays with a picture on its way through the processors.
struct FilePictureFacts {
    /// In the file's time unit.
    var time: Int64
    var quantiser: Int?
    var chromaLocation: UInt8
    var isFullRange = false
    var matrix: UInt8 = 2
    /// What it carries for viewers, and what pictures before it carried that were left out.
    var userData: PictureUserData?
}

/// The steps on a file's pictures before they are enlarged: first on pictures as they are coded, then on those that are upright.
/// Pictures may come out later than they go in.
///
/// Confined to one thread at a time. Does not allocate after the first few pictures.
final class FileSteps {
    private var decoded: StepRun
    private let workers: WorkerPool
    private let sources: StepRun
    private let settings: StepSettings
    /// The picture before, as it came, where a step looks at it.
    private var before: DecodedPicture?
    private var waiting: [FilePictureFacts] = []
    private var histograms = [Histogram](repeating: Histogram(), count: StepKind.allCases.count)

    /// - Parameters:
    ///   - size: of pictures as they are coded.
    ///   - chain: has the steps on upright pictures.
    init(_ settings: StepSettings, size: PictureSize, _ chain: PictureChain, workers: WorkerPool) throws(EnhanceError) {
        self.settings = settings
        self.workers = workers
        decoded = StepRun(size: size, try settings.makeSteps(at: .decoded, size: size, workers: workers))
        sources = chain.sources
    }

    /// How many pictures later than they come pictures come out.
    var lookahead: Int { sources.lookahead }

    /// Prepares for pictures that are coded in another size from here on.
    func change(to size: PictureSize) throws(EnhanceError) {
        before = nil
        if decoded.size == size { return }
        decoded = StepRun(size: size, try settings.makeSteps(at: .decoded, size: size, workers: workers))
    }

    /// Takes a picture through the steps on those as they are coded.
    /// - Parameter picture: the next in the order of presentation, of the size that was named last.
    func treat(_ picture: borrowing DecodedPicture) throws(EnhanceError) {
        let isTopFirst: Bool? =
            switch picture.scan {
            case .progressive: nil
            case .topFieldFirst: true
            case .bottomFieldFirst: false
            }
        var times = StepValues(blank: Nanoseconds.zero)
        unsafe try decoded.process(
            StepInput(picture.view, before: before?.view),
            StepParameters(
                settings, isFullRange: picture.color.range == .full, orientation: picture.color.orientation,
                topFieldFirst: isTopFirst), &times)
        record(times)
    }

    /// What those steps made of the picture. Valid until the next call of ``treat(_:)``.
    @unsafe func treated(_ picture: PictureView) -> PictureView { unsafe decoded.result(of: picture) }

    /// Keeps a picture for the next one, once it is one that steps look back at.
    func keep(_ picture: consuming DecodedPicture) {
        guard decoded.looksBack, before != nil || picture.scan.isInterlaced else { return }
        before = consume picture
    }

    /// Takes an upright picture through the steps on those. ``result(of:)`` is the picture that came out.
    /// - Returns: what stays with that; nil while all wait.
    @unsafe func push(_ view: PictureView, _ facts: FilePictureFacts) throws(EnhanceError) -> FilePictureFacts? {
        var times = StepValues(blank: Nanoseconds.zero)
        waiting.append(facts)
        let parameters = StepParameters(
            settings, quantiser: facts.quantiser, chromaLocation: facts.chromaLocation,
            isFullRange: facts.isFullRange, matrix: facts.matrix)
        let out = unsafe try sources.process(StepInput(view), parameters, &times)
        record(times)
        return out == nil ? nil : waiting.removeFirst()
    }

    /// No picture follows: the next one that waits is ``result``.
    /// - Returns: what stays with it; nil where none is left.
    func drain() throws(EnhanceError) -> FilePictureFacts? {
        var times = StepValues(blank: Nanoseconds.zero)
        let out = try sources.drain(&times)
        record(times)
        return out == nil ? nil : waiting.removeFirst()
    }

    /// The picture that came out last. Valid until the next call.
    /// - Parameter picture: the one that was pushed last, where no step changed it.
    @unsafe func result(of picture: PictureView) -> PictureView { unsafe sources.result(of: picture) }
    @unsafe var result: PictureView? { unsafe sources.result }

    /// Records what steps on a picture took.
    func record(_ times: StepValues<Nanoseconds>) {
        for kind in times.kinds { if let time = times[kind] { histograms[Int(kind.rawValue)].record(time) } }
    }

    /// What each step did that changed a picture.
    func reports(_ chain: PictureChain) -> [FileEnhancementReport.Step] {
        StepKind.allCases.compactMap { kind in
            let histogram = histograms[Int(kind.rawValue)]
            guard histogram.count > 0 else { return nil }
            return FileEnhancementReport.Step(kind, histogram, chain.step(kind)?.figures ?? [])
        }
    }
}
