import Media

/// Makes motion-compensated pictures between two of a sequence, at any number of phases. It is the base class of
/// ``LowLatencyFrameInterpolation`` and ``FrameRateConversion``.
///
/// Push frames in the order of time. The session copies them, so that the caller's buffers are free again after
/// ``push(_:enhanced:)``. A session may move from thread to thread; to use it from two at once is a programming error
/// and stops the program. Nothing is allocated after `init`.
public class FrameInterpolation {
    private let engine: InterpolationEngine
    private let exclusive = ExclusiveUse()
    public var cancellation: Cancellation { engine.cancellation }

    init(
        _ configuration: FrameInterpolationConfiguration, effort: InterpolationEffort, workers: WorkerPool
    ) throws(EnhanceError) {
        engine = try InterpolationEngine(configuration, effort: effort, workers: workers)
    }

    public var configuration: FrameInterpolationConfiguration { engine.synthesis.configuration }
    /// The size of the pictures that are written.
    public var outputSize: PictureSize { engine.synthesis.outputSize }
    /// Where the chroma samples of the pictures lie, as in ``ColorDescription/chromaLocation``. It matters where the configuration
    /// has an output size.
    public var chromaLocation: UInt8 {
        get { engine.synthesis.chromaLocation }
        set { engine.synthesis.chromaLocation = newValue }
    }
    /// How many pictures after the two that it makes new ones between must have been pushed: 0 or 1.
    public var lookahead: Int { engine.lookahead }
    /// Whether there are two pictures to make one between. They are the two before the last ``lookahead`` ones.
    public var isReady: Bool { engine.isReady }

    /// Adds the next picture of the sequence.
    /// - Parameters:
    ///   - source: the picture to find motion in, of the configured size.
    ///   - enhanced: the same picture at ``FrameInterpolationConfiguration/enhancedSize``. With a scale factor of 1 it is usually `source` again; its
    ///     luma is not read then.
    ///   - flow: the flow between the picture before and this one, where it was found beforehand: of ``OpticalFlow``, or of the
    ///     caller's own. It is copied. nil finds it when it is needed.
    /// - Throws: `sizeMismatch`, `missingPicture` for a flow without a picture before; the session is then as before.
    @unsafe public func push(
        _ source: PictureView, enhanced: PictureView, flow: FlowPair? = nil
    ) throws(EnhanceError) {
        exclusive.begin()
        defer { exclusive.end() }
        unsafe try engine.push(source, enhanced: enhanced, flow: flow)
    }

    /// Makes a picture between two. Call it for any number of phases of a pair: the session finds the pair's motion
    /// once.
    /// - Parameters:
    ///   - phase: where it lies in time: 0 is the earlier picture, 1 the later, both excluded.
    ///   - destination: a picture of ``outputSize``; every sample is written, and nothing around them.
    ///   - stop: when to be done. With too little time motion is coarser. Rows that are not done by then are copies of
    ///     the nearer picture, so that the picture is always whole.
    /// - Throws: `badParameter` for a phase out of range, `missingPicture` while not ``isReady``, `sizeMismatch`;
    ///   nothing is written then. `cancelled`; the destination may then be written in part.
    @discardableResult
    @unsafe public func synthesise(
        phase: Double, into destination: MutablePictureView, until stop: MonotonicTime? = nil
    ) throws(EnhanceError) -> FrameInterpolationResult {
        exclusive.begin()
        defer { exclusive.end() }
        return unsafe try engine.synthesise(phase: phase, into: destination, until: stop)
    }

    /// Makes several pictures between two, such as ``RatePlan`` asks for.
    /// - Parameters:
    ///   - phases: as for ``synthesise(phase:into:until:)``.
    ///   - destinations: as many pictures.
    /// - Throws: `badParameter` where there are more or fewer; else as for one picture. Those before are written then.
    @discardableResult
    @unsafe public func synthesise(
        phases: [Double], into destinations: [MutablePictureView]
    ) throws(EnhanceError) -> [FrameInterpolationResult] {
        guard unsafe phases.count == destinations.count else {
            throw EnhanceError(.badParameter, "give one picture for each phase")
        }
        var results: [FrameInterpolationResult] = []
        for (place, phase) in phases.enumerated() {
            results.append(unsafe try synthesise(phase: phase, into: destinations[place]))
        }
        return results
    }

    /// For checks: the luma that the network sees of the last picture that was made between the current pair, at this phase. First
    /// the picture that is there without it, then the predictions in the network's order, drawn in full.
    @unsafe package func withFusionPlanes(phase: Double, _ body: (PlaneView) -> Void) {
        unsafe engine.withFusionPlanes(phase: Int((phase * 256).rounded()), body)
    }

    /// Ends the sequence. After this call new pictures are made between the last two, whatever the ``lookahead``. The
    /// next picture that is pushed begins another sequence.
    public func finish() {
        exclusive.begin()
        defer { exclusive.end() }
        engine.finish()
    }

    /// Forgets the pictures, and that the session was cancelled. Call it after a gap, a seek or a change of the source.
    public func reset() {
        exclusive.begin()
        defer { exclusive.end() }
        engine.reset()
    }

    /// Adds the next picture, and makes one between two. The result is `pending` while there are not enough pictures.
    /// - Parameters:
    ///   - input: the next picture; nil for another phase of the same pair, or after ``finish()``.
    ///   - output: a picture of ``outputSize``.
    /// - Throws: what ``push(_:enhanced:flow:)`` and ``synthesise(phase:into:until:)`` throw.
    @discardableResult
    @unsafe public func process(
        _ input: FrameInterpolationInput?, into output: MutablePictureView, _ parameters: FrameInterpolationParameters
    ) throws(EnhanceError) -> FrameInterpolationResult {
        if let input = unsafe input {
            // The destination is refused before the picture is taken.
            try engine.check(phase: parameters.phase)
            unsafe try output.readOnly.check(size: outputSize, "the destination")
            unsafe try push(input.source, enhanced: input.enhanced, flow: input.flow)
            if !isReady { return FrameInterpolationResult(method: .pending) }
        }
        return unsafe try synthesise(phase: parameters.phase, into: output, until: parameters.until)
    }
}
