import Media

/// Learns how many originals a second a source really has. The encoder is opened before that is known.
///
/// A rate is accepted when 12 intervals in a row agree on it. A gap, a burst or the start of a source is no rate.
///
/// A pure value; allocates nothing.
struct RateWatch {
    /// Intervals in a row that must agree.
    private static let agreementNeeded = 12
    /// Rates that differ by less, as a share, are the same.
    private static let tolerance = 0.15

    private var length = 0.0
    private var agreeing = 0

    init() {}

    /// - Parameter interval: from the original before to this one; zero or less when it is not known.
    mutating func observe(_ interval: Nanoseconds) {
        guard interval > .zero else { return }
        let step = Double(interval.count)
        if Self.isSame(step, length) {
            length += (step - length) / 8
            agreeing = min(agreeing + 1, Self.agreementNeeded)
        } else {
            (length, agreeing) = (step, 1)
        }
    }

    /// Originals a second, rounded; nil while no rate is accepted.
    var rate: Rational? {
        agreeing < Self.agreementNeeded ? nil : Rational(Int64(max(1, (1e9 / length).rounded())))
    }

    /// Whether another rate than the given one has been learnt.
    func contradicts(_ assumed: Rational) -> Bool {
        guard let rate else { return false }
        return !Self.isSame(rate.value, assumed.value)
    }

    private static func isSame(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= tolerance * b }
}
