/// Makes pictures between the last two of a live sequence, quickly.
///
/// It finds motion in both directions at half of the source's size, or at a quarter for large pictures. The search
/// starts from the last pair's motion. The new picture has the enhanced size.
///
/// ```swift
/// try unsafe interpolation.push(small.view, enhanced: large.view)
/// if interpolation.isReady { try unsafe interpolation.synthesise(phase: 0.5, into: between.mutableView, until: stop) }
/// ```
public final class LowLatencyFrameInterpolation: FrameInterpolation {
    /// - Parameter workers: the threads that share a frame's work; they may be shared with other sessions.
    /// - Throws: `unsupportedSize`.
    public init(
        _ configuration: FrameInterpolationConfiguration, workers: WorkerPool = WorkerPool(threadCount: 1)
    ) throws(EnhanceError) {
        try super.init(configuration, effort: .live(for: configuration.size), workers: workers)
    }
}

extension LowLatencyFrameInterpolation: @unsafe FrameProcessor {
    public typealias Input = FrameInterpolationInput?

    /// The same as `init(_:workers:)`.
    public convenience init(
        _ configuration: FrameInterpolationConfiguration, on resources: WorkerPool
    ) throws(EnhanceError) {
        try self.init(configuration, workers: resources)
    }
}
