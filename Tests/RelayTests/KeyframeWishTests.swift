import Media
import Testing
@testable import Relay

/// When a decoder that finds damage asks for a keyframe, in virtual time.
struct KeyframeWishTests {
    private func at(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

    @Test func damageAsksAtOnceUntilAKeyframeHasCome() {
        var wish = KeyframeWish()
        wish.keyframeCame(10, at: at(0))
        var asks = [wish.isDue(for: nil, isAsked: false, at: at(0))]
        // What the keyframe has repaired asks for nothing, however late it is found.
        asks.append(wish.isDue(for: 9, isAsked: false, at: at(10)))
        asks.append(wish.isDue(for: 12, isAsked: false, at: at(20)))
        asks.append(wish.isDue(for: 12, isAsked: false, at: at(200)))
        wish.keyframeCame(16, at: at(300))
        asks.append(wish.isDue(for: 15, isAsked: false, at: at(310)))
        #expect(asks == [false, false, true, true, false])
    }

    /// The sender is asked for the same keyframe already.
    @Test func damageByMissingPacketsAsksNoSecondTime() {
        var wish = KeyframeWish()
        wish.keyframeCame(0, at: at(0))
        var asks = [wish.isDue(for: 3, isAsked: true, at: at(10)), wish.isDue(for: 4, isAsked: true, at: at(20))]
        wish.keyframeCame(6, at: at(30))
        asks.append(wish.isDue(for: 5, isAsked: false, at: at(40)))
        // It does not count as damage in a row either.
        asks.append(wish.isDue(for: 7, isAsked: false, at: at(50)))
        #expect(asks == [false, false, false, true])
    }

    /// A stream that is damaged whatever comes gets a keyframe after 0, 2, 4, 8, 16 and 16 seconds, not twice a second for ever.
    @Test func aStreamThatNothingRepairsAsksLessAndLess() {
        var wish = KeyframeWish()
        var asked: [Int64] = []
        for milliseconds in stride(from: Int64(0), to: 60_000, by: 100) {
            let frame = UInt64(milliseconds / 100)
            guard wish.isDue(for: frame, isAsked: false, at: at(milliseconds)) else { continue }
            asked.append(milliseconds)
            wish.keyframeCame(frame + 1, at: at(milliseconds))
        }
        #expect(asked == [0, 2_100, 6_200, 14_300, 30_400, 46_500])
    }
}
