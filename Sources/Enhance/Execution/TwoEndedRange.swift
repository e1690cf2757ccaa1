import Synchronization

/// Numbers that threads claim from a range's two ends until none is left. Any thread may call ``claimFirst(most:)`` and
/// ``claimLast(most:)`` at any time.
struct TwoEndedRange: ~Copyable {
    /// The lower 32 bits are the first number, the upper 32 bits the one after the last.
    private let range = Atomic<UInt64>(0)

    func fill(_ numbers: Range<Int>) {
        range.store(UInt64(numbers.upperBound) << 32 | UInt64(numbers.lowerBound), ordering: .relaxed)
    }

    /// How many numbers are left. There may be fewer by the time that the caller reads the answer.
    var count: Int {
        let seen = range.load(ordering: .relaxed)
        return Int(seen >> 32) - Int(seen & 0xffff_ffff)
    }

    /// - Returns: nil when nothing is left.
    func claimFirst(most: Int = 1) -> Range<Int>? {
        claim { first, end in
            let split = min(first + UInt64(most), end)
            return (first..<split, split..<end)
        }
    }

    /// - Returns: nil when nothing is left.
    func claimLast(most: Int = 1) -> Range<Int>? {
        claim { first, end in
            let split = max(first, end - min(end, UInt64(most)))
            return (split..<end, first..<split)
        }
    }

    @inline(__always)
    private func claim(
        _ split: (_ first: UInt64, _ end: UInt64) -> (claimed: Range<UInt64>, rest: Range<UInt64>)
    ) -> Range<Int>? {
        var seen = range.load(ordering: .relaxed)
        while true {
            let (first, end) = (seen & 0xffff_ffff, seen >> 32)
            guard first < end else { return nil }
            let (claimed, rest) = split(first, end)
            let (isClaimed, latest) = range.compareExchange(
                expected: seen, desired: rest.upperBound << 32 | rest.lowerBound, ordering: .relaxed)
            if isClaimed { return Int(claimed.lowerBound)..<Int(claimed.upperBound) }
            seen = latest
        }
    }
}
