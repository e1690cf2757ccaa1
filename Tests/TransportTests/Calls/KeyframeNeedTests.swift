import Media
import Testing

@testable import Transport

/// When a call's sender is asked for a keyframe, in virtual time.
struct KeyframeNeedTests {
    private func at(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

    /// When requests leave, in milliseconds, looked at every 10 ms.
    private func requests(
        of need: inout KeyframeNeed, upTo end: Int64, from start: Int64 = 0,
        _ change: (inout KeyframeNeed, Int64) -> Void = { _, _ in }
    ) -> [Int64] {
        var times: [Int64] = []
        for now in stride(from: start, through: end, by: 10) {
            change(&need, now)
            if need.claim(at: at(now)) { times.append(now) }
        }
        return times
    }

    @Test func aWishIsAskedAtOnceAndAgainUntilAKeyframeHasCome() {
        var need = KeyframeNeed()
        let idle = requests(of: &need, upTo: 100)
        need.want(true)
        let asked = requests(of: &need, upTo: 900, from: 200) { need, now in if now == 720 { need.want(false) } }
        #expect(idle.isEmpty && asked == [200, 450, 700] && need.due == nil)
    }

    /// A receiver that wants one after every keyframe gets two a second.
    @Test func wishesAfterOneAnotherAreAskedTwiceASecond() {
        var need = KeyframeNeed()
        let asked = requests(of: &need, upTo: 2_000) { need, now in
            need.want(false)
            need.want(true)
            _ = now
        }
        #expect(asked == [0, 500, 1_000, 1_500, 2_000])
    }

    /// One request serves a loss and a wish. What ends one of them leaves the other.
    @Test func aLossAndAWishAreOneRequest() {
        var need = KeyframeNeed()
        need.renew()
        need.want(true)
        let both = requests(of: &need, upTo: 240)
        need.set(false)
        #expect(both == [0] && need.isWanted && need.due == at(250))
        let wish = requests(of: &need, upTo: 300, from: 250)
        // A loss is more urgent than a wish.
        need.want(false)
        need.want(true)
        #expect(wish == [250] && need.due == at(750))
        need.renew()
        #expect(need.due == at(350))
        need.want(false)
        #expect(need.isNeeded && need.due == at(350))
    }
}
