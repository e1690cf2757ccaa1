/// Makes pictures between two of a sequence, at any number of phases and at the best quality: for files, slow motion
/// and conversion to any rate.
///
/// It finds motion down to the source's full size. From the pictures before and after the two it also finds how motion
/// changes its speed, so one more picture must have been pushed (``FrameInterpolation/lookahead``). It makes three
/// pictures, from motion at full, half and quarter size, and mixes them into the result.
///
/// ```swift
/// try unsafe conversion.push(small.view, enhanced: large.view)    // n
/// if conversion.isReady {                                         // from n - 2 to n - 1
///     try unsafe conversion.synthesise(phase: 0.5, into: between.mutableView)
/// }
/// // …
/// conversion.finish()                                             // from n - 1 to n, at the end
/// try unsafe conversion.synthesise(phase: 0.5, into: between.mutableView)
/// ```
public final class FrameRateConversion: FrameInterpolation {
    /// - Parameter workers: the threads that share a frame's work; they may be shared with other sessions.
    /// - Throws: `unsupportedSize`.
    public init(
        _ configuration: FrameInterpolationConfiguration, workers: WorkerPool = WorkerPool(threadCount: 1)
    ) throws(EnhanceError) {
        try super.init(configuration, effort: .careful, workers: workers)
    }
}

extension FrameRateConversion: @unsafe FrameProcessor {
    public typealias Input = FrameInterpolationInput?

    /// The same as `init(_:workers:)`.
    public convenience init(
        _ configuration: FrameInterpolationConfiguration, on resources: WorkerPool
    ) throws(EnhanceError) {
        try self.init(configuration, workers: resources)
    }
}
