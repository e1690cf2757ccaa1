import Media

/// Motion-compensated pictures between two of a sequence, at any number of phases: what
/// ``LowLatencyFrameInterpolation`` and ``FrameRateConversion`` have in common.
///
/// Pictures are copied, so that the caller's buffers are free again after ``push(_:enhanced:)``. Frames are given in
/// the order of time, from one thread at a time; two at once stop the program. Nothing is allocated after `init`.
public class FrameInterpolation {
    private let engine: InterpolationEngine
    private let exclusive = ExclusiveUse()

    init(
        _ configuration: FrameInterpolationConfiguration, effort: InterpolationEffort, workers: WorkerPool
    ) throws(EnhanceError) {
        engine = try InterpolationEngine(configuration, effort: effort, workers: workers)
    }

    public var configuration: FrameInterpolationConfiguration { engine.synthesis.configuration }
    /// The size of the pictures that are written.
    public var outputSize: PictureSize { engine.synthesis.outputSize }
    /// How many pictures must have been pushed beyond the two that new ones are made between: 0 or 1.
    public var lookahead: Int { engine.lookahead }
    /// Whether there are two pictures to make one between: those before the last ``lookahead`` ones.
    public var isReady: Bool { engine.isReady }

    /// Takes the next picture of the sequence.
    /// - Parameters:
    ///   - source: the picture to find motion in, of the configured size.
    ///   - enhanced: the same picture at ``outputSize``. With a scale factor of 1 it is usually `source` again; its
    ///     luma is not read then.
    /// - Throws: `sizeMismatch`; the session is then as before.
    @unsafe public func push(_ source: PictureView, enhanced: PictureView) throws(EnhanceError) {
        exclusive.begin()
        defer { exclusive.end() }
        unsafe try engine.push(source, enhanced: enhanced)
    }

    /// Makes a picture between two; any number of phases for a pair, motion is found once.
    /// - Parameters:
    ///   - phase: where it lies in time: 0 is the earlier picture, 1 the later, both excluded.
    ///   - destination: a picture of ``outputSize``; every sample is written, and nothing around them.
    ///   - stop: when to be done. With too little time motion is coarser, and in the end rows are copies of the nearer
    ///     picture; there is always a whole picture.
    /// - Throws: `badParameter` for a phase out of range, `missingPicture` while not ``isReady``, `sizeMismatch`;
    ///   nothing is written then.
    @discardableResult
    @unsafe public func synthesise(
        phase: Double, into destination: MutablePictureView, until stop: MonotonicTime? = nil
    ) throws(EnhanceError) -> FrameInterpolationResult {
        exclusive.begin()
        defer { exclusive.end() }
        return unsafe try engine.synthesise(phase: phase, into: destination, until: stop)
    }

    /// Says that the sequence has ended: new pictures are then made between the last two, whatever the ``lookahead``. A
    /// picture pushed afterwards begins another sequence.
    public func finish() {
        exclusive.begin()
        defer { exclusive.end() }
        engine.finish()
    }

    /// Forgets the pictures: after a gap, a seek, a change of the source.
    public func reset() {
        exclusive.begin()
        defer { exclusive.end() }
        engine.reset()
    }
}
