import Kernels
import Media

/// Pictures that follow the last one of a live sequence, predicted from the past alone: the added frames of a doubled
/// rate without any delay of the real ones.
///
/// Every part of the picture goes on with its last motion. The last picture shows how far to trust that: where the
/// motion before would not have predicted it better than a copy of the picture before it, a part stays where it is.
///
/// A ``FrameProcessor``. Push frames in the order of time. The session copies them. A session may move from thread to thread;
/// to use it from two at once is a programming error and stops the program. Nothing is allocated after `init`.
public final class FrameExtrapolation {
    private let synthesis: FrameSynthesis
    /// From each picture back to the one before. The other direction is not needed.
    private let flow: FlowEstimator
    private let layer: MotionLayer
    private let pictures: [InterpolationPicture]
    private let trials: AlignedMemory
    private var newest = 0
    private var count = 0
    /// Of how many of the last pairs the motion has not been found yet.
    private var unknown = 0
    private var lastSynthesisTime = Nanoseconds.zero
    private let exclusive = ExclusiveUse()
    public let cancellation = Cancellation()

    /// - Parameter workers: the threads that share a frame's work; they may be shared with other sessions.
    /// - Throws: `unsupportedSize`.
    public init(
        _ configuration: FrameInterpolationConfiguration, workers: WorkerPool = WorkerPool(threadCount: 1)
    ) throws(EnhanceError) {
        let effort = InterpolationEffort.live(for: configuration.size)
        synthesis = try FrameSynthesis(configuration, workers: workers, preference: effort.preference)
        pictures = synthesis.makePictures(3)
        flow = FlowEstimator(
            shape: pictures[0].pyramid, finestLevel: effort.levels[0], iterations: effort.iterations,
            kernels: configuration.kernels, history: 2, directions: 1)
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

    /// Forgets the pictures, and that the session was cancelled. Call it after a gap, a seek or a change of the source.
    public func reset() {
        exclusive.begin()
        defer { exclusive.end() }
        cancellation.clear()
        count = 0
        unknown = 0
        flow.reset()
    }

    /// Adds the next picture of the sequence.
    /// - Parameters:
    ///   - source: the picture to find motion in, of the configured size.
    ///   - enhanced: the same picture at ``FrameInterpolationConfiguration/enhancedSize``.
    ///   - flow: the flow between the picture before and this one, where it was found beforehand. It is copied.
    /// - Throws: `sizeMismatch`, `missingPicture` for a flow without a picture before; the session is then as before.
    @unsafe public func push(
        _ source: PictureView, enhanced: PictureView, flow given: FlowPair? = nil
    ) throws(EnhanceError) {
        exclusive.begin()
        defer { exclusive.end() }
        try cancellation.check()
        unsafe try synthesis.check(source, enhanced: enhanced)
        if let given {
            try given.check(size: configuration.size)
            guard count > 0 else {
                throw EnhanceError(
                    .missingPicture, "a flow needs the picture before: push the first picture of a sequence without one")
            }
        }
        // Motion is kept in the order of time.
        if given != nil { _ = findMotion(until: nil) }
        newest = (newest + 1) % pictures.count
        count = min(count + 1, pictures.count)
        unknown = min(unknown + 1, count - 1)
        unsafe synthesis.load(source, enhanced: enhanced, into: pictures[newest])
        if let given {
            flow.adopt(FlowPair(forward: given.backward, backward: given.forward))
            unknown = 0
        }
    }

    private func picture(age: Int) -> InterpolationPicture { pictures[(newest + pictures.count - age) % pictures.count] }

    /// Finds the motion of the pairs that have none yet, in the order of time.
    /// - Returns: whether there was time for all of it.
    private func findMotion(until stop: MonotonicTime?) -> Bool {
        var isComplete = true
        while unknown > 0 {
            unknown -= 1
            let (newer, older) = (picture(age: unknown), picture(age: unknown + 1))
            isComplete =
                flow.estimate(from: newer.pyramid, to: older.pyramid, until: stop, with: synthesis.workers) && isComplete
        }
        return isComplete
    }

    /// Makes a picture that follows the last.
    /// - Parameters:
    ///   - distance: how long after it, as a multiple of the time between the last two: more than 0, at most 1.
    ///   - destination: a picture of ``outputSize``; every sample is written, and nothing around them.
    ///   - stop: when to be done. The search for motion ends in time for the rest, and the rows that are not done by then are
    ///     copies of the last picture.
    /// - Returns: `held` while there are not yet three pictures to learn from.
    /// - Throws: `badParameter` for a distance out of range, `missingPicture` without any picture, `sizeMismatch`;
    ///   nothing is written then.
    @discardableResult
    @unsafe public func synthesise(
        distance: Double, into destination: MutablePictureView, until stop: MonotonicTime? = nil
    ) throws(EnhanceError) -> FrameInterpolationResult {
        exclusive.begin()
        defer { exclusive.end() }
        try cancellation.check()
        try Self.check(distance: distance)
        guard count > 0 else {
            throw EnhanceError(.missingPicture, "there is no picture to continue from: push at least one before")
        }
        unsafe try destination.readOnly.check(size: outputSize, "the destination")

        let start = MonotonicTime.now()
        var result = FrameInterpolationResult()
        let last = pictures[newest]
        let isComplete = count < 3 || findMotion(until: stop.map { $0 + -lastSynthesisTime })
        let begin = MonotonicTime.now()
        result.flowTime = begin - start
        let target = unsafe synthesis.target(for: destination)
        if count < 3 {
            result.method = .held
            unsafe synthesis.hold(last, into: target)
        } else {
            let motion = unsafe FrameSynthesis.Motion.ahead(
                last: flow.forward(level: layer.level), before: flow.forward(level: layer.level, age: 1),
                trials: trials.pointer().assumingMemoryBound(to: Int32.self))
            unsafe synthesis.decide(
                layer, (picture(age: 1), last), motion, phase: max(Int((distance * 256).rounded()), 1))
            // The vectors cover the whole distance, and all of the picture comes from the last one.
            unsafe synthesis.synthesise(
                layer, (last, last), phase: 256, weight: 0, into: target, until: stop, nearer: last)
        }
        try cancellation.check()
        unsafe synthesis.finish(into: destination)
        let end = MonotonicTime.now()
        result.synthesisTime = end - begin
        result.isComplete = isComplete && (stop.map { end < $0 } ?? true)
        if result.isComplete { lastSynthesisTime = result.synthesisTime }
        return result
    }
}

/// The parameters of one picture that follows the last.
public struct FrameExtrapolationParameters: TimedFrameProcessorParameters, BitwiseCopyable {
    /// How long after the last picture, as a multiple of the time between the last two: more than 0, at most 1.
    public var distance = 0.5
    public var until: MonotonicTime?

