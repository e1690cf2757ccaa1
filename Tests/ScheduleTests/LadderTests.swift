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
        for wait in [2.0, 4, 8] {
            _ = fall(2, isUrgent: true)
            let time = climb(2)
            #expect(time > wait - 0.1 && time < wait + 0.4, "\(time)")
        }
        _ = fall(2, isUrgent: true)
        #expect(climb(1) < 0.4)
        _ = fall(1, isUrgent: true)
        let time = climb(1)
        #expect(time > 1.9 && time < 2.4, "\(time)")
    }

    /// The stream leaves a rung without enough time after three frames, and a rung that brings less after twelve.
    @Test mutating func aRungThatOnlyBringsLessIsLeftLater() {
        _ = climb(1)
        #expect(fall(1, isUrgent: true) == 3)
        _ = climb(1)
        #expect(fall(1, isUrgent: false) == 12)
    }
}
