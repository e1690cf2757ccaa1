import Glibc

/// The curves between coded values and light: SMPTE ST 2084 (PQ), hybrid log-gamma (both in ITU-R BT.2100) and the display of
/// ITU-R BT.1886. Pure functions.
public enum TransferCurves {
    // MARK: PQ

    private static let m1 = 2610.0 / 16384
    private static let m2 = 2523.0 / 4096 * 128
    private static let c1 = 3424.0 / 4096
    private static let c2 = 2413.0 / 4096 * 32
    private static let c3 = 2392.0 / 4096 * 32
    /// The light of the value 1 in PQ, in cd/m².
    public static let brightestPQ = 10_000.0

    // Negative values mirror: a table between whose nodes the limit of the colours lies needs both sides of it.

    /// The light of a PQ value, in cd/m². Values above 1 count as 1.
    public static func light(pq value: Double) -> Double {
        if value < 0 { return -light(pq: -value) }
        let root = pow(min(value, 1), 1 / m2)
        return brightestPQ * pow(max(root - c1, 0) / (c2 - c3 * root), 1 / m1)
    }

    /// The PQ value of light in cd/m²; the inverse of ``light(pq:)``.
    public static func pq(light: Double) -> Double {
        let power = pow(min(max(light / brightestPQ, 0), 1), m1)
        return pow((c1 + c2 * power) / (1 + c3 * power), m2)
    }

    // MARK: HLG

    private static let a = 0.178_832_77
    private static let b = 1 - 4 * a
    private static let c = 0.5 - a * log(4 * a)

    /// The light in the scene of an HLG value, 0…1: the inverse of its opto-electronic curve. Values above 1 go on.
    public static func scene(hlg value: Double) -> Double {
        if value < 0 { return -scene(hlg: -value) }
        return value <= 0.5 ? value * value / 3 : (exp((value - c) / a) + b) / 12
    }

    /// The exponent of HLG's display, for one with a peak in cd/m².
    public static func hlgGamma(peak: Double) -> Double { 1.2 + 0.42 * log10(peak / 1000) }

    /// What HLG's display makes of light in the scene: a factor for red, green and blue, in cd/m².
    /// - Parameters:
    ///   - luminance: of the scene's light, more than 0.
    ///   - peak: of the display, in cd/m².
    public static func hlgFactor(luminance: Double, peak: Double) -> Double {
        peak * pow(luminance, hlgGamma(peak: peak) - 1)
    }

    // MARK: SDR

    /// The light in the scene of an SDR value, where 1 is white: the inverse of a camera's curve by ITU-R BT.709. What lies beyond 0 and
    /// 1 goes on.
    public static func scene(sdr value: Double) -> Double {
        value < 4.5 * 0.018 ? value / 4.5 : pow((value + 0.099) / 1.099, 1 / 0.45)
    }

    /// The exponent of a display of SDR whose black is dark.
    public static let displayGamma = 2.4

    /// The light of an SDR value, where 1 is white.
    public static func light(sdr value: Double) -> Double {
        value < 0 ? -pow(-value, displayGamma) : pow(value, displayGamma)
    }

    /// The SDR value of light, where 1 is white.
    public static func sdr(light: Double) -> Double {
        light < 0 ? -pow(-light, 1 / displayGamma) : pow(light, 1 / displayGamma)
    }
}
