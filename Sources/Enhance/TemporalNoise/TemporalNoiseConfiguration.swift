import Kernels
import Media

/// The configuration of a noise filter, fixed for its life.
public struct TemporalNoiseConfiguration: FrameProcessorConfiguration {
    /// The size of all pictures.
    public var size: PictureSize
    /// Which instruction sets to use. The result is the same with all of them.
    public var kernels = Kernels.best
    /// Whether ``TemporalNoiseFilter`` gives out a block of 8x8 samples exactly as before while nothing new came for it. Then what
    /// follows finds that it did not change: tiles of ``SuperResolutionSession`` are reused, and encoders skip it.
    public var holdsStillAreas = true

    public init(size: PictureSize) { self.size = size }

    /// The longest side of a picture, in samples.
    public static let maximumSide = 8192

    public var supportedSizes: SupportedSizes {
        SupportedSizes(
            least: PictureSize(width: 1, height: 1),
            largest: PictureSize(width: Self.maximumSide, height: Self.maximumSide))
    }

    public func check() throws(EnhanceError) { try checkSize("noise filtering") }
}

/// How much noise a filter takes away.
public enum NoiseStrength: Hashable, Sendable {
    /// 0 leaves pictures as they are; 1 is for noise with a standard deviation of 25 levels. The filter is best where the
    /// strength is that of the noise.
    case fixed(Double)
    /// The noise is estimated, for luma and chroma apart. Pictures without noise stay as they are.
    case automatic

    /// The noise that a strength of 1 is for: its standard deviation in levels.
    public static let fullDeviation = 25.0

    func check() throws(EnhanceError) {
        guard case .fixed(let strength) = self, !(0...1).contains(strength) else { return }
        throw EnhanceError(.badParameter, "a noise filter's strength goes from 0 to 1, not \(strength)")
    }
}

/// The parameters of one picture.
public struct TwoSidedNoiseParameters: FrameProcessorParameters {
    public var strength = NoiseStrength.automatic
    /// The picture's mean H.264 quantiser, as decoders export it; nil means clean. Automatic strength takes it as a sign of coding
    /// noise.
    public var quantiser: Int?

    public init() {}
    public init(strength: NoiseStrength, quantiser: Int? = nil) {
        self.strength = strength
        self.quantiser = quantiser
    }
}

/// The parameters of one picture of a live sequence.
public struct TemporalNoiseParameters: TimedFrameProcessorParameters {
    public var strength = NoiseStrength.automatic
    /// As of ``TwoSidedNoiseParameters/quantiser``.
    public var quantiser: Int?
    /// When to be done; nil is never. Rows that are not begun by then are copies of the input's.
    public var until: MonotonicTime?

    public init() {}
    public init(strength: NoiseStrength, quantiser: Int? = nil, until: MonotonicTime? = nil) {
        self.strength = strength
        self.quantiser = quantiser
        self.until = until
    }
}

/// What a noise filter did to a picture.
public struct TemporalNoiseResult: Sendable {
    /// The standard deviation of the noise that was filtered, in levels: the strength's, or as estimated. 0 where nothing was.
    public var lumaDeviation = 0.0
    public var chromaDeviation = 0.0
    /// Whether nothing was written, because the filter needs more pictures first.
    public var isPending = false
    /// Whether everything was done before the time to stop. If not, some rows are as they came.
    public var isComplete = true
    public var time = Nanoseconds.zero

    /// Nothing was done.
    public init() {}
}
