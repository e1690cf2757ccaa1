import Synchronization

/// Numbers that threads take from a range's two ends until none is left.
struct TwoEndedRange: ~Copyable {
    /// The first number, and above 32 bits the one after the last.
    private let range = Atomic<UInt64>(0)

    func fill(_ numbers: Range<Int>) {
        range.store(UInt64(numbers.upperBound) << 32 | UInt64(numbers.lowerBound), ordering: .relaxed)
    }

    /// How many are left: fewer, by the time that the caller looks at the answer.
    var count: Int {
        let seen = range.load(ordering: .relaxed)
        return Int(seen >> 32) - Int(seen & 0xffff_ffff)
    }

    /// - Returns: nil when nothing is left.
    func takeFirst(most: Int = 1) -> Range<Int>? {
        take { first, end in
            let split = min(first + UInt64(most), end)
            return (first..<split, split..<end)
        }
    }

    /// - Returns: nil when nothing is left.
    func takeLast(most: Int = 1) -> Range<Int>? {
        take { first, end in
            let split = max(first, end - min(end, UInt64(most)))
            return (split..<end, first..<split)
        }
    }

    @inline(__always)
    private func take(
        _ split: (_ first: UInt64, _ end: UInt64) -> (taken: Range<UInt64>, rest: Range<UInt64>)
    ) -> Range<Int>? {
        var seen = range.load(ordering: .relaxed)
        while true {
            let (first, end) = (seen & 0xffff_ffff, seen >> 32)
            guard first < end else { return nil }
            let (taken, rest) = split(first, end)
            let (isTaken, latest) = range.compareExchange(
                expected: seen, desired: rest.upperBound << 32 | rest.lowerBound, ordering: .relaxed)
            if isTaken { return Int(taken.lowerBound)..<Int(taken.upperBound) }
            seen = latest
        }
    }
}
