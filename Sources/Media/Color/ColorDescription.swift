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

    /// How the picture is to be turned for display.
    public var orientation = Orientation.upright

    public init() {}
}

/// How a decoded picture is turned for display, as in the display orientation SEI of H.264 and HEVC: first mirrored, then
/// rotated.
public struct Orientation: Hashable, Sendable, BitwiseCopyable {
    public var isFlippedHorizontally: Bool
    public var isFlippedVertically: Bool
    /// Anticlockwise, in 1/65536 of a full turn.
    public var rotation: UInt16

    public init(isFlippedHorizontally: Bool = false, isFlippedVertically: Bool = false, rotation: UInt16 = 0) {
        self.isFlippedHorizontally = isFlippedHorizontally
        self.isFlippedVertically = isFlippedVertically
        self.rotation = rotation
    }

    public static let upright = Orientation()
}
