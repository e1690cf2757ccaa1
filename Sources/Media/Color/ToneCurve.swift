/// Brings bright pictures to a display with less light: the EETF of ITU-R BT.2390 in PQ. What is dark stays as it is. From a knee on a
/// Hermite spline leads to the display's peak.
public struct ToneCurve: Hashable, Sendable {
    /// The light of white in SDR, in cd/m² (ITU-R BT.2408's reference white).
    public static let referenceWhite = 203.0

    private let source: Double
    private let most: Double
    private let knee: Double

    /// - Parameters:
    ///   - peak: the brightest light in the pictures, in cd/m².
    ///   - display: the brightest light of the display, in cd/m².
    public init(from peak: Double, to display: Double = referenceWhite) {
        source = TransferCurves.pq(light: peak)
        most = min(TransferCurves.pq(light: display) / source, 1)
        knee = 1.5 * most - 0.5
    }

    /// - Parameter light: in cd/m².
    public func callAsFunction(_ light: Double) -> Double {
        let value = min(TransferCurves.pq(light: light) / source, 1)
        guard value > knee, most < 1 else { return TransferCurves.light(pq: value * source) }
        let t = (value - knee) / (1 - knee)
        let (t2, t3) = (t * t, t * t * t)
        let mapped =
            (2 * t3 - 3 * t2 + 1) * knee + (t3 - 2 * t2 + t) * (1 - knee) + (-2 * t3 + 3 * t2) * most
        return TransferCurves.light(pq: mapped * source)
    }
}
