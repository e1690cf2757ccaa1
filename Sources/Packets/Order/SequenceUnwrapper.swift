/// Turns packet numbers of so many bits, which wrap, into a count that does not: SRT has 31, RTP 16. Numbers may come out
/// of order by less than half of the circle.
package struct SequenceUnwrapper: Sendable {
    private let circle: Int64
    private var last: Int64?

    package init(bits: Int) { circle = 1 << Int64(bits) }

    /// How far a number lies from the highest so far, the shorter way round; zero before the first.
    func step(to number: Int64) -> Int64 {
        guard let last else { return 0 }
        let step = (number - last) & (circle - 1)
        return step < circle / 2 ? step : step - circle
    }

    package mutating func unwrap(_ number: Int64) -> Int64 {
        let count = (last ?? number & (circle - 1)) + step(to: number)
        last = max(last ?? count, count)
        return count
    }
}
