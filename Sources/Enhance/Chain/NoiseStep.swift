import Media

/// Takes noise out of the pictures of a live stream, by what earlier ones show.
public final class NoiseStep: PictureStep {
    public let kind = StepKind.denoise
    private let filter: TemporalNoiseFilter
    private var levels = NoiseLevelMeans()

    /// - Throws: `unsupportedSize`.
    public init(size: PictureSize, workers: WorkerPool) throws(EnhanceError) {
        filter = try TemporalNoiseFilter(TemporalNoiseConfiguration(size: size), workers: workers)
    }

    @unsafe public func process(
        _ input: StepInput?, into output: MutablePictureView, _ parameters: StepParameters
    ) throws(EnhanceError) -> StepOutcome {
        guard let input = unsafe input else { return .pending }
        let result = unsafe try filter.process(
            input.picture, into: output,
            TemporalNoiseParameters(
                strength: NoiseStrength(parameters.settings), quantiser: parameters.quantiser, until: parameters.until))
        levels.add(result)
        return .written
    }

    public func reset() { filter.reset() }

    public var figures: [StepFigure] { levels.figures }
}

/// Takes noise out of the pictures of a file, by what earlier and later ones show.
public final class RecordedNoiseStep: PictureStep {
    public let kind = StepKind.denoise
    private let filter: TwoSidedNoiseFilter
    private var levels = NoiseLevelMeans()

    /// - Throws: `unsupportedSize`.
    public init(size: PictureSize, workers: WorkerPool) throws(EnhanceError) {
        filter = try TwoSidedNoiseFilter(TemporalNoiseConfiguration(size: size), workers: workers)
    }

    public var lookahead: Int { filter.lookahead }

    @unsafe public func process(
        _ input: StepInput?, into output: MutablePictureView, _ parameters: StepParameters
    ) throws(EnhanceError) -> StepOutcome {
        let result = unsafe try filter.process(
            input?.picture, into: output,
            TwoSidedNoiseParameters(strength: NoiseStrength(parameters.settings), quantiser: parameters.quantiser))
        if result.isPending { return .pending }
        levels.add(result)
        return .written
    }

    public func finish() { filter.finish() }
    public func reset() { filter.reset() }

    public var figures: [StepFigure] { levels.figures }
}

extension NoiseStrength {
    fileprivate init(_ settings: StepSettings) { self = settings.denoise.map { .fixed($0) } ?? .automatic }
}

/// The noise that was filtered: means over all pictures.
private struct NoiseLevelMeans {
    private var luma = 0.0
    private var chroma = 0.0
    private var count = 0.0

    mutating func add(_ result: TemporalNoiseResult) {
        luma += result.lumaDeviation
        chroma += result.chromaDeviation
        count += 1
    }

    /// Standard deviations in levels.
    var figures: [StepFigure] {
        let pictures = max(count, 1)
        return [StepFigure("luma_deviation", luma / pictures), StepFigure("chroma_deviation", chroma / pictures)]
    }
}
