import Kernels
import Media

/// The configuration of an optical flow session, fixed for its life.
public struct OpticalFlowConfiguration: FrameProcessorConfiguration {
    public enum Accuracy: Sendable {
        /// Motion is found at half size, with a vector for 8x8 samples. It is more robust and four times as fast.
        case halfSize
        /// Motion is found at full size, with a vector for 4x4 samples.
        case fullSize
    }

    /// The size of all pictures.
    public var size: PictureSize
    public var accuracy = Accuracy.fullSize
    /// Whether pairs follow each other in time, so that the last pair's flow is a good first guess.
    public var isSequence = true
    /// Which instruction sets to use. The result is the same with all of them.
    public var kernels = Kernels.best

    public init(size: PictureSize) { self.size = size }

    public var supportedSizes: SupportedSizes { FrameInterpolationConfiguration(size: size).supportedSizes }

    public func check() throws(EnhanceError) { try checkSize("optical flow") }
}

/// The parameters of one pair.
public struct OpticalFlowParameters: TimedFrameProcessorParameters, BitwiseCopyable {
    /// When to be done; nil is never. With too little time the vectors are those of a coarser level.
    public var until: MonotonicTime?

    public init() {}
    public init(until: MonotonicTime?) { self.until = until }
}

/// Two pictures of a sequence, the earlier one first.
@unsafe public struct PicturePair {
    public var first: PictureView
    public var second: PictureView

    public init(_ first: PictureView, _ second: PictureView) {
        unsafe self.first = unsafe first
        unsafe self.second = unsafe second
    }
}

/// Finds the flow between two pictures, forward and backward, from their luma. A ``FrameProcessor``.
///
/// Fields may be kept, and given to ``FrameInterpolation/push(_:enhanced:flow:)`` later.
///
/// Source of the algorithm: Kroeger, Timofte, Dai, Van Gool, "Fast Optical Flow using Dense Inverse Search", ECCV 2016.
/// Submit one pair at a time. A session may move from thread to thread; to use it from two at once is a programming
/// error and stops the program. Nothing is allocated after `init`.
public final class OpticalFlow {
    public let configuration: OpticalFlowConfiguration
    private let workers: WorkerPool
    private let estimator: FlowEstimator
    private let before: LumaPyramid
    private let after: LumaPyramid
    private let exclusive = ExclusiveUse()
    public let cancellation = Cancellation()

    /// - Parameter workers: the threads that share the work; they may be shared with other sessions.
    /// - Throws: `unsupportedSize`.
    public init(
        _ configuration: OpticalFlowConfiguration, workers: WorkerPool = WorkerPool(threadCount: 1)
    ) throws(EnhanceError) {
        try configuration.check()
        self.configuration = configuration
        self.workers = workers
        before = LumaPyramid(size: configuration.size)
        after = LumaPyramid(size: configuration.size)
        estimator = FlowEstimator(
            shape: before, finestLevel: configuration.accuracy == .fullSize ? 0 : 1, iterations: 5,
            kernels: configuration.kernels)
    }

    /// A field for this session's results.
    public func makeField() -> FlowField {
        let field = unsafe estimator.forward(level: estimator.finestLevel)
        return unsafe FlowField(
            size: configuration.size, spacing: Kernels.motionStep << estimator.finestLevel, columns: field.columns,
            rows: field.rows)
    }

    /// Both fields for this session's results.
    public func makeFlow() -> FlowPair { FlowPair(forward: makeField(), backward: makeField()) }

    /// Forgets the last pair, so that it is no guess for the next. Makes a cancelled session usable again.
    public func reset() {
        exclusive.begin("pair")
        defer { exclusive.end() }
        cancellation.clear()
        estimator.reset()
    }

    /// Finds where each part of each picture lies in the other.
    /// - Parameters:
    ///   - forward: filled with vectors from `first` to `second`; made by ``makeField()``.
    ///   - backward: filled with vectors from `second` to `first`.
    ///   - stop: when to be done. With too little time the vectors are those of a coarser level.
    /// - Returns: whether all was done in time.
    /// - Throws: `sizeMismatch`, `cancelled`.
    @discardableResult
    @unsafe public func process(
        _ first: PictureView, _ second: PictureView, forward: FlowField, backward: FlowField,
        until stop: MonotonicTime? = nil
    ) throws(EnhanceError) -> Bool {
        exclusive.begin("pair")
        defer { exclusive.end() }
        try cancellation.check()
        unsafe try first.check(size: configuration.size, "the first picture")
        unsafe try second.check(size: configuration.size, "the second picture")
        try check(forward)
        try check(backward)
        let level = estimator.finestLevel
        if !configuration.isSequence { estimator.reset() }
        unsafe before.load(first.y, kernels: configuration.kernels)
        unsafe after.load(second.y, kernels: configuration.kernels)
        let isComplete = estimator.estimate(from: before, to: after, until: stop, with: workers)
        try cancellation.check()
        unsafe forward.fill(from: estimator.forward(level: level))
        unsafe backward.fill(from: estimator.backward(level: level))
        return isComplete
    }

    private func check(_ field: FlowField) throws(EnhanceError) {
        let shape = unsafe estimator.forward(level: estimator.finestLevel)
        guard field.size == configuration.size, unsafe field.columns == shape.columns, unsafe field.rows == shape.rows
        else { throw EnhanceError(.sizeMismatch, "the flow field is of another session: use makeField()") }
    }
}

extension OpticalFlow: @unsafe FrameProcessor {
    /// The same as `init(_:workers:)`.
    public convenience init(
        _ configuration: OpticalFlowConfiguration, on resources: WorkerPool
    ) throws(EnhanceError) {
        try self.init(configuration, workers: resources)
    }

    /// Finds the flow of a pair.
    /// - Parameter output: both fields are filled; made by ``makeFlow()``.
    /// - Returns: whether all was done in time.
    @discardableResult
    @unsafe public func process(
        _ input: PicturePair, into output: FlowPair, _ parameters: OpticalFlowParameters
    ) throws(EnhanceError) -> Bool {
        unsafe try process(
            input.first, input.second, forward: output.forward, backward: output.backward, until: parameters.until)
    }
}
