import Media

/// The instants of a constant output rate. For a rate of n/d, slot *k* lies at `start + k · 90000 · d/n` ticks, rounded
/// down. Every time is computed from the slot's number, and every number exactly from a time. So there is no drift, however
/// long a stream runs.
public struct SlotGrid: Hashable, Sendable, BitwiseCopyable {
    public let rate: Rational
    /// Where slot 0 lies.
    public let start: MediaTime

    /// The largest numerator and denominator of a rate: with them nothing overflows in thirty years.
    public static let largestTerm: Int64 = 100_000

    /// - Precondition: the rate is positive and below 90 kHz, its terms are at most ``largestTerm``.
    public init(rate: Rational, start: MediaTime) {
        precondition(rate.numerator > 0 && rate.value < 90_000, "an output rate lies between 0 and 90 kHz")
        precondition(max(rate.numerator, rate.denominator) <= Self.largestTerm, "an output rate has moderate terms")
        self.rate = rate
        self.start = start
    }

    /// The ticks of `rate.numerator` slots: the shortest time that is whole in both.
    private var period: Int64 { MediaTime.ticksPerSecond * rate.denominator }

    /// The time of a slot.
    public func time(of slot: Int64) -> MediaTime {
        let (periods, rest) = Self.divide(slot, by: rate.numerator)
        return start + periods * period + rest * period / rate.numerator
    }

    /// The last slot that is not after a time.
    public func slot(at time: MediaTime) -> Int64 {
        let (periods, rest) = Self.divide(time - start, by: period)
        // Times are rounded down: the slot begins anywhere within its tick.
        return periods * rate.numerator + ((rest + 1) * rate.numerator - 1) / period
    }

    private static func divide(_ a: Int64, by b: Int64) -> (quotient: Int64, remainder: Int64) {
        let (q, r) = a.quotientAndRemainder(dividingBy: b)
        return r < 0 ? (q - 1, r + b) : (q, r)
    }
}
