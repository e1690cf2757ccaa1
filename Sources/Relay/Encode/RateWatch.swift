import Media

/// Learns how many originals a second a source really has, for an encoder that was opened before anybody could know.
///
/// A rate is believed when many steps in a row agree on it: a gap, a burst or a source that is just starting is no rate.
/// A pure value; allocates nothing.
struct RateWatch {
    /// Steps in a row that must agree.
    private static let needed = 12
    /// How far two rates may lie apart and be the same one.
    private static let tolerance = 0.15

    private var length = 0.0
    private var agreeing = 0

    init() {}

    /// - Parameter interval: between an original and the one before; zero or less where that is not known.
    mutating func observe(_ interval: Nanoseconds) {
        guard interval > .zero else { return }
        let step = Double(interval.count)
        if Self.isSame(step, length) {
            length += (step - length) / 8
            agreeing = min(agreeing + 1, Self.needed)
        } else {
            (length, agreeing) = (step, 1)
        }
    }

    /// Originals a second, in whole ones; nil while nothing is known for certain.
    var rate: Rational? {
        agreeing < Self.needed ? nil : Rational(Int64(max(1, (1e9 / length).rounded())))
    }

    /// Whether another rate than the given one has been learnt.
    func contradicts(_ assumed: Rational) -> Bool {
        guard let rate else { return false }
        return !Self.isSame(rate.value, assumed.value)
    }

    private static func isSame(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= tolerance * b }
}
