/// What a picture's sample values mean: ITU-T H.273 code points (2 = unspecified), the sample range and the sample
/// aspect ratio. The relay carries it from the input to the output unchanged.
public struct ColorDescription: Hashable, Sendable, BitwiseCopyable {
    public enum Range: UInt8, Sendable, BitwiseCopyable { case unspecified, limited, full }

    public var primaries: UInt8 = 2
    public var transfer: UInt8 = 2
    public var matrix: UInt8 = 2
    public var range: Range = .unspecified
    /// Where the chroma samples lie (`AVChromaLocation`'s numbers; 0 = unspecified, 1 = left, as H.264's default).
    public var chromaLocation: UInt8 = 0
    /// Width : height of one sample; 0 : 1 where the stream does not say.
    public var sampleAspectRatio = Rational(0, 1)

    public init() {}
}
