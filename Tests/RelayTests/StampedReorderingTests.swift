import Media
import Testing
@testable import Relay

/// How many pictures are held back, as time stamps tell it.
@Suite struct StampedReorderingTests {
    /// - Parameter stamps: presentation and decoding in intervals of 3,000 ticks.
    private func depths(_ stamps: [(Int64, Int64)], interval: Int64? = 3_000) -> [Int] {
        var reordering = StampedReordering()
        return stamps.enumerated().map { index, stamp in
            reordering.observe(
                MediaTime(ticks: stamp.0 * 3_000), decode: MediaTime(ticks: stamp.1 * 3_000), isKeyframe: index == 0,
                interval: index == 0 ? nil : interval)
            return reordering.depth
        }
    }

    @Test func theFirstKeyframeTellsIt() {
        // I P B b b: the keyframe is shown two intervals after its decoding. It is shown at once, what follows waits.
        #expect(depths([(2, 0), (6, 1), (4, 2), (3, 3), (5, 4)]) == [0, 2, 2, 2, 2])
        #expect(depths([(1, 0), (3, 1), (2, 2), (5, 3), (4, 4)]) == [0, 1, 1, 1, 1])
        // The first B pictures come late.
        #expect(depths([(2, 0), (3, 1), (4, 2), (8, 3), (6, 4)]) == [0, 0, 0, 2, 2])
    }

    @Test func aConstantDistanceHoldsNothingBack() {
        #expect(depths([(5, 0), (6, 1), (7, 2), (8, 3)]) == [0, 0, 0, 0])
        // Pictures that the sender left out.
        #expect(depths([(5, 0), (6, 1), (9, 4), (10, 5)]) == [0, 0, 0, 0])
    }

    @Test func whatIsNotKnownHoldsNothingBack() {
        #expect(depths([(0, 0), (4, 1), (2, 2)]) == [0, 0, 0])
        #expect(depths([(2, 0), (6, 1)], interval: nil) == [0, 0])
        #expect(depths([(40, 0), (44, 1)]) == [0, 0])
    }
}
