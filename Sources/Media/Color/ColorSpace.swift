/// Three light values, or three coded ones.
public typealias ColorVector = SIMD3<Double>

/// A matrix on three values.
public struct ColorMatrix: Hashable, Sendable {
    public var rows: [ColorVector]

    public init(_ rows: ColorVector...) { self.rows = rows }

    public static func * (matrix: ColorMatrix, vector: ColorVector) -> ColorVector {
        ColorVector(
            (matrix.rows[0] * vector).sum(), (matrix.rows[1] * vector).sum(), (matrix.rows[2] * vector).sum())
    }

    public static func * (a: ColorMatrix, b: ColorMatrix) -> ColorMatrix {
        func column(_ index: Int) -> ColorVector { ColorVector(b.rows[0][index], b.rows[1][index], b.rows[2][index]) }
        let columns = [column(0), column(1), column(2)].map { a * $0 }
        return ColorMatrix(
            ColorVector(columns[0].x, columns[1].x, columns[2].x), ColorVector(columns[0].y, columns[1].y, columns[2].y),
            ColorVector(columns[0].z, columns[1].z, columns[2].z))
    }

    public var inverse: ColorMatrix {
        let (a, b, c) = (rows[0], rows[1], rows[2])
        func cross(_ p: ColorVector, _ q: ColorVector) -> ColorVector {
            ColorVector(p.y * q.z - p.z * q.y, p.z * q.x - p.x * q.z, p.x * q.y - p.y * q.x)
        }
        let (bc, ca, ab) = (cross(b, c), cross(c, a), cross(a, b))
        let scale = 1 / (a * bc).sum()
        return ColorMatrix(
            ColorVector(bc.x, ca.x, ab.x) * scale, ColorVector(bc.y, ca.y, ab.y) * scale, ColorVector(bc.z, ca.z, ab.z) * scale)
    }
}

/// Red, green and blue of a colour space by ITU-T H.273's `ColourPrimaries`, all with the white D65.
public struct ColorPrimaries: Hashable, Sendable {
    /// The light of red, green and blue as X, Y and Z.
    public let toXYZ: ColorMatrix
    /// What red, green and blue add to the luminance.
    public var luminance: ColorVector { toXYZ.rows[1] }

    private static func light(_ x: Double, _ y: Double) -> ColorVector { ColorVector(x / y, 1, (1 - x - y) / y) }

    private init(_ red: (Double, Double), _ green: (Double, Double), _ blue: (Double, Double)) {
        let (r, g, b) = (Self.light(red.0, red.1), Self.light(green.0, green.1), Self.light(blue.0, blue.1))
        let plain = ColorMatrix(ColorVector(r.x, g.x, b.x), ColorVector(1, 1, 1), ColorVector(r.z, g.z, b.z))
        let scale = plain.inverse * Self.light(0.3127, 0.3290)
        toXYZ = ColorMatrix(plain.rows[0] * scale, plain.rows[1] * scale, plain.rows[2] * scale)
    }

    public static let bt709 = ColorPrimaries((0.640, 0.330), (0.300, 0.600), (0.150, 0.060))
    public static let bt2020 = ColorPrimaries((0.708, 0.292), (0.170, 0.797), (0.131, 0.046))
    public static let displayP3 = ColorPrimaries((0.680, 0.320), (0.265, 0.690), (0.150, 0.060))

    /// - Parameter code: H.273's.
    /// - Returns: nil for those that differ little from BT.709, and for unknown ones.
    public static func wide(_ code: UInt8) -> ColorPrimaries? {
        switch code {
        case 9: bt2020
        case 11, 12: displayP3
        default: nil
        }
    }
}

/// How Y, U and V follow from coded red, green and blue: what red and blue add to Y.
public struct LumaWeights: Hashable, Sendable {
    public var red: Double
    public var blue: Double

    public static let bt709 = LumaWeights(red: 0.2126, blue: 0.0722)
    public static let bt601 = LumaWeights(red: 0.299, blue: 0.114)
    public static let bt2020 = LumaWeights(red: 0.2627, blue: 0.0593)

    /// - Parameter code: H.273's `MatrixCoefficients`.
    /// - Returns: nil for those that are no such weights (as ICtCp), and where the stream does not say.
    public init?(_ code: UInt8) {
        switch code {
        case 1: self = .bt709
        case 5, 6: self = .bt601
        case 9, 10: self = .bt2020
        default: return nil
        }
    }

    private init(red: Double, blue: Double) { (self.red, self.blue) = (red, blue) }

    /// Coded red, green and blue of Y (0…1), U and V (−0.5…0.5).
    public func rgb(_ yuv: ColorVector) -> ColorVector {
        let red = yuv.x + 2 * (1 - self.red) * yuv.z
        let blue = yuv.x + 2 * (1 - self.blue) * yuv.y
        return ColorVector(red, (yuv.x - self.red * red - self.blue * blue) / (1 - self.red - self.blue), blue)
    }

    /// The inverse of ``rgb(_:)``.
    public func yuv(_ rgb: ColorVector) -> ColorVector {
        let y = red * rgb.x + (1 - red - blue) * rgb.y + blue * rgb.z
        return ColorVector(y, (rgb.z - y) / (2 * (1 - blue)), (rgb.x - y) / (2 * (1 - red)))
    }
}
