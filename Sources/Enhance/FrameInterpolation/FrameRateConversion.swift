/// Pictures between two of a sequence at any number of phases and with care: for files, slow motion and conversion to
/// any rate.
///
/// Motion is found down to the source's full size, and its change of speed from the pictures before and after the two,
/// so that one picture more must have been pushed (``FrameInterpolation/lookahead``). Three pictures, made from motion
/// at full, half and quarter size, are mixed into the result.
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
