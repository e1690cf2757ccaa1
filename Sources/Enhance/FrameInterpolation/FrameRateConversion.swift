import Media
import Synchronization

/// Motion-compensated pictures between the last two of a sequence, at any number of phases and with care: for files, slow
/// motion and conversion to any rate. ``LowLatencyFrameInterpolation`` is the quick one, called the same way.
///
/// Motion is found down to the source's full size; three pictures, made from motion at full, half and quarter size, are
/// mixed into the result. Pictures are copied, so that the caller's buffers are free again after ``push(_:enhanced:)``.
/// Frames are given in the order of time, from one thread at a time; two at once stop the program. Nothing is allocated
/// after `init`.
///
/// ```swift
/// try unsafe conversion.push(small.view, enhanced: large.view)
/// if conversion.isReady { try unsafe conversion.synthesise(phase: 0.5, into: between.mutableView, until: stop) }
/// ```
public final class FrameRateConversion: @unchecked Sendable {
    private let engine: InterpolationEngine
    private let isBusy = Atomic<Bool>(false)

    /// - Parameter workers: the threads that share a frame's work; they may be shared with other sessions.
    /// - Throws: `unsupportedSize`.
    public init(
        _ configuration: FrameInterpolationConfiguration, workers: WorkerPool = WorkerPool(threadCount: 1)
    ) throws(EnhanceError) {
        engine = try InterpolationEngine(
            configuration, effort: .careful, workers: workers)
    }

    public var configuration: FrameInterpolationConfiguration { engine.configuration }
    /// The size of the pictures that are written.
    public var outputSize: PictureSize { engine.outputSize }
    /// Whether there are two pictures to make one between.
    public var isReady: Bool { engine.count == 2 }

    /// Takes the next picture of the sequence.
    /// - Parameters:
    ///   - source: the picture to find motion in, of the configured size.
    ///   - enhanced: the same picture at ``outputSize``. With a scale factor of 1 it is usually `source` again; its luma
    ///     is not read then.
    /// - Throws: `sizeMismatch`; the session is then as before.
    @unsafe public func push(_ source: PictureView, enhanced: PictureView) throws(EnhanceError) {
        begin()
        defer { isBusy.store(false, ordering: .releasing) }
        unsafe try engine.push(source, enhanced: enhanced)
    }

    /// Makes a picture between the last two; any number of phases for a pair, motion is found once.
    /// - Parameters:
    ///   - phase: where it lies in time: 0 is the earlier picture, 1 the later, both excluded.
    ///   - destination: a picture of ``outputSize``; every sample is written, and nothing around them.
    ///   - stop: when to be done. With too little time motion is coarser, and in the end rows are copies of the nearer
    ///     picture; there is always a whole picture.
    /// - Throws: `badParameter` for a phase out of range, `missingPicture` before two pictures were pushed,
    ///   `sizeMismatch`; nothing is written then.
    @discardableResult
    @unsafe public func synthesise(
        phase: Double, into destination: MutablePictureView, until stop: MonotonicTime? = nil
    ) throws(EnhanceError) -> FrameInterpolationResult {
        begin()
        defer { isBusy.store(false, ordering: .releasing) }
        return unsafe try engine.synthesise(phase: phase, into: destination, until: stop)
    }

    /// Forgets the pictures: after a gap, a seek, a change of the source.
    public func reset() {
        begin()
        defer { isBusy.store(false, ordering: .releasing) }
        engine.reset()
    }

    private func begin() {
        precondition(
            isBusy.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged,
            "a session takes one frame at a time")
    }
}
