/// A time stamp on a stream's own clock: 90 kHz ticks, as in MPEG-2 systems, but unwrapped to 64 bits so that it never
/// goes back when the 33-bit field on the wire does.
public struct MediaTime: Hashable, Comparable, Sendable, BitwiseCopyable {
    public static let ticksPerSecond: Int64 = 90_000

    public var ticks: Int64

    @inlinable public init(ticks: Int64) { self.ticks = ticks }

    @inlinable public var nanoseconds: Nanoseconds {
        // 1 tick = 100000/9 ns; split so that a long-lived stream's count cannot overflow.
        let (q, r) = ticks.quotientAndRemainder(dividingBy: 9)
        return Nanoseconds(q * 100_000 + r * 100_000 / 9)
    }
    @inlinable public var seconds: Double { Double(ticks) / 90_000 }

    /// The nearest number of ticks to a length of time.
    @inlinable public static func ticks(in time: Nanoseconds) -> Int64 {
        let (q, r) = time.count.quotientAndRemainder(dividingBy: 100_000)
        return q * 9 + (r * 9 + (r < 0 ? -50_000 : 50_000)) / 100_000
    }

    @inlinable public static func + (a: Self, ticks: Int64) -> Self { Self(ticks: a.ticks + ticks) }
    @inlinable public static func - (a: Self, b: Self) -> Int64 { a.ticks - b.ticks }
    @inlinable public static func < (a: Self, b: Self) -> Bool { a.ticks < b.ticks }
}

/// An exact frame rate or time base, `numerator / denominator`, always in lowest terms with a positive denominator.
public struct Rational: Hashable, Sendable, BitwiseCopyable {
    public let numerator: Int64
    public let denominator: Int64

    /// - Precondition: `denominator` is not zero.
    public init(_ numerator: Int64, _ denominator: Int64 = 1) {
        precondition(denominator != 0, "a rational number needs a denominator")
        var (a, b) = (numerator.magnitude, denominator.magnitude)
        while b != 0 { (a, b) = (b, a % b) }
        let divisor = Int64(max(a, 1)) * (denominator < 0 ? -1 : 1)
        self.numerator = numerator / divisor
        self.denominator = denominator / divisor
    }

    public var value: Double { Double(numerator) / Double(denominator) }
}

extension Rational: CustomStringConvertible {
    public var description: String { denominator == 1 ? "\(numerator)" : "\(numerator)/\(denominator)" }
}
