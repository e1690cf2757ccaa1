import Glibc

/// How brightness, contrast and colours of pictures are changed: first by a table, then as FFmpeg's `eq` filter does: luma by a line and an
/// exponent, chroma by a factor. Warmth moves chroma from blue to red, as much as luma has. A new value changes nothing.
public struct ColorControls: Hashable, Sendable {
    /// What is added to luma, as a share of white: −1…1.
    public var brightness = 0.0
    /// The factor on luma's distance from middle grey: 0…2.
    public var contrast = 1.0
    /// The factor on chroma: 0…2.
    public var saturation = 1.0
    /// The inverse of luma's exponent: 0.5…2.
    public var gamma = 1.0
    /// −1 (cold) to 1 (warm).
    public var warmth = 0.0
    /// What colours become before all that: controls adjust what somebody sees. Nil, or a file that was not read, changes nothing.
    public var lut: CubeFile?

    public static let brightnesses = -1.0...1.0
    public static let factors = 0.0...2.0
    public static let gammas = 0.5...2.0

    public init() {}

    public var isNeutral: Bool {
        var others = self
        if lut?.table == nil { others.lut = nil }
        return others == ColorControls()
    }

    /// Chroma of the strongest warmth on white, as a share of its range.
    private static let strongestWarmth = 0.1

    /// What a colour becomes.
    /// - Parameters:
    ///   - samples: Y, U and V as samples of 8 bits with fractions.
    ///   - weights: how Y, U and V follow from red, green and blue. They matter to a table.
    public func apply(to samples: ColorVector, isFullRange: Bool, weights: LumaWeights = .bt709) -> ColorVector {
        let (black, range, chroma) = isFullRange ? (0.0, 255.0, 255.0) : (16, 219, 224)
        var color = ColorVector((samples.x - black) / range, (samples.y - 128) / chroma, (samples.z - 128) / chroma)
        if let table = lut?.table { color = weights.yuv(table(weights.rgb(color))) }
        var y = color.x
        y = (y - 0.5) * contrast + 0.5 + brightness
        // What is darker than black or brighter than white may be, in the limited range.
        if gamma != 1 { y = y <= 0 ? y : pow(y, 1 / gamma) }
        let warm = Self.strongestWarmth * warmth * min(max(y, 0), 1)
        let u = color.y * saturation - warm
        let v = color.z * saturation + warm
        return ColorVector(black + range * y, 128 + chroma * u, 128 + chroma * v)
    }
}
