import Kernels
import Media

/// The configuration of a frame interpolation session, fixed for its life.
public struct FrameInterpolationConfiguration: FrameProcessorConfiguration {
    /// The size of the pictures that motion is found in.
    public var size: PictureSize
    /// How many times larger the enhanced pictures and the result are than the pictures that motion is found in. Motion
    /// is found before super-resolution, and new pictures are made after it.
    public var scaleFactor = 1
    /// The size of the result. Nil is the size of the enhanced pictures; a polyphase filter makes any other size from that.
    public var outputSize: PictureSize?
    /// The network that improves new pictures, of ``FrameRateConversion`` alone; other sessions do not use it. nil leaves them as they
    /// are.
    public var fusion: FusionNetwork?
    /// Which instruction sets to use. The result is the same with all of them.
    public var kernels = Kernels.best

    public init(size: PictureSize) { self.size = size }

    /// The scale factors that a picture size supports. Empty where the size itself is not supported.
    public static func supportedScaleFactors(for size: PictureSize) -> [Int] {
        let sizes = 1...maximumSide
        guard sizes.contains(size.width), sizes.contains(size.height) else { return [] }
        return [1, 2].filter { size.width * $0 <= maximumSide && size.height * $0 <= maximumSide }
    }

    /// The longest side of a picture, in samples.
    public static let maximumSide = 8192

    /// The size of the pictures that new ones are made from.
    public var enhancedSize: PictureSize { size.scaled(by: scaleFactor) }

    /// The result must not be larger than the largest picture, so a scale factor of 2 halves the sides.
    public var supportedSizes: SupportedSizes {
        let side = Self.maximumSide / max(scaleFactor, 1)
        return SupportedSizes(least: PictureSize(width: 1, height: 1), largest: PictureSize(width: side, height: side))
    }

    public func check() throws(EnhanceError) {
        try SuperResolutionConfiguration.check(outputSize: outputSize)
        guard Self.supportedScaleFactors(for: size).contains(scaleFactor) else {
            throw EnhanceError(
                .unsupportedSize,
                "frame interpolation of \(size) at \(scaleFactor) times the size is not supported: sides go from 1 to "
                    + "\(Self.maximumSide) samples, scale factors are 1 and 2")
        }
    }
}

/// How a synthesised picture was made.
public struct FrameInterpolationResult: Sendable {
    public enum Method: Sendable {
        /// Moved parts of both pictures.
        case motionCompensated
        /// A copy of the nearer picture, because the two do not belong to one scene.
        case held
        /// Nothing was written, because a picture between two needs more pictures.
        case pending
    }

    public var method = Method.motionCompensated
    /// Whether everything was done before the time to stop. If not, some parts have coarser motion or are held.
    public var isComplete = true
    /// Time spent on finding motion. Zero when another phase of the same pair had found it.
    public var flowTime = Nanoseconds.zero
    /// Time spent on making the picture.
    public var synthesisTime = Nanoseconds.zero
}

/// The next picture of a sequence.
@unsafe public struct FrameInterpolationInput {
    /// The picture to find motion in, of the configured size.
    public var source: PictureView
    /// The same picture at ``FrameInterpolationConfiguration/enhancedSize``.
    public var enhanced: PictureView
    /// The flow between the picture before and this one, where it was found beforehand.
    public var flow: FlowPair?

    public init(_ source: PictureView, enhanced: PictureView, flow: FlowPair? = nil) {
        unsafe self.source = unsafe source
        unsafe self.enhanced = unsafe enhanced
        unsafe self.flow = flow
    }
}

/// The parameters of one picture between two.
public struct FrameInterpolationParameters: TimedFrameProcessorParameters, BitwiseCopyable {
    /// Where it lies in time: 0 is the earlier picture, 1 the later, both excluded.
    public var phase = 0.5
    public var until: MonotonicTime?

    public init() {}
    public init(phase: Double, until: MonotonicTime? = nil) {
        self.phase = phase
        self.until = until
    }
}
