import Media
import Testing
@testable import Packets

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
        need.want(every: .milliseconds(250))
        let asked = requests(of: &need, upTo: 900, from: 200) { need, now in if now == 720 { need.want(every: nil) } }
        #expect(idle.isEmpty && asked == [200, 450, 700] && need.due == nil)
    }

    /// Who can wait says so, and who cannot is not held up by them.
    @Test func aWishThatIsNotUrgentIsAskedOnceASecond() {
        var need = KeyframeNeed()
        let asked = requests(of: &need, upTo: 2_900) { need, now in
            need.want(every: now < 2_300 ? .seconds(1) : .milliseconds(250))
        }
        #expect(asked == [0, 1_000, 2_000, 2_300, 2_550, 2_800])
    }

    /// A receiver that wants one after every keyframe gets two a second.
    @Test func wishesAfterOneAnotherAreAskedTwiceASecond() {
        var need = KeyframeNeed()
        let asked = requests(of: &need, upTo: 2_000) { need, now in
            need.want(every: nil)
            need.want(every: .milliseconds(250))
            _ = now
        }
        #expect(asked == [0, 500, 1_000, 1_500, 2_000])
    }

    /// One request serves a loss and a wish. What ends one of them leaves the other.
    @Test func aLossAndAWishAreOneRequest() {
        var need = KeyframeNeed()
        need.renew()
        need.want(every: .milliseconds(250))
        let both = requests(of: &need, upTo: 240)
        need.set(false)
        #expect(both == [0] && need.wish != nil && need.due == at(250))
        let wish = requests(of: &need, upTo: 300, from: 250)
        // A loss is more urgent than a wish.
        need.want(every: nil)
        need.want(every: .milliseconds(250))
        #expect(wish == [250] && need.due == at(750))
        need.renew()
        #expect(need.due == at(350))
        need.want(every: nil)
        #expect(need.isNeeded && need.due == at(350))
    }
}
