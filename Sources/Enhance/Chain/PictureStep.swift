import Media

/// One step on single pictures, at the size at which they come or leave. ``StepKind`` has a row for it, and
/// ``StepSettings/makeStep(_:size:lookingAhead:workers:)`` a line.
///
/// A ``StepRun`` calls it, for all pictures in the order of time, with memory for the result. A step is made beside the stream, and
/// takes the place of another between two pictures. It may move from thread to thread; one picture is treated at a time. Nothing is
/// allocated after the first few.
public protocol PictureStep: AnyObject {
    var kind: StepKind { get }

    /// How many pictures later than they come pictures leave it.
    var lookahead: Int { get }

    /// Whether it can do what settings ask. If not, another is made, and this one goes on until that is there.
    func suits(_ settings: StepSettings) -> Bool

    /// Treats the next picture.
    /// - Parameters:
    ///   - input: nil after ``finish()``, for the pictures that wait.
    ///   - output: of the same size; it may be the input's memory, unless the kind's ``StepKind/Output`` is `new`.
    /// - Throws: `sizeMismatch`, `badParameter` before anything is written.
    @unsafe func process(
        _ input: StepInput?, into output: MutablePictureView, _ parameters: StepParameters
    ) throws(EnhanceError) -> StepOutcome

    /// No picture follows: those that wait may come out.
    func finish()

    /// The next picture does not follow those before.
    func reset()

    /// What a report says beside times.
    var figures: [StepFigure] { get }
}

extension PictureStep {
    public var lookahead: Int { 0 }
    public func suits(_ settings: StepSettings) -> Bool { true }
    public func finish() {}
    public func reset() {}
    public var figures: [StepFigure] { [] }
}

/// The picture that a step treats. Valid during the call.
@unsafe public struct StepInput {
    public var picture: PictureView
    /// The one before it, as it came; nil where there is none, or no step of the run asks for it (``StepKind/Memory``).
    public var before: PictureView?

    public init(_ picture: PictureView, before: PictureView? = nil) {
        unsafe self.picture = unsafe picture
        unsafe self.before = unsafe before
    }
}

/// What is known of one picture, and asked for it.
public struct StepParameters: Sendable {
    public var settings: StepSettings
    /// The picture's mean H.264 quantiser, as decoders export it; nil where that is not known.
    public var quantiser: Int?
    /// Where its chroma samples lie, as in ``ColorDescription/chromaLocation``.
    public var chromaLocation: UInt8
    /// Whether its samples use the full range, as in ``ColorDescription/range``.
    public var isFullRange: Bool
    /// How its Y, U and V follow from red, green and blue, as in ``ColorDescription/matrix``.
    public var matrix: UInt8
    /// How the picture is to be turned for display.
    public var orientation: Orientation
    /// Whether the rows 0, 2, 4 … of an interlaced picture are those of its first field; nil for a progressive one.
    public var topFieldFirst: Bool?
    /// When a step that may be left out is to be done; nil is never.
    public var until: MonotonicTime?
    /// The shape of its samples as coded, as ``ColorDescription/sampleAspectRatio``.
    public var sampleAspectRatio = Rational(0, 1)
    /// What steps that show it say of the picture.
    public var moment = StepMoment()

    public init(
        _ settings: StepSettings, quantiser: Int? = nil, chromaLocation: UInt8 = 0, isFullRange: Bool = false,
        matrix: UInt8 = 2, orientation: Orientation = .upright, topFieldFirst: Bool? = nil, until: MonotonicTime? = nil
    ) {
        self.settings = settings
        self.quantiser = quantiser
        self.chromaLocation = chromaLocation
        self.isFullRange = isFullRange
        self.matrix = matrix
        self.orientation = orientation
        self.topFieldFirst = topFieldFirst
        self.until = until
    }
}

/// Which picture it is.
public struct StepMoment: Sendable {
    /// Its number in frame records, or in a file; of a synthesised picture that of the one that came last.
    public var number: UInt64 = 0
    /// Its time stamp.
    public var presented = Nanoseconds.zero
    /// When its last byte came; nil for files.
    public var arrived: MonotonicTime?

    public init() {}
}

/// What a step has done with a call.
public enum StepOutcome: Sendable {
    /// Nothing was written: the picture goes on as it came.
    case unchanged
    /// The output holds the next picture.
    case written
    /// Nothing was written, because the step looks at later pictures first, or none waits.
    case pending
}

/// A number that a step found out, as a mean of all pictures.
public struct StepFigure: Hashable, Sendable {
    public var name: String
    public var value: Double

    public init(_ name: String, _ value: Double) {
        self.name = name
        self.value = value
    }
}

extension StepSettings {
    /// Makes a kind's step. It may take milliseconds, and memory: make it beside a stream.
    /// - Parameters:
    ///   - size: of the pictures at its place.
    ///   - lookingAhead: whether it may look at later pictures, as for files.
    /// - Returns: nil for what is no step on single pictures.
    /// - Throws: `unsupportedSize`.
    public func makeStep(
        _ kind: StepKind, size: PictureSize, lookingAhead: Bool = false, workers: WorkerPool
    ) throws(EnhanceError) -> (any PictureStep)? {
        switch kind {
        case .deinterlace: DeinterlaceStep()
        case .mask: MaskStep()
        case .crop: CropStep(crop, size: size, workers: workers)
        case .color: ColorStep(color, workers: workers)
        case .denoise:
            lookingAhead ? try RecordedNoiseStep(size: size, workers: workers) : try NoiseStep(size: size, workers: workers)
        case .overlay: OverlayStep(overlay ?? Overlay([]), size: size)
        case .reactions: ReactionStep(reactions, size: size)
        case .enlarge, .sharpen, .synthesise: nil
        }
    }

    /// Makes all steps at a place that change something, in their order.
    /// - Throws: as ``makeStep(_:size:lookingAhead:workers:)``.
    public func makeSteps(
        at place: StepKind.Place, size: PictureSize, lookingAhead: Bool = false, workers: WorkerPool
    ) throws(EnhanceError) -> [any PictureStep] {
        var steps: [any PictureStep] = []
        for kind in active(at: place) {
            if let step = try makeStep(kind, size: size, lookingAhead: lookingAhead, workers: workers) { steps.append(step) }
        }
        return steps
    }
}
