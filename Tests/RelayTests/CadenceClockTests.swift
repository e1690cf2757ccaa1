import Media
import Testing
@testable import Relay

@Suite struct CadenceClockTests {
    /// Frames that take a varying time leave with stamps as even as the source made them.
    @Test func stampsAreEvenAlthoughFramesTakeVaryingTimes() {
        var random = SeededGenerator(seed: 3)
        var clock = CadenceClock()
        var stamps: [Int64] = []
        for n in 0..<2_000 {
            let source = MonotonicTime(nanoseconds: Int64(n) * 33_333_333)
            let taken = Nanoseconds.microseconds(Int64.random(in: 8_000...14_000, using: &random))
            stamps.append(clock.stamp(source: source, now: source + taken).nanoseconds)
        }
        let steps = zip(stamps.dropFirst(), stamps).map { $0 - $1 }.dropFirst(200)
        #expect(steps.allSatisfy { abs($0 - 33_333_333) < 1_000_000 })
    }

    @Test func theDelayFollowsAHighQuantile() throws {
        var random = SeededGenerator(seed: 4)
        var clock = CadenceClock()
        for n in 0..<5_000 {
            let source = MonotonicTime(nanoseconds: Int64(n) * 16_666_667)
            let taken = Nanoseconds.microseconds(Int64.random(in: 5_000...15_000, using: &random))
            _ = clock.stamp(source: source, now: source + taken)
        }
        let delay = try #require(clock.delay)
        #expect(delay > .milliseconds(14) && delay <= .milliseconds(15.5))
    }

    /// One frame in eight waits for a packet to be sent again: the cadence keeps room for it.
    @Test func framesThatWereRecoveredKeepTheCadence() {
        var clock = CadenceClock()
        var late = 0
        for n in 0..<3_000 {
            let source = MonotonicTime(nanoseconds: Int64(n) * 33_333_333)
            let now = source + .milliseconds(n % 8 == 0 ? 90 : 10)
            if clock.stamp(source: source, now: now) < now, n >= 300 { late += 1 }
        }
        #expect(late == 0)
    }

    /// What the first frames took says nothing of those after them.
    @Test func aSlowStartIsForgotten() throws {
        var clock = CadenceClock()
        for n in 0..<300 {
            let source = MonotonicTime(nanoseconds: Int64(n) * 33_333_333)
            _ = clock.stamp(source: source, now: source + .milliseconds(n < 20 ? 150 : 10))
        }
        #expect(try #require(clock.delay) < .milliseconds(30))
    }

    @Test func stampsNeverGoBack() {
        var clock = CadenceClock()
        let first = clock.stamp(source: MonotonicTime(nanoseconds: 100), now: MonotonicTime(nanoseconds: 200))
        let second = clock.stamp(source: MonotonicTime(nanoseconds: 10), now: MonotonicTime(nanoseconds: 210))
        #expect(second >= first)
    }
}