    public init() {}
    public init(distance: Double, until: MonotonicTime? = nil) {
        self.distance = distance
        self.until = until
    }
}

extension FrameExtrapolation: @unsafe FrameProcessor {
    public typealias Input = FrameInterpolationInput?

    /// The same as `init(_:workers:)`.
    public convenience init(
        _ configuration: FrameInterpolationConfiguration, on resources: WorkerPool
    ) throws(EnhanceError) {
        try self.init(configuration, workers: resources)
    }

    /// Adds the next picture, and makes one that follows it.
    /// - Parameters:
    ///   - input: the next picture; nil for another one after the same.
    ///   - output: a picture of ``outputSize``.
    /// - Throws: what ``push(_:enhanced:flow:until:)`` and ``synthesise(distance:into:until:)`` throw.
    @discardableResult
    @unsafe public func process(
        _ input: FrameInterpolationInput?, into output: MutablePictureView, _ parameters: FrameExtrapolationParameters
    ) throws(EnhanceError) -> FrameInterpolationResult {
        if let input = unsafe input {
            try Self.check(distance: parameters.distance)
            unsafe try output.readOnly.check(size: outputSize, "the destination")
            unsafe try push(input.source, enhanced: input.enhanced, flow: input.flow)
        }
        return unsafe try synthesise(distance: parameters.distance, into: output, until: parameters.until)
    }

    private static func check(distance: Double) throws(EnhanceError) {
        guard distance > 0, distance <= 1 else {
            throw EnhanceError(.badParameter, "distance \(distance) is not above 0 and at most 1")
        }
    }
}
