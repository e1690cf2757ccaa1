import Media

extension Rational {
    /// The frame rate that a header states: `scale` / `unit` frames a second; nil for a rate that no stream has. What is between 0.1
    /// and 1000 frames a second cannot overflow where others count with it.
    /// - Parameters: both below 2⁵², each 0 or more.
    static func stated(_ scale: Int64, by unit: Int64) -> Rational? {
        guard scale > 0, unit > 0, scale / unit < 1000, unit / scale < 10 else { return nil }
        return Rational(scale, unit)
    }
}
