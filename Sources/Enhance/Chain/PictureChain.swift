import Media

/// What happens to a picture between decoder and encoder: steps on what came, the enlargement, steps on what leaves, and pictures
/// that are synthesised between two or beyond one.
///
/// ```
/// source steps ─▶ enlarge ─┬─▶ result steps
///                          └─▶ synthesise ─▶ result steps
/// ```
///
/// The caller says which steps run and until when. The chain knows the order, where each writes, and what the next one reads. It is
/// not told of time beyond that, and reads and writes only pictures that it is given. Parts may be replaced between two pictures.
/// Confined to one thread at a time. Nothing is allocated after the first few pictures.
///
/// docs/design/chain.md has its design.
public final class PictureChain {
    /// Steps at the size at which pictures come.
    public let sources: StepRun
    public private(set) var enlarging: PictureEnlargement
    /// Nil where no pictures are synthesised.
    public private(set) var synthesis: PictureSynthesis?
    /// Steps at the size at which they leave.
    public let results: StepRun

    /// - Parameter steps: on single pictures, in any order.
    public init(_ enlarging: PictureEnlargement, _ synthesis: PictureSynthesis? = nil, steps: [any PictureStep] = []) {
        self.enlarging = enlarging
        self.synthesis = synthesis
        sources = StepRun(size: enlarging.session.configuration.size)
        results = StepRun(size: enlarging.session.outputSize)
        for step in steps { insert(PlacedStep(step, size: step.kind.facts.place == .result ? results.size : sources.size)) }
    }

    /// The steps on single pictures that are here.
    public var kinds: StepSet { sources.kinds.union(results.kinds) }

    /// The step of a kind; nil where there is none.
    public func step(_ kind: StepKind) -> (any PictureStep)? { sources.step(kind) ?? results.step(kind) }

    /// Adds a step at its place, or puts it in the place of another of its kind.
    /// - Precondition: it was placed for pictures of the size there.
    public func insert(_ placed: PlacedStep) {
        let kind = placed.step.kind
        switch kind.facts.place {
        case .source: sources.insert(placed)
        case .result: results.insert(placed)
        case .decoded, .enlargement, .synthesis: preconditionFailure("a \(kind.name) step does not stand in a chain")
        }
    }

    /// Replaces the enlargement by another for the same sizes.
    public func replace(_ enlarging: PictureEnlargement) { self.enlarging = enlarging }

    /// Replaces the synthesis by another for the same sizes.
    public func replace(_ synthesis: PictureSynthesis) { self.synthesis = synthesis }

    /// Takes a picture through source steps and the enlargement.
    /// - Parameters:
    ///   - output: of the size at which pictures leave.
    ///   - times: gets what each source step took that changed the picture.
    ///   - kinds: the source steps that are to run.
    ///   - afterBase: as of ``SuperResolutionSession/process(_:into:tiles:_:afterBase:)``.
    /// - Precondition: no source step looks ahead.
    /// - Throws: `sizeMismatch`, `badParameter`, `cancelled`.
    @unsafe public func enlarge(
        _ picture: PictureView, into output: MutablePictureView, _ parameters: StepParameters,
        _ wish: PictureEnlargement.Wish, _ times: inout StepValues<Nanoseconds>, only kinds: StepSet = .all,
        afterBase: (Nanoseconds) -> MonotonicTime? = { _ in nil }
    ) throws(EnhanceError) -> SuperResolutionResult {
        unsafe try sources.process(StepInput(picture), parameters, &times, only: kinds)
        return unsafe try enlarging.process(sources.result(of: picture), into: output, wish, afterBase: afterBase)
    }

    /// Appends a picture that was just enlarged to the sequence that others are synthesised from. Call it before
    /// ``finish(_:_:_:only:)``.
    /// - Parameters:
    ///   - picture: as it was given.
    ///   - enlarged: as it was written.
    /// - Throws: `sizeMismatch`, `cancelled`.
    @unsafe public func append(
        _ picture: PictureView, _ enlarged: PictureView, chromaLocation: UInt8
    ) throws(EnhanceError) {
        guard let synthesis else { return }
        // Pictures are synthesised at the size at which networks work, and then brought to the output's.
        let source = unsafe sources.result(of: picture)
        let session = enlarging.session
        let enlarged = unsafe session.beforeResampling(source) ?? enlarged
        unsafe try synthesis.append(session.restores ? enlarged : source, enlarged, chromaLocation: chromaLocation)
    }

    /// Makes the picture at a phase of the newest two, before result steps.
    /// - Returns: how; nil when there is too little to make it from.
    /// - Throws: as of ``PictureSynthesis/make(phase:into:until:)``.
    @unsafe public func synthesise(
        phase: Double, into output: MutablePictureView, until stop: MonotonicTime? = nil
    ) throws(EnhanceError) -> FrameInterpolationResult.Method? {
        unsafe try synthesis?.make(phase: phase, into: output, until: stop)
    }

    /// Takes an enlarged or synthesised picture through result steps, in place.
    /// - Throws: as ``StepRun/process(in:_:_:only:)``.
    @unsafe public func finish(
        _ picture: MutablePictureView, _ parameters: StepParameters, _ times: inout StepValues<Nanoseconds>,
        only kinds: StepSet = .all
    ) throws(EnhanceError) {
        unsafe try results.process(in: picture, parameters, &times, only: kinds)
    }

    /// The next picture has nothing to do with those before.
    public func forget() { synthesis?.reset() }

    /// Nothing of the pictures before is to be seen in those that follow.
    public func forgetAll() {
        forget()
        sources.reset()
        results.reset()
        enlarging.session.reset()
    }
}
