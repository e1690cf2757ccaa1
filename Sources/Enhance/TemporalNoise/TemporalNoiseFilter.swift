import Kernels
import Media

/// Takes noise out of a live sequence of pictures, without delay: a picture is compared with the one before it, filtered, where
/// each part of it was then.
///
/// A ``FrameProcessor``. Call it for all pictures in the order of time. The first picture has no past: it is filtered alone. Odd
/// sizes and pictures of one sample are fine. A filter may move from thread to thread; to use it from two at once is a programming
/// error and stops the program. Nothing is allocated after `init`.
///
/// docs/design/noise.md has the method, its sources and measurements.
public final class TemporalNoiseFilter: @unsafe FrameProcessor {
    public let configuration: TemporalNoiseConfiguration
    private let steps: NoiseSteps
    private let flow: FlowEstimator
    private let holding: NoiseHolding?
    /// This picture and the one before.
    private let noisy: [NoisyPicture]
    private let filtered: [FilteredPicture]
    /// The luma of the picture before, filtered.
    private let before: LumaPyramid
    private var newest = 0
    private var tracker = NoiseTracker()
    /// Whether there is a picture before, and whether it was filtered.
    private var hasBefore = false
    private var hasReference = false
    private let exclusive = ExclusiveUse()
    public let cancellation = Cancellation()

    /// - Parameter workers: the threads that share a picture's work; they may be shared with other sessions.
    /// - Throws: `unsupportedSize`.
    public init(
        _ configuration: TemporalNoiseConfiguration, workers: WorkerPool = WorkerPool(threadCount: 1)
    ) throws(EnhanceError) {
        self.configuration = configuration
        let size = configuration.size
        steps = try NoiseSteps(configuration, workers: workers)
        noisy = (0..<2).map { _ in NoisyPicture(size: size) }
        filtered = (0..<2).map { _ in FilteredPicture(size: size) }
        before = LumaPyramid(size: size)
        holding = configuration.holdsStillAreas ? NoiseHolding(size: size) : nil
        let effort = InterpolationEffort.live(for: size)
        flow = FlowEstimator(
            shape: before, finestLevel: effort.levels[0], iterations: 5, kernels: configuration.kernels, directions: 1)
    }

    /// The same as `init(_:workers:)`.
    public convenience init(
        _ configuration: TemporalNoiseConfiguration, on resources: WorkerPool
    ) throws(EnhanceError) {
        try self.init(configuration, workers: resources)
    }

    /// Forgets the pictures, the estimated noise, and that the session was cancelled. Call it after a gap, a seek or a change of
    /// the source.
    public func reset() {
        exclusive.begin()
        defer { exclusive.end() }
        cancellation.clear()
        hasBefore = false
        forget()
        tracker = NoiseTracker()
    }

    private func forget() {
        hasReference = false
        flow.reset()
        holding?.forget()
    }

    /// Filters the next picture.
    /// - Parameters:
    ///   - input: of the configured size.
    ///   - output: of the same size; every sample is written, and nothing around them. It may be `input`'s memory.
    /// - Throws: `sizeMismatch`, `badParameter`; nothing is written then, and the filter is as before. `cancelled`.
    @discardableResult
    @unsafe public func process(
        _ input: PictureView, into output: MutablePictureView, _ parameters: TemporalNoiseParameters
    ) throws(EnhanceError) -> TemporalNoiseResult {
        exclusive.begin("picture")
        defer { exclusive.end() }
        try cancellation.check()
        unsafe try input.check(size: configuration.size, "the picture")
        unsafe try output.readOnly.check(size: configuration.size, "the output")
        try parameters.strength.check()

        let start = MonotonicTime.now()
        var result = TemporalNoiseResult()
        newest = 1 - newest
        let picture = noisy[newest]
        unsafe picture.load(input, kernels: steps.kernels, with: steps.workers)
        let last = hasBefore ? noisy[1 - newest] : nil
        let levels = levels(of: picture, before: last, parameters.strength, parameters.quantiser)
        hasBefore = true
        if levels.isNone {
            if hasReference { forget() }
            unsafe input.copy(into: output)
        } else {
            result.isComplete = unsafe try filter(picture, levels, until: parameters.until)
            try cancellation.check()
            if let holding {
                unsafe holding.give(
                    steps.shown, now: picture, before: last, isCoded: NoiseLevels.isCoding(parameters.quantiser),
                    into: output, with: steps.workers)
            } else {
                unsafe steps.copyShown(into: output)
            }
        }
        result.lumaDeviation = levels.luma
        result.chromaDeviation = levels.chroma
        result.time = .now() - start
        return result
    }

    private func levels(
        of picture: NoisyPicture, before: NoisyPicture?, _ strength: NoiseStrength, _ quantiser: Int?
    ) -> NoiseLevels {
        switch strength {
        case .fixed(let strength):
            return NoiseLevels(strength: strength)
        case .automatic:
            let estimate = steps.estimate(picture, before: before)
            tracker.add(luma: estimate.luma, chroma: estimate.chroma)
            return tracker.worthwhile.atLeast(codedWith: quantiser)
        }
    }

    @unsafe private func filter(
        _ picture: NoisyPicture, _ levels: NoiseLevels, until stop: MonotonicTime?
    ) throws(EnhanceError) -> Bool {
        var reference: NoiseSteps.Reference?
        if hasReference {
            _ = flow.estimate(from: picture.pyramid, to: before, until: stop, with: steps.workers)
            try cancellation.check()
            let level = flow.finestLevel
            unsafe reference = unsafe NoiseSteps.Reference(
                picture: filtered[1 - newest], motion: flow.forward(level: level), level: level)
        }
        let isComplete = unsafe steps.filter(
            picture, first: reference, second: nil, levels: levels, into: filtered[newest], until: stop)
        unsafe before.load(steps.shown[0].view, kernels: steps.kernels)
        hasReference = true
        return isComplete
    }
}

extension PictureView {
    /// Copies all planes to a picture of the same size.
    @unsafe func copy(into output: MutablePictureView) {
        for index in 0..<3 {
            let (from, to) = unsafe (plane(index), output.plane(index))
            if unsafe from.base == UnsafePointer(to.base) { continue }
            for y in unsafe 0..<to.height { unsafe to.row(y).update(from: from.row(y), count: to.width) }
        }
    }
}
