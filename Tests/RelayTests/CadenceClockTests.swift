import Media
import Testing
@testable import Relay

@Suite struct CadenceClockTests {
    /// Frames that take a varying time leave with stamps as even as the source made them.
    @Test func stampsAreEvenAlthoughFramesTakeVaryingTimes() {
        var random = SplitMix64(seed: 3)
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
        var random = SplitMix64(seed: 4)
        var clock = CadenceClock()
        for n in 0..<5_000 {
            let source = MonotonicTime(nanoseconds: Int64(n) * 16_666_667)
            let taken = Nanoseconds.microseconds(Int64.random(in: 5_000...15_000, using: &random))
            _ = clock.stamp(source: source, now: source + taken)
        }
        let delay = try #require(clock.delay)
        #expect(delay > .milliseconds(14) && delay <= .milliseconds(15.5))
    }

    /// One frame in a hundred is late by an interval, since the end of its unit showed only with the next: wherever those
    /// fall, the others do not wait for them.
    @Test(arguments: 0..<20, [false, true]) func rareLateFramesPutNoOthersOff(seed: Int, isDoubled: Bool) throws {
        var random = SplitMix64(seed: UInt64(seed))
        var isLate = false
        var clock = CadenceClock()
        for n in 0..<3_000 {
            let source = MonotonicTime(nanoseconds: Int64(n) * 33_333_333)
            // With a frame synthesised beside each original both are late.
            if n % 2 == 0 || !isDoubled { isLate = random.unit() < 0.01 }
            let taken = Double.random(in: 5...8, using: &random) + (isLate ? 33 : 0)
            _ = clock.stamp(source: source, now: source + .milliseconds(taken), isLateUnit: isLate)
            if n >= 100 { #expect(try #require(clock.delay) <= .milliseconds(9), "frame \(n)") }
        }
    }

    /// However far behind the source frames are sent, as with a long recovery window that is waited for in full.
    @Test(arguments: [500, 600, 3_000, 66_000]) func anyDelayIsFollowed(milliseconds: Double) throws {
        var random = SplitMix64(seed: 6)
        var clock = CadenceClock()
        var late = 0
        var stamps: [MonotonicTime] = []
        for n in 0..<2_000 {
            let source = MonotonicTime(nanoseconds: Int64(n) * 33_333_333)
            let taken = Nanoseconds.microseconds(Int64.random(in: 0...6_000, using: &random))
            let now = source + .milliseconds(milliseconds) + taken
            let stamp = clock.stamp(source: source, now: now)
            stamps.append(stamp)
            guard n >= 300 else { continue }
            if stamp < now { late += 1 }
            #expect(now - stamp < .milliseconds(1) && stamp - now < .milliseconds(7))
            // Paced frames wait for their turn.
            if stamp > now { #expect(CadenceClock.turn(stamp, deadline: nil, now: now) == stamp) }
        }
        #expect(late < 1_700 / 20)
        let delay = try #require(clock.delay)
        #expect(delay > .milliseconds(milliseconds + 5) && delay <= .milliseconds(milliseconds + 6.5))
        let steps = zip(stamps.dropFirst(), stamps).map { $0 - $1 }.dropFirst(300)
        #expect(steps.allSatisfy { abs($0.count - 33_333_333) < 1_000_000 })
    }

    /// Where most units are late they are no exceptions.
    @Test func aStreamOfLateUnitsIsFollowed() throws {
        var clock = CadenceClock()
        for n in 0..<400 {
            let source = MonotonicTime(nanoseconds: Int64(n) * 33_333_333)
            _ = clock.stamp(source: source, now: source + .milliseconds(40), isLateUnit: n % 20 != 0)
        }
        #expect(try #require(clock.delay) >= .milliseconds(40))
    }

    /// No more of the remembered frames than their share exceed the delay, whatever they take.
    @Test(arguments: 0..<10) func theShareIsKept(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        var clock = CadenceClock()
        var taken: [Int64] = []
        for n in 0..<600 {
            let source = MonotonicTime(nanoseconds: Int64(n) * 33_333_333)
            let time = Int64.random(in: 0...40, using: &random) * Int64.random(in: 1...40, using: &random) * 1_000_000
            _ = clock.stamp(source: source, now: source + Nanoseconds(time))
            taken.append(time)
            if n == 59 { taken = [] }
            guard !taken.isEmpty else { continue }
            let recent = taken.suffix(200).sorted()
            let share = min(98, 50 + recent.count / 2)
            let wanted = recent[(recent.count * share + 99) / 100 - 1]
            // It falls slowly.
            #expect(try #require(clock.delay).count > wanted)
        }
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

    /// Frames that are encoded one after the other, and each leaves at its turn: in virtual time, with a synthesised
    /// frame before every original, which both are ready at the same time.
    @Test func pacedFramesLeaveEvenlyAndNeverAfterTheirDeadline() {
        var random = SplitMix64(seed: 5)
        var clock = CadenceClock()
        let interval = Nanoseconds(33_333_333)
        var free = MonotonicTime(nanoseconds: 0)
        var turns: [MonotonicTime] = []
        for n in 0..<10_000 {
            let original = MonotonicTime(nanoseconds: Int64(n + 1) * interval.count)
            let ready = original + .microseconds(Int64.random(in: 8_000...14_000, using: &random))
            for source in [original - interval / 2, original] {
                let encoded = max(free, ready) + .microseconds(Int64.random(in: 2_000...5_000, using: &random))
                let deadline = original + .milliseconds(80)
                let turn = CadenceClock.turn(
                    clock.stamp(source: source, now: encoded), deadline: deadline, now: encoded)
                #expect(turn >= encoded && turn <= deadline)
                turns.append(turn)
                free = turn + .microseconds(200)
            }
        }
        let steps = zip(turns.dropFirst(), turns).map { $0 - $1 }.dropFirst(400)
        let uneven = steps.count { abs($0.count - interval.count / 2) > 1_000_000 }
        // The cadence leaves one frame in fifty room to be late.
        #expect(uneven * 25 < steps.count, "\(uneven) of \(steps.count)")
        // No drift: the last frames are as long after their source times as the early ones.
        let delays = turns.enumerated().map { n, turn in turn.nanoseconds - Int64(n + 1) * interval.count / 2 }
        #expect(abs(delays.suffix(400).max()! - delays[400..<800].max()!) < 2_000_000)
    }

    @Test func aTurnIsBoundedByTheDeadlineAndThePresent() {
        func at(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }
        #expect(CadenceClock.turn(at(50), deadline: at(80), now: at(40)) == at(50))
        #expect(CadenceClock.turn(at(90), deadline: at(80), now: at(40)) == at(80))
        #expect(CadenceClock.turn(at(90), deadline: at(80), now: at(85)) == at(85))
        #expect(CadenceClock.turn(at(30), deadline: at(80), now: at(40)) == at(40))
        #expect(CadenceClock.turn(at(50), deadline: nil, now: at(40)) == at(50))
    }
}

@Suite struct RateWatchTests {
    private func watch(_ intervals: [Double]) -> RateWatch {
        var watch = RateWatch()
        for interval in intervals { watch.observe(.milliseconds(interval)) }
        return watch
    }

    @Test func aSteadyRateIsLearnt() {
        #expect(watch(Array(repeating: 16.7, count: 20)).rate == Rational(60))
        #expect(watch(Array(repeating: 66.7, count: 20)).contradicts(Rational(30)))
        #expect(!watch(Array(repeating: 33.4, count: 20)).contradicts(Rational(30000, 1001)))
        #expect(!watch(Array(repeating: 33.4, count: 20)).contradicts(Rational(30)))
    }

    /// A few steps, steps that do not agree, and gaps are no rate.
    @Test func anUnsteadyOneIsNot() {
        #expect(watch(Array(repeating: 16.7, count: 5)).rate == nil)
        #expect(watch((0..<100).map { $0 % 2 == 0 ? 16.7 : 33.3 }).rate == nil)
        #expect(watch(Array(repeating: 16.7, count: 20) + [200]).rate == nil)
        #expect(watch(Array(repeating: 0, count: 20)).rate == nil)
    }
}
