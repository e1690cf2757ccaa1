import Kernels
import Media

/// Pictures that follow the last one of a live sequence, predicted from the past alone: the added frames of a doubled
/// rate without any delay of the real ones.
///
/// Every part of the picture goes on with its last motion. The last picture shows how far to trust that: where the
/// motion before would not have predicted it better than a copy of the picture before it, a part stays where it is.
///
/// Push frames in the order of time. The session copies them. A session may move from thread to thread; to use it from
/// two at once is a programming error and stops the program. Nothing is allocated after `init`.
public final class FrameExtrapolation {
    private let synthesis: FrameSynthesis
    private let flow: FlowEstimator
    private let layer: MotionLayer
    private let pictures: [InterpolationPicture]
    private let trials: AlignedMemory
    private var newest = 0
    private var count = 0
    private let exclusive = ExclusiveUse()

    /// - Parameter workers: the threads that share a frame's work; they may be shared with other sessions.
    /// - Throws: `unsupportedSize`.
    public init(
        _ configuration: FrameInterpolationConfiguration, workers: WorkerPool = WorkerPool(threadCount: 1)
    ) throws(EnhanceError) {
        synthesis = try FrameSynthesis(configuration, workers: workers)
        pictures = synthesis.makePictures(2)
        let effort = InterpolationEffort.live(for: configuration.size)
        flow = FlowEstimator(
            shape: pictures[0].pyramid, finestLevel: effort.levels[0], iterations: effort.iterations,
            kernels: configuration.kernels, history: 2)
        layer = synthesis.makeLayer(level: flow.finestLevel, of: flow)
        trials = AlignedMemory(byteCount: layer.columns * layer.rows * 2 * MemoryLayout<Int32>.stride)
    }

    public var configuration: FrameInterpolationConfiguration { synthesis.configuration }
    /// The size of the pictures that are written.
    public var outputSize: PictureSize { synthesis.outputSize }
    /// Where the chroma samples of the pictures lie, as in ``ColorDescription/chromaLocation``. It matters where the configuration
    /// has an output size.
    public var chromaLocation: UInt8 {
        get { synthesis.chromaLocation }
        set { synthesis.chromaLocation = newValue }
    }

    /// Forgets the pictures. Call it after a gap, a seek or a change of the source.
    public func reset() {
        exclusive.begin()
        defer { exclusive.end() }
        count = 0
        flow.reset()
    }

    /// Adds the next picture of the sequence.
    /// - Parameters:
    ///   - source: the picture to find motion in, of the configured size.
    ///   - enhanced: the same picture at ``FrameInterpolationConfiguration/enhancedSize``.
    ///   - stop: when the search for motion from the last picture must end. The search is what costs time here.
    /// - Throws: `sizeMismatch`; the session is then as before.
    @unsafe public func push(
        _ source: PictureView, enhanced: PictureView, until stop: MonotonicTime? = nil
    ) throws(EnhanceError) {
        exclusive.begin()
        defer { exclusive.end() }
        unsafe try synthesis.check(source, enhanced: enhanced)
        newest = 1 - newest
        count = min(count + 1, 3)
        unsafe synthesis.load(source, enhanced: enhanced, into: pictures[newest])
        if count >= 2 {
            _ = flow.estimate(
                from: pictures[1 - newest].pyramid, to: pictures[newest].pyramid, until: stop, with: synthesis.workers)
        }
    }

    /// Makes a picture that follows the last.
    /// - Parameters:
    ///   - distance: how long after it, as a multiple of the time between the last two: more than 0, at most 1.
    ///   - destination: a picture of ``outputSize``; every sample is written, and nothing around them.
    ///   - stop: when to be done. The rows that are not done by then are copies of the last picture.
    /// - Returns: `held` while there are not yet three pictures to learn from.
    /// - Throws: `badParameter` for a distance out of range, `missingPicture` without any picture, `sizeMismatch`;
    ///   nothing is written then.
    @discardableResult
    @unsafe public func synthesise(
        distance: Double, into destination: MutablePictureView, until stop: MonotonicTime? = nil
    ) throws(EnhanceError) -> FrameInterpolationResult {
        exclusive.begin()
        defer { exclusive.end() }
        guard distance > 0, distance <= 1 else {
            throw EnhanceError(.badParameter, "distance \(distance) is not above 0 and at most 1")
        }
        guard count > 0 else {
            throw EnhanceError(.missingPicture, "there is no picture to continue from: push at least one before")
        }
        unsafe try destination.readOnly.check(size: outputSize, "the destination")

        let start = MonotonicTime.now()
        var result = FrameInterpolationResult()
        let last = pictures[newest]
        let target = unsafe synthesis.target(for: destination)
        if count < 3 {
            result.method = .held
            unsafe synthesis.hold(last, into: target)
        } else {
            let motion = unsafe FrameSynthesis.Motion.ahead(
                last: flow.backward(level: layer.level), before: flow.backward(level: layer.level, age: 1),
                trials: trials.pointer().assumingMemoryBound(to: Int32.self))
            unsafe synthesis.decide(
                layer, (pictures[1 - newest], last), motion, phase: max(Int((distance * 256).rounded()), 1))
            // The vectors cover the whole distance, and all of the picture comes from the last one.
            unsafe synthesis.synthesise(
                layer, (last, last), phase: 256, weight: 0, into: target, until: stop, nearer: last)
        }
        unsafe synthesis.finish(into: destination)
        let end = MonotonicTime.now()
        result.synthesisTime = end - start
        result.isComplete = stop.map { end < $0 } ?? true
        return result
    }
}
