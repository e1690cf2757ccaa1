import Media
import Testing
@testable import Schedule

@Suite struct LadderTests {
    static let frame = Nanoseconds.milliseconds(33.3)
    var ladder = Ladder(ceiling: .neuralS, synthesises: true, dwell: .milliseconds(250.0))
    var now = MonotonicTime(nanoseconds: 1_000_000_000)

    func pace(_ slowdown: Double) -> CostModel.Pace {
        CostModel.Pace(decode: slowdown, base: slowdown, encode: slowdown, cores: 2)
    }

    /// Climbs to the top without an obstacle. Returns how long that takes, in seconds.
    mutating func climb(_ slowdown: Double) -> Double {
        let start = now
        while ladder.position > 0 {
            now = now + Self.frame
            ladder.update(now: now, best: ladder.position, isUrgent: false, canClimb: true, pace: pace(slowdown))
        }
        return (now - start).seconds
    }

    private mutating func add(best: Int, isUrgent: Bool) {
        now = now + Self.frame
        ladder.update(now: now, best: best, isUrgent: isUrgent, canClimb: false, pace: pace(1))
    }

    /// Every frame prefers the rung below. Returns how many frames it takes until the stream falls.
    mutating func fall(_ slowdown: Double, isUrgent: Bool) -> Int {
        let position = ladder.position
        var frames = 0
        while ladder.position == position, frames < 100 {
            now = now + Self.frame
            frames += 1
            ladder.update(now: now, best: position + 1, isUrgent: isUrgent, canClimb: false, pace: pace(slowdown))
        }
        return frames
    }

    @Test mutating func whatFailedOnASlowerMachineIsForgotten() {
        _ = climb(2)
        for wait in [1.0, 2, 4, 8] {
            _ = fall(2, isUrgent: true)
            let time = climb(2)
            #expect(time > wait - 0.1 && time < wait + 0.4, "\(time)")
        }
        _ = fall(2, isUrgent: true)
        #expect(climb(1) < 0.4)
        _ = fall(1, isUrgent: true)
        let time = climb(1)
        #expect(time > 0.9 && time < 1.4, "\(time)")
    }

    /// A change of the settings leaves the stream where it is, as far as there still is such a rung.
    @Test(arguments: [
        (Tier.neuralM, true, Rung(tier: .neuralM, synthesises: true, decodesAll: true)),
        (.neuralM, false, Rung(tier: .neuralM, synthesises: false, decodesAll: true)),
        (.neuralS, true, Rung(tier: .neuralS, synthesises: true, decodesAll: true)),
        (.base, false, Rung(tier: .base, synthesises: false, decodesAll: true)),
    ])
    func otherSettingsKeepTheRung(ceiling: Tier, synthesises: Bool, expected: Rung) {
        for before in [true, false] {
            var tests = LadderTests()
            tests.ladder = Ladder(ceiling: .neuralM, synthesises: before, dwell: .zero)
            _ = tests.climb(1)
            tests.ladder.change(ceiling: ceiling, synthesises: synthesises)
            #expect(tests.ladder.rung == expected)
            // The way down and up again is whole.
            _ = tests.fall(1, isUrgent: true)
            #expect(tests.ladder.position > 0 || tests.ladder.count == 2)
            _ = tests.climb(2)
            #expect(tests.ladder[0] == Rung(tier: ceiling, synthesises: synthesises, decodesAll: true))
        }
    }

    @Test func aStreamThatDoesNotKeepUpStaysOnTheRungThatIsLeft() {
        var ladder = Ladder(ceiling: .neuralS, synthesises: true, dwell: .zero)
        // It begins on `base` without synthesis, which was not the setting's choice.
        ladder.change(ceiling: .neuralM, synthesises: true)
        #expect(ladder.rung == Rung(tier: .base, synthesises: false, decodesAll: true))
        for _ in 0..<4 {
            ladder.update(
                now: MonotonicTime(nanoseconds: 0), best: ladder.count - 1, isUrgent: true, canClimb: false, pace: pace(1))
        }
        ladder.change(ceiling: .base, synthesises: false)
        #expect(!ladder.rung.decodesAll)
    }

    /// Frames in trouble get no optional work. So a rung with such work may be left later than one where originals are at stake.
    @Test mutating func aRungWithoutOptionalWorkIsLeftSooner() {
        _ = climb(1)
        #expect(ladder.position == 0)
        for (rung, frames) in [(0, 16), (1, 16), (2, 3)] {
            #expect(ladder.position == rung && fall(1, isUrgent: true) == frames)
        }
        _ = climb(1)
        #expect(fall(1, isUrgent: false) == 16)
    }

    /// Frames that only prefer a lower rung, or come in time, are no strain. Four good frames make up for one in trouble.
    @Test mutating func strainIsOfTroubleAndPasses() {
        _ = climb(1)
        add(best: 1, isUrgent: false)
        #expect(!ladder.isStrained)
        for _ in 0..<2 { add(best: 1, isUrgent: true) }
        for _ in 0..<4 {
            #expect(ladder.isStrained)
            add(best: 0, isUrgent: false)
        }
        #expect(ladder.isStrained)
        add(best: 0, isUrgent: false)
        #expect(!ladder.isStrained && ladder.position == 0)
    }
}
