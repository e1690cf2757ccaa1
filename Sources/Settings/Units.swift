import Media
import Schedule

// Sizes, rates and times are written with their units, on the command line and in configuration files. A number without its
// unit is refused, because a guess could be wrong.

/// A length of time as text: `80ms`, `1.5s`, `200us`, `5m`, `1h`.
public enum TimeText {
    /// No time is longer than ten years, so that no sum of several overflows.
    private static let longest = 10 * 365.25 * 86_400e9
    /// Whole nanoseconds up to here (104 days) are exact in a `Double`. Longer times are rounded to seconds.
    private static let longestExact = 9e15

    /// Reads a time of at most ten years, not negative.
    public static func read(_ text: String) -> Nanoseconds? {
        let units: [(String, Double)] = [("ms", 1e6), ("us", 1e3), ("s", 1e9), ("m", 60e9), ("h", 3600e9)]
        for (unit, scale) in units where text.hasSuffix(unit) {
            guard let number = Double(text.dropLast(unit.count)), (0...longest).contains(number * scale) else { return nil }
            let count = (number * scale).rounded()
            return Nanoseconds(Int64(count > longestExact ? (count / 1e9).rounded() * 1e9 : count))
        }
        return nil
    }

    /// Writes a time so that ``read(_:)`` gives it again.
    public static func write(_ time: Nanoseconds) -> String {
        if time.count % 1_000_000_000 == 0 { return "\(time.count / 1_000_000_000)s" }
        if time.count % 1_000_000 == 0 { return "\(time.count / 1_000_000)ms" }
        return decimal(time.count, digits: 3) + "us"
    }
}

/// Bits a second as text: `2.5M`, `800k`, `1G`.
public enum BitRateText {
    /// Reads a bit rate from 1 bit/s to 1 Tb/s.
    public static func read(_ text: String) -> Int? {
        let scales: [Character: Double] = ["k": 1e3, "M": 1e6, "G": 1e9]
        guard let last = text.last, let scale = scales[last], let number = Double(text.dropLast()),
            (1..<1e12).contains((number * scale).rounded())
        else { return nil }
        return Int((number * scale).rounded())
    }

    /// Writes a bit rate so that ``read(_:)`` gives it again.
    public static func write(_ rate: Int) -> String {
        rate >= 1_000_000 ? decimal(Int64(rate), digits: 6) + "M" : decimal(Int64(rate), digits: 3) + "k"
    }
}

/// An amount of memory as text: `64MB`, `1.5GB`.
public enum MemoryText {
    /// In bytes.
    static let range = 1_000_000...4_000_000_000

    /// Reads 1 MB to 4 GB.
    public static func read(_ text: String) -> Int? {
        for (unit, scale) in [("MB", 1e6), ("GB", 1e9)] where text.hasSuffix(unit) {
            guard let number = Double(text.dropLast(unit.count)), (1e6...4e9).contains(number * scale) else { return nil }
            return Int((number * scale).rounded())
        }
        return nil
    }

    /// Writes an amount so that ``read(_:)`` gives it again.
    public static func write(_ bytes: Int) -> String { decimal(Int64(bytes), digits: 6) + "MB" }
}

/// How many times more, as text: `1.5x`.
public enum FactorText {
    static let range = 0.1...100.0

    /// Reads a factor from 0.1 to 100.
    public static func read(_ text: String) -> Double? {
        guard text.hasSuffix("x"), let number = Double(text.dropLast()), range.contains(number) else { return nil }
        return number
    }

    /// Writes a factor so that ``read(_:)`` gives it again.
    public static func write(_ factor: Double) -> String { (Int(exactly: factor).map { "\($0)" } ?? "\(factor)") + "x" }
}

/// Frames a second as text: `30`, `29.97`, `30000/1001`.
public enum FrameRateText {
    private static let range = 0.01...1000.0

    /// Reads a rate from 0.01 to 1000 frames a second. Its terms are at most ``SlotGrid/largestTerm``, so that no clock
    /// overflows. The usual short forms of the NTSC rates mean the exact rates.
    public static func read(_ text: String) -> Rational? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let rate: Rational
        if parts.count == 2, let n = Int64(parts[0]), let d = Int64(parts[1]), n > 0, d > 0 {
            rate = Rational(n, d)
        } else if let number = Double(text), range.contains(number) {
            let nearest = (number * 1.001).rounded()
            rate =
                abs(nearest / 1.001 - number) < 0.005 && number != number.rounded()
                ? Rational(Int64(nearest) * 1000, 1001) : Rational(Int64((number * 1000).rounded()), 1000)
        } else {
            return nil
        }
        guard range.contains(rate.value), max(rate.numerator, rate.denominator) <= SlotGrid.largestTerm else { return nil }
        return rate
    }

    /// Writes a rate so that ``read(_:)`` gives it again.
    public static func write(_ rate: Rational) -> String { rate.description }
}

/// A picture size as text: `640x360`.
public enum SizeText {
    private static let range = 16...16_384

    /// Reads a size from 16x16 to 16384x16384.
    public static func read(_ text: String) -> PictureSize? {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = Int(parts[0]), let height = Int(parts[1]), range.contains(width),
            range.contains(height)
        else { return nil }
        return PictureSize(width: width, height: height)
    }

    public static func write(_ size: PictureSize) -> String { size.description }
}

/// `number` / 10^`digits`, exactly and without trailing zeros.
private func decimal(_ number: Int64, digits: Int) -> String {
    var scale: Int64 = 1
    for _ in 0..<digits { scale *= 10 }
    guard number % scale != 0 else { return "\(number / scale)" }
    var fraction = "\(number % scale)"
    fraction = String(repeating: "0", count: digits - fraction.count) + fraction
    while fraction.last == "0" { fraction.removeLast() }
    return "\(number / scale).\(fraction)"
}
