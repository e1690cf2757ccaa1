import Media

/// A session of a frame processor: super-resolution, optical flow, interpolation, extrapolation, a filter.
///
/// All processors have the same shape. The caller makes a session from a configuration, gives it the pictures of a sequence in
/// the order of time, and gives each call the buffers that the result goes into. The protocol says nothing of where the work
/// runs: ``Resources`` is a pool of threads here, and a device in a back end for one.
///
/// A session does one call at a time. It may move from thread to thread, but it is not `Sendable`. Only its ``cancellation`` may
/// be used by another thread meanwhile. A call allocates nothing after the first few, and the frame path uses sessions by their
/// own type or generically, never as `any FrameProcessor`.
public protocol FrameProcessor: AnyObject {
    associatedtype Configuration: FrameProcessorConfiguration
    /// What the work runs on.
    associatedtype Resources
    /// What a call reads: pictures of the caller's, valid during the call.
    associatedtype Input
    /// What a call writes: buffers of the caller's, valid during the call.
    associatedtype Output
    /// What the caller decides anew for each call.
    associatedtype Parameters: FrameProcessorParameters
    /// What a call did, and what it cost.
    associatedtype Outcome

    /// Allocates all that the session needs.
    /// - Throws: what ``FrameProcessorConfiguration/check()`` throws.
    init(_ configuration: Configuration, on resources: Resources) throws(EnhanceError)

    var configuration: Configuration { get }

    /// How many pictures a result comes late: so many after the ones that it belongs to must have been given.
    var lookahead: Int { get }

    /// Ends the session's work from any thread.
    var cancellation: Cancellation { get }

    /// Takes the next picture of the sequence and makes the result that it completes.
    /// - Throws: `sizeMismatch`, `badParameter`, `missingPicture` before anything is written; `cancelled` at any time, and the
    ///   output may then be written in part.
    @discardableResult
    @unsafe func process(
        _ input: Input, into output: Output, _ parameters: Parameters
    ) throws(EnhanceError) -> Outcome

    /// Forgets the pictures so far, and that the session was cancelled. Call it after a gap, a seek or a change of the source.
    func reset()
}

extension FrameProcessor {
    public var lookahead: Int { 0 }
}

/// What a session is made for, fixed for its life.
public protocol FrameProcessorConfiguration: Sendable {
    /// - Parameter size: the size of the source pictures.
    init(size: PictureSize)

    /// The size of the source pictures.
    var size: PictureSize { get set }

    /// The sizes of source pictures that a session takes with the other values of this configuration. It does not depend on
    /// ``size``, and may depend on the machine: ask at run time.
    var supportedSizes: SupportedSizes { get }

    /// Whether a session can be made.
    /// - Throws: `unsupportedSize`, `badParameter`, `badWeights`.
    func check() throws(EnhanceError)
}

extension FrameProcessorConfiguration {
    /// - Parameter what: the processor, for the message.
    /// - Throws: `unsupportedSize`.
    public func checkSize(_ what: String) throws(EnhanceError) {
        guard !supportedSizes.contains(size) else { return }
        throw EnhanceError(
            .unsupportedSize,
            "\(what) of pictures of \(size) is not supported: give it \(supportedSizes.least) to \(supportedSizes.largest)")
    }
}

/// All sizes between two, odd ones included.
public struct SupportedSizes: Hashable, Sendable {
    public let least: PictureSize
    public let largest: PictureSize

    public init(least: PictureSize, largest: PictureSize) {
        self.least = least
        self.largest = largest
    }

    public func contains(_ size: PictureSize) -> Bool {
        size.width >= least.width && size.height >= least.height && size.width <= largest.width
            && size.height <= largest.height
    }
}

/// What the caller decides anew for each call. A new value has the defaults.
public protocol FrameProcessorParameters: Sendable {
    init()
}

/// Parameters of a processor that can end a call early with a whole, less good result.
public protocol TimedFrameProcessorParameters: FrameProcessorParameters {
    /// When to be done; nil is never.
    var until: MonotonicTime? { get set }
}
