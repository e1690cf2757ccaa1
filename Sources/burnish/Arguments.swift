import ArgumentParser
import Media
import Schedule

// Sizes, rates and times need units on the command line. A number without its unit is refused, because a guess could be
// wrong.

/// A length of time: `80ms`, `1.5s`, `200us`, `5m`. At most ten years, so that no sum of several overflows.
struct TimeArgument: ExpressibleByArgument {
    var value: Nanoseconds

    private static let longest = 10 * 365.25 * 86_400e9

    init(_ value: Nanoseconds) { self.value = value }

    init?(argument: String) {
        let units: [(String, Double)] = [("ms", 1e6), ("us", 1e3), ("s", 1e9), ("m", 60e9), ("h", 3600e9)]
        for (unit, scale) in units where argument.hasSuffix(unit) {
            guard let number = Double(argument.dropLast(unit.count)), (0...Self.longest).contains(number * scale)
            else { return nil }
            value = Nanoseconds(Int64((number * scale).rounded()))
            return
        }
        return nil
    }

    var defaultValueDescription: String {
        value.count % 1_000_000_000 == 0
            ? "\(value.count / 1_000_000_000)s" : "\(value.count / 1_000_000)ms"
    }
}

/// A picture size: `640x360`.
struct SizeArgument: ExpressibleByArgument {
    var value: PictureSize

    init(_ value: PictureSize) { self.value = value }

    init?(argument: String) {
        let parts = argument.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = Int(parts[0]), let height = Int(parts[1]),
            (16...16_384).contains(width), (16...16_384).contains(height)
        else { return nil }
        value = PictureSize(width: width, height: height)
    }

    var defaultValueDescription: String { value.description }
}

/// A bit rate in bits a second: `2.5M`, `800k`, `1G`.
struct BitRateArgument: ExpressibleByArgument {
    var value: Int

    init(_ value: Int) { self.value = value }

    init?(argument: String) {
        let scales: [Character: Double] = ["k": 1e3, "M": 1e6, "G": 1e9]
        guard let last = argument.last, let scale = scales[last], let number = Double(argument.dropLast()),
            (1..<1e12).contains(number * scale)
        else { return nil }
        value = Int(number * scale)
    }

    var defaultValueDescription: String {
        value % 1_000_000 == 0 ? "\(value / 1_000_000)M" : "\(value / 1_000)k"
    }
}

/// A frame rate: `30`, `29.97`, `30000/1001`. From 0.01 to 1000 frames a second. Its terms are so small that no clock
/// overflows.
struct FrameRateArgument: ExpressibleByArgument {
    var value: Rational

    private static let range = 0.01...1000.0

    init(_ value: Rational) { self.value = value }

    init?(argument: String) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count == 2, let n = Int64(parts[0]), let d = Int64(parts[1]), n > 0, d > 0 {
            value = Rational(n, d)
        } else if let number = Double(argument), Self.range.contains(number) {
            // The usual short forms of the NTSC rates mean the exact rates.
            let nearest = (number * 1.001).rounded()
            value =
                abs(nearest / 1.001 - number) < 0.005 && number != number.rounded()
                ? Rational(Int64(nearest) * 1000, 1001) : Rational(Int64((number * 1000).rounded()), 1000)
        } else {
            return nil
        }
        guard Self.range.contains(value.value), max(value.numerator, value.denominator) <= SlotGrid.largestTerm else {
            return nil
        }
    }

    var defaultValueDescription: String { value.description }
}
