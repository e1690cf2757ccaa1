import Bitstream
import Media
import Testing

@testable import Relay

/// When reordered pictures are to be decoded whose packets only say when they are shown.
struct DecodingOrderTests {
    /// In the order in which they come, in intervals of 3,000 ticks: what they are shown at, and what they are decoded at.
    private func decoded(_ shown: [Int], reordering: Int?, rate: Rational? = Rational(30, 1)) -> [Int] {
        var order = DecodingOrder()
        order.restart(reordering: reordering)
        return shown.map {
            Int(order.decode(MediaTime(ticks: 900_000 + Int64($0) * 3_000), rate: rate).ticks - 900_000) / 3_000
        }
    }

    @Test func withoutReorderingAPictureIsDecodedWhenItIsShown() {
        #expect(decoded(Array(0..<40), reordering: 0) == Array(0..<40))
        #expect(decoded(Array(0..<40), reordering: nil) == Array(0..<40))
    }

    /// Headers that say how deep the order goes make the first picture right: it waits for those that are shown before others.
    @Test func aDepthThatIsStatedHoldsFromTheFirstPictureOn() {
        let pyramid = [0, 4, 2, 1, 3, 8, 6, 5, 7, 12, 10, 9, 11]
        #expect(decoded(pyramid, reordering: 2) == (0..<13).map { $0 - 2 })
        let flat = [0, 3, 1, 2, 6, 4, 5, 9, 7, 8]
        #expect(decoded(flat, reordering: 1) == (0..<10).map { $0 - 1 })
        // Gaps do not matter.
        let apart = Array(decoded(flat.map { 10 * $0 }, reordering: 1).dropFirst(2))
        #expect(apart == Array(stride(from: 10, to: 90, by: 10)))
    }

    /// No picture is decoded after it is shown, and none before one that comes before it.
    @Test func aDepthThatIsNotStatedIsLearnt() {
        let flat: [Int] = (0..<10).flatMap { (group: Int) -> [Int] in [3 * group + 3, 3 * group + 1, 3 * group + 2] }
        let times = decoded([0] + flat, reordering: nil)
        #expect(zip(times, [0] + flat).allSatisfy { $0 <= $1 })
        #expect(times.suffix(20) == (11..<31).map { $0 - 1 }[...])
    }

    @Test func stampsThatJumpBeginAnew() {
        let times = decoded([0, 1, 2, 3_000, 3_001, 3_002, 10, 11], reordering: 0)
        #expect(times == [0, 1, 2, 3_000, 3_001, 3_002, 10, 11])
    }

    @Test(arguments: [nil, Rational(0, 1), Rational(1, 1_000_000), Rational(25, 1)] as [Rational?])
    func absurdRatesMoveNothingFar(rate: Rational?) {
        let first = decoded([0], reordering: 2, rate: rate)[0]
        #expect(first <= -2 && first >= -12)
    }
}
