/// What becomes of each colour when pictures that a usual screen cannot show right, HDR or wide-gamut ones, become SDR with BT.709's
/// colours.
///
/// HDR: light by BT.2100's curves, its luminance by ``ToneCurve``, and with it red, green and blue alike, so that the hue stays. Then
/// the gamut: a colour that BT.709 lacks moves straight towards grey of its luminance. Wide SDR: the gamut alone. A pure value; docs/design/colours.md has the steps.
public struct ColorConversion: Hashable, Sendable {
    /// What pictures are.
    public enum Kind: Hashable, Sendable {
        /// The brightest light in cd/m².
        case pq(peak: Double)
        case hlg
        /// SDR with more colours than BT.709.
        case wide
    }

    public let kind: Kind
    private let weights: LumaWeights
    private let isFull: Bool
    private let primaries: UInt8

    /// The brightest light of pictures that do not say it, and of a display of HLG, in cd/m².
    public static let usualPeak = 1000.0
    /// What somebody may say of it.
    public static let peaks = 100.0...10_000

    /// - Parameters:
    ///   - color: of the pictures.
    ///   - peak: the brightest light of PQ pictures in cd/m²; nil where it is not known.
    /// - Returns: nil for pictures that a usual screen shows right, and where there is no conversion.
    public init?(of color: ColorDescription, peak: Double? = nil) {
        let isHDR = color.isHDR
        guard isHDR || ColorPrimaries.wide(color.primaries) != nil else { return nil }
        // Who writes HDR without a matrix means BT.2020's. ICtCp and the constant luminance have another form.
        guard let weights = LumaWeights(color.matrix == 2 ? (isHDR || color.primaries == 9 ? 9 : 1) : color.matrix),
            color.matrix != 10
        else { return nil }
        self.weights = weights
        isFull = color.range == .full
        primaries = color.primaries == 2 && isHDR ? 9 : color.primaries
        kind =
            switch color.transfer {
            case ColorDescription.pq:
                .pq(peak: peak.flatMap { Self.peaks.contains($0) ? $0 : nil } ?? Self.usualPeak)
            case ColorDescription.hlg: .hlg
            default: .wide
            }
    }

    /// Whether the pictures are the same but for how bright they become.
    public func differsInPeakAlone(from other: ColorConversion) -> Bool {
        guard case .pq = kind, case .pq = other.kind else { return false }
        return weights == other.weights && isFull == other.isFull && primaries == other.primaries
    }

    /// How the pictures that come of it are described. What does not concern colours stays.
    public static func described(_ color: ColorDescription) -> ColorDescription {
        var result = color
        (result.primaries, result.transfer, result.matrix, result.range) = (1, 1, 1, .limited)
        return result
    }

    /// Works on colours one after the other.
    public func makeMapper() -> Mapper { Mapper(self) }

    /// The conversion with what follows from it, made once.
    public struct Mapper: Sendable {
        private let conversion: ColorConversion
        private let toTarget: ColorMatrix
        private let luminance: ColorVector
        private let curve: ToneCurve

        init(_ conversion: ColorConversion) {
            self.conversion = conversion
            let source = ColorPrimaries.wide(conversion.primaries) ?? .bt709
            toTarget = ColorPrimaries.bt709.toXYZ.inverse * source.toXYZ
            luminance = source.luminance
            let peak = if case .pq(let peak) = conversion.kind { peak } else { ColorConversion.usualPeak }
            curve = ToneCurve(from: peak)
        }

        /// What a colour becomes.
        /// - Parameter samples: Y, U and V as samples of 8 bits, with fractions, in the source's range.
        /// - Returns: the same in BT.709's limited range.
        public func callAsFunction(_ samples: ColorVector) -> ColorVector {
            let yuv =
                conversion.isFull
                ? ColorVector(samples.x / 255, (samples.y - 128) / 255, (samples.z - 128) / 255)
                : ColorVector((samples.x - 16) / 219, (samples.y - 128) / 224, (samples.z - 128) / 224)
            let coded = conversion.weights.rgb(yuv)
            let light = within(toTarget * light(of: coded))
            let shown = ColorVector(
                TransferCurves.sdr(light: light.x), TransferCurves.sdr(light: light.y), TransferCurves.sdr(light: light.z))
            let result = LumaWeights.bt709.yuv(shown)
            return ColorVector(16 + 219 * result.x, 128 + 224 * result.y, 128 + 224 * result.z)
        }

        /// Red, green and blue light in the source's colours, where 1 is white.
        private func light(of coded: ColorVector) -> ColorVector {
            let bright: ColorVector
            switch conversion.kind {
            case .wide:
                return ColorVector(
                    TransferCurves.light(sdr: coded.x), TransferCurves.light(sdr: coded.y), TransferCurves.light(sdr: coded.z))
            case .pq:
                bright = ColorVector(
                    TransferCurves.light(pq: coded.x), TransferCurves.light(pq: coded.y), TransferCurves.light(pq: coded.z))
            case .hlg:
                let scene = ColorVector(
                    TransferCurves.scene(hlg: min(coded.x, 1)), TransferCurves.scene(hlg: min(coded.y, 1)),
                    TransferCurves.scene(hlg: min(coded.z, 1)))
                let y = max((luminance * scene).sum(), 1e-6)
                bright = scene * TransferCurves.hlgFactor(luminance: y, peak: ColorConversion.usualPeak)
            }
            let y = (luminance * bright).sum()
            return bright * ((y > 1e-6 ? curve(y) / y : 1) / ToneCurve.referenceWhite)
        }

        /// A colour may lie so much beyond the limit, as a share of its distance from grey. Receivers cut that off.
        private static let margin = 1.0

        /// Moves a colour that BT.709 lacks towards grey of its luminance, close to the limit. Colours that it has stay as they are. A
        /// move onto the limit itself would make those dull that lie between a node of the table within and one beyond.
        private func within(_ light: ColorVector) -> ColorVector {
            let y = (ColorPrimaries.bt709.luminance * light).sum()
            guard y > 0, y < 1 else { return ColorVector(repeating: min(max(y, 0), 1)) }
            // How far the colour lies on its way from grey (0) to the limit of the gamut (1).
            var reach = 0.0
            for channel in 0..<3 {
                let difference = light[channel] - y
                reach = max(reach, difference > 0 ? difference / (1 - y) : -difference / y)
            }
            guard reach > 1 else { return light }
            let beyond = (reach - 1) / Self.margin
            let wanted = 1 + Self.margin * (beyond / (1 + beyond))
            return ColorVector(repeating: y) + (light - ColorVector(repeating: y)) * (wanted / reach)
        }
    }
}

extension ColorDescription {
    /// H.273's `TransferCharacteristics` of SMPTE ST 2084 and of hybrid log-gamma.
    public static let pq: UInt8 = 16
    public static let hlg: UInt8 = 18

    /// Whether a usual screen shows the pictures too dark and grey.
    public var isHDR: Bool { transfer == Self.pq || transfer == Self.hlg }

    /// What kind of light and colours, in words: `HLG, BT.2020`.
    public var colorsInWords: String {
        let curve = transfer == Self.pq ? "PQ" : transfer == Self.hlg ? "HLG" : "SDR"
        let colors =
            primaries == 9 || primaries == 2 && isHDR ? "BT.2020" : primaries == 11 || primaries == 12 ? "P3" : "BT.709"
        return "\(curve), \(colors)"
    }
}
