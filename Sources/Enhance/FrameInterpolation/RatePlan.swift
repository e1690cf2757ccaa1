import Media

/// Converts a sequence of pictures to a constant rate: says for each slot between which two pictures it lies, and where.
///
/// Slot *k* lies *k* slots behind the first picture. Positions are whole numbers of one unit, so slots do not drift, however long the
/// sequence is. Pictures may come at any times. One that lies within a sixteenth of a slot is shown as it is; where there are as many
/// pictures as slots, within half the distance of two. Pictures far apart are no pair, because motion cannot be followed between
/// them: the earlier one stays.
///
/// ```swift
/// var plan = RatePlan(from: Rational(24000, 1001), to: Rational(60))
/// for picture in 0..<count {
///     for slot in plan.add(picture) { show(slot, between: picture - 1, picture) }
/// }
/// ```
///
/// A value. Allocates the slots that it returns.
public struct RatePlan: Sendable {
    /// What a slot shows.
    public enum Source: Hashable, Sendable {
        /// The picture before the one that was added.
        case earlier
        /// A picture between the two, at a phase of ``FrameInterpolation/synthesise(phase:into:until:)``.
        case between(Rational)
        /// The picture that was added.
        case later
    }

    public struct Slot: Hashable, Sendable {
        /// Counts from 0, where the first picture is.
        public var number: Int64
        public var source: Source
    }

    public let rate: Rational
    /// The length of a slot, and of the pictures' time unit, in positions.
    private let slotLength: Int64
    private let unit: Int64
    /// The longest pair, in positions.
    private let longestPair: Int64
    /// Where the first picture and the newest one are, in positions.
    private var first: Int64?
    private var newest: Int64 = 0
    /// The next slot.
    private var next: Int64 = 0

    /// For pictures at a constant rate. Their times are their numbers.
    public init(from source: Rational, to rate: Rational) {
        self.init(timeBase: Rational(source.denominator, source.numerator), to: rate)
    }

    /// - Parameters:
    ///   - timeBase: the unit of the pictures' times, in seconds.
    ///   - longestPair: in seconds.
    /// - Precondition: both are positive, and their terms small enough for the product of the rate's numerator and the last time to
    ///   fit into 62 bits.
    public init(timeBase: Rational, to rate: Rational, longestPair: Double = 0.25) {
        precondition(timeBase.numerator > 0 && rate.numerator > 0, "a rate and a unit of time are positive")
        let common = Rational(rate.denominator * timeBase.denominator, timeBase.numerator * rate.numerator)
        self.rate = rate
        (slotLength, unit) = (common.numerator, common.denominator)
        self.longestPair = Int64(longestPair * rate.value * Double(slotLength))
    }

    /// Adds the next picture.
    /// - Parameters:
    ///   - time: later than that of the one before.
    ///   - held: until when the picture before is known to have been shown without motion; nil where motion begins with it.
    /// - Returns: the slots that are known now, in order.
    public mutating func add(_ time: Int64, heldUntil held: Int64? = nil) -> [Slot] {
        guard let first else {
            self.first = time * unit
            newest = 0
            next = 1
            return [Slot(number: 0, source: .later)]
        }
        var slots = hold(until: held)
        let place = time * unit - first
        let pair = place - newest
        guard pair > 0 else { return slots }
        let snap = snap(forPair: pair)
        while next * slotLength < place - snap {
            let offset = next * slotLength - newest
            let isOriginal = offset <= slotLength / 16 || pair > longestPair
            slots.append(Slot(number: next, source: isOriginal ? .earlier : .between(Rational(offset, pair))))
            next += 1
        }
        if next * slotLength <= place + snap {
            slots.append(Slot(number: next, source: .later))
            next += 1
        }
        newest = place
        return slots
    }

    /// Shows the newest picture until a time.
    /// - Parameters:
    ///   - time: nil does nothing.
    ///   - isExcluded: leave out a slot at that very time.
    /// - Returns: the slots that this fills; each shows the ``Source/earlier`` picture.
    public mutating func hold(until time: Int64?, isExcluded: Bool = false) -> [Slot] {
        guard let time, let first, time * unit - first > newest else { return [] }
        newest = time * unit - first
        var slots: [Slot] = []
        while next * slotLength < newest + (isExcluded ? 0 : 1) {
            slots.append(Slot(number: next, source: .earlier))
            next += 1
        }
        return slots
    }

    /// Adds the next picture behind a gap that stays: the nearest slot shows it, and none before that anything.
    /// - Parameter time: later than that of the picture before.
    public mutating func resume(at time: Int64) -> [Slot] {
        guard let first else { return add(time) }
        newest = max(newest, time * unit - first)
        next = max(next, (2 * newest + slotLength) / (2 * slotLength)) + 1
        return [Slot(number: next - 1, source: .later)]
    }

    /// The length of a position in seconds: times and slots are whole numbers of it.
    public var positionUnit: Rational { Rational(rate.denominator, rate.numerator * slotLength) }
    /// The position of a time.
    public func position(of time: Int64) -> Int64 { time * unit }
    /// The slot that is nearest to a time, where slot 0 is at time 0.
    public func slot(of time: Int64) -> Int64 { Int64((Double(time * unit) / Double(slotLength)).rounded()) }
    /// The length of some slots, in positions.
    public func length(of slots: Int64) -> Int64 { slots * slotLength }

    /// From how far a picture is taken for a slot.
    private func snap(forPair pair: Int64) -> Int64 {
        let exact = slotLength / 16
        return abs(pair - slotLength) <= slotLength / 32 ? max(pair / 2, exact) : exact
    }
}
