import Media

/// The steps at one place of a chain, which treat pictures of one size one after the other.
///
/// The run sorts its steps, so that nobody can get their order wrong, and counts their copies: a step writes over the result of the
/// one before it where it can. A picture of the caller's is only written to by ``process(in:_:_:only:)``. Confined to one thread at a
/// time. Without steps a call does nothing. Nothing is allocated after the first few pictures.
public final class StepRun {
    public let size: PictureSize
    private var links: [PlacedStep] = []
    /// What the steps made of the last picture; nil where it stayed as it came.
    private var made: Picture?

    /// - Parameter steps: of one place, in any order.
    public init(size: PictureSize, _ steps: [any PictureStep] = []) {
        self.size = size
        for step in steps { insert(PlacedStep(step, size: size)) }
    }

    /// The kinds of the steps that are here.
    public private(set) var kinds = StepSet()

    /// How many pictures later than they come pictures leave the run.
    public var lookahead: Int { links.reduce(0) { $0 + $1.step.lookahead } }

    /// Whether a step looks at the picture before, which the caller keeps for it.
    public var looksBack: Bool { links.contains { $0.facts.memory == .before } }

    /// The step of a kind; nil where there is none.
    public func step(_ kind: StepKind) -> (any PictureStep)? { links.first { $0.kind == kind }?.step }

    /// Adds a step, or puts it in the place of another of its kind.
    /// - Precondition: it was placed for pictures of this size.
    public func insert(_ link: PlacedStep) {
        precondition(link.memory.map { $0.size == size } ?? true, "a step stands where pictures have its size")
        kinds.insert(link.kind)
        if let place = links.firstIndex(where: { $0.kind == link.kind }) {
            links[place] = link
        } else {
            links.insert(link, at: links.firstIndex { $0.kind.rawValue > link.kind.rawValue } ?? links.count)
        }
    }

    /// The next picture does not follow those before.
    public func reset() {
        made = nil
        for index in links.indices {
            links[index].step.reset()
            links[index].waiting.removeAll(keepingCapacity: true)
        }
    }

    /// Takes a picture through some of the steps. ``result(of:)`` has what came of it.
    /// - Parameters:
    ///   - times: gets what each took that changed the picture.
    ///   - kinds: those that are to run. The others keep what they know of earlier pictures.
    /// - Returns: the parameters of the picture that came out: this one, or where a step looks ahead an earlier one; nil while all
    ///   wait.
    /// - Throws: what ``PictureStep/process(_:into:_:)`` throws.
    @discardableResult
    @unsafe public func process(
        _ input: StepInput, _ parameters: StepParameters, _ times: inout StepValues<Nanoseconds>, only kinds: StepSet = .all
    ) throws(EnhanceError) -> StepParameters? {
        made = nil
        return unsafe try pass(input, from: 0, parameters, &times, only: kinds)
    }

    /// The picture that came out last. Valid until the next call.
    /// - Parameter picture: the one that was given last, where no step changed it.
    @unsafe public func result(of picture: PictureView) -> PictureView { unsafe made?.view ?? picture }

    /// The picture that came out last, where a step made it.
    @unsafe public var result: PictureView? { unsafe made?.view }

    /// No picture follows: takes the next one that waits through the rest of the steps. ``result`` has it.
    /// - Returns: the parameters of the picture that came out; nil when none is left.
    /// - Throws: as ``process(_:_:_:only:)``.
    public func drain(_ times: inout StepValues<Nanoseconds>) throws(EnhanceError) -> StepParameters? {
        // A step ends when those before it are empty. What they give may first wait in it.
        while let first = links.firstIndex(where: { !$0.waiting.isEmpty }) {
            made = nil
            links[first].step.finish()
            let count = links[first].waiting.count
            if let out = unsafe try pass(nil, from: first, links[first].waiting[0], &times, only: .all) { return out }
            precondition(links[first].waiting.count < count, "a step that has ended gives what waits in it")
        }
        return nil
    }

    /// - Parameter input: nil takes a picture that waits in the first of these steps.
    @unsafe private func pass(
        _ input: StepInput?, from first: Int, _ parameters: StepParameters, _ times: inout StepValues<Nanoseconds>,
        only kinds: StepSet
    ) throws(EnhanceError) -> StepParameters? {
        var input = unsafe input
        var parameters = parameters
        let stop = parameters.until
        for index in first..<links.count where kinds.contains(links[index].kind) {
            let (step, facts) = (links[index].step, links[index].facts)
            parameters.until = facts.need == .may ? stop : nil
            guard let own = links[index].memory else { preconditionFailure("\(links[index].kind.name) works in place") }
            let memory = facts.output == .new ? own : made ?? own
            if facts.output == .part, made == nil, let picture = unsafe input?.picture {
                unsafe memory.mutableView.copy(picture)
                unsafe input = unsafe StepInput(memory.view, before: input?.before)
            }
            let start = MonotonicTime.now()
            let outcome = unsafe try step.process(input, into: memory.mutableView, parameters)
            // A picture that was refused does not wait.
            if step.lookahead > 0, unsafe input != nil { links[index].waiting.append(parameters) }
            let time = links[index].spent + (MonotonicTime.now() - start)
            switch outcome {
            case .unchanged: continue
            case .pending:
                links[index].spent = time
                return nil
            case .written:
                links[index].spent = .zero
                if step.lookahead > 0 { parameters = links[index].waiting.removeFirst() }
                times[links[index].kind] = time
                made = memory
                unsafe input = unsafe StepInput(memory.view, before: input?.before)
            }
        }
        return parameters
    }

    /// Takes a picture of the caller's through some of the steps, in place: those of ``StepKind/Place/result``.
    /// - Throws: as ``process(_:_:_:only:)``.
    @unsafe public func process(
        in picture: MutablePictureView, _ parameters: StepParameters, _ times: inout StepValues<Nanoseconds>,
        only kinds: StepSet = .all
    ) throws(EnhanceError) {
        for link in links where kinds.contains(link.kind) {
            let start = MonotonicTime.now()
            let outcome = unsafe try link.step.process(StepInput(picture.readOnly), into: picture, parameters)
            if case .written = outcome { times[link.kind] = .now() - start }
        }
    }
}

/// A step with memory for its result, to be put into a run. Make it beside the stream. The system provides the memory when it is first
/// written.
public struct PlacedStep {
    public let step: any PictureStep
    fileprivate let kind: StepKind
    fileprivate let facts: StepKind.Facts
    /// Nil for a step on what leaves, which works in place.
    fileprivate let memory: Picture?
    /// What is known of the pictures that wait in the step.
    fileprivate var waiting: [StepParameters] = []
    /// What calls took that gave no picture.
    fileprivate var spent = Nanoseconds.zero

    /// - Parameter size: of the pictures at the step's place.
    public init(_ step: any PictureStep, size: PictureSize) {
        self.step = step
        kind = step.kind
        facts = kind.facts
        memory = facts.place == .result ? nil : Picture(size: size)
        waiting.reserveCapacity(step.lookahead + 1)
    }
}
