import Media

/// A histogram of durations in log-linear buckets (the layout of HdrHistogram): whole microseconds up to 16 µs, then sixteen
/// buckets for each power of two up to 71 minutes. So a quantile is exact to about 3 %. Recording costs a shift and three
/// additions, and never allocates. Negative values count as zero.
///
/// Not thread-safe: it has one writer, and readers get a copy.
public struct Histogram: Sendable {
    private static let perPower = 16
    static let bucketCount = perPower * 29

    private var buckets = [UInt64](repeating: 0, count: bucketCount)
    public private(set) var count: UInt64 = 0
    public private(set) var sum = Nanoseconds.zero
    public private(set) var largest = Nanoseconds.zero

    public init() {}

    /// A histogram that was kept elsewhere. Its count is the sum of its buckets.
    init(buckets: [UInt64], sum: Nanoseconds, largest: Nanoseconds) {
        precondition(buckets.count == Self.bucketCount)
        self.buckets = buckets
        self.sum = sum
        self.largest = largest
        count = buckets.reduce(0, +)
    }

    /// Longer values count as this: 13 days.
    private static let longest = Nanoseconds(1 << 50)

    public mutating func record(_ value: Nanoseconds) {
        // Values may come from a process that is not trusted; the sum of all that fit a map's ring must not overflow.
        let value = min(max(value, .zero), Self.longest)
        buckets[Self.bucket(of: value)] += 1
        count += 1
        sum = sum + value
        largest = max(largest, value)
    }

    /// The value that the given share (0...1) of the recorded values does not exceed. Zero when nothing was recorded.
    public func quantile(_ share: Double) -> Nanoseconds {
        let rank = max(1, UInt64((share * Double(count)).rounded(.up)))
        if rank >= count { return largest }
        var seen: UInt64 = 0
        for (index, n) in buckets.enumerated() {
            seen += n
            if seen >= rank { return min(largest, Self.middle(ofBucket: index)) }
        }
        return largest
    }

    /// How many of the recorded values do not exceed each bound. The bounds ascend. All values of a bucket count as its middle,
    /// as in ``quantile(_:)``.
    public func counts(upTo bounds: [Nanoseconds]) -> [UInt64] {
        var index = 0
        var seen: UInt64 = 0
        return bounds.map { bound in
            while index < buckets.count, Self.middle(ofBucket: index) <= bound {
                seen += buckets[index]
                index += 1
            }
            return seen
        }
    }

    /// Becomes like another one, in memory of its own: nothing of it is shared, so that its writer never has to copy.
    public mutating func copy(_ other: borrowing Histogram) {
        for index in buckets.indices { buckets[index] = other.buckets[index] }
        (count, sum, largest) = (other.count, other.sum, other.largest)
    }

    /// What was recorded since a former state of the same histogram (``become(_:since:)``). Allocates.
    public func since(_ former: Histogram) -> Histogram {
        var recent = Histogram()
        recent.become(self, since: former)
        return recent
    }

    /// Becomes what a histogram has recorded since a former state of it, in memory of its own. The largest value is known as exactly
    /// as a bucket is wide.
    public mutating func become(_ newer: borrowing Histogram, since former: borrowing Histogram) {
        (count, largest) = (0, .zero)
        for index in buckets.indices {
            let (new, old) = (newer.buckets[index], former.buckets[index])
            buckets[index] = new > old ? new - old : 0
            count += buckets[index]
            if new > old { largest = Self.middle(ofBucket: index) }
        }
        sum = newer.sum > former.sum ? newer.sum - former.sum : .zero
        if newer.largest > former.largest { largest = newer.largest }
    }

    public var mean: Nanoseconds { count == 0 ? .zero : Nanoseconds(sum.count / Int64(count)) }

    /// The bucket of a value that is not negative.
    @inline(__always) static func bucket(of value: Nanoseconds) -> Int { bucket(ofMicroseconds: UInt64(value.count) / 1_000) }

    static func bucket(ofMicroseconds value: UInt64) -> Int {
        if value < UInt64(perPower) { return Int(value) }
        let shift = 59 - value.leadingZeroBitCount  // brings the value's top five bits down
        return min(shift * perPower + Int(value >> UInt64(shift)), bucketCount - 1)
    }

    static func middle(ofBucket index: Int) -> Nanoseconds {
        if index < perPower { return Nanoseconds(Int64(index) * 1_000 + 500) }
        let shift = Int64(index / perPower - 1)
        let low = Int64(index % perPower + perPower) << shift
        return Nanoseconds(low * 1_000 + (500 << shift))
    }
}
