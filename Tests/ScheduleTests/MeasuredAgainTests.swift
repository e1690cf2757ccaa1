import Media
import Testing
@testable import Schedule

/// What work costs, measured again while pictures pass for want of time.
@Suite struct MeasuredAgainTests {
    /// Asks five times a second while pictures pass.
    /// - Returns: the second of the first change, and the choice then.
    private func wait(
        _ ladder: inout OutputLadder, from start: Int, seconds: Int
    ) -> (second: Double, choice: OutputChoice)? {
        var pictures = OutputLadder.Pictures()
        pictures.areBypassed = true
        for step in start * 5..<(start + seconds) * 5 {
            let now = MonotonicTime(nanoseconds: 0) + OutputLadderTests.period * Int64(step)
            if ladder.update(now: now, pictures, cores: Cores(2)) { return (Double(step) / 5, ladder.choice) }
        }
        return nil
    }

    private func slowlyStarted() -> OutputLadder {
        var ladder = OutputLadderTests().ladder(640, 360, purpose: .refinement, speed: 0.1, refined: true)
        ladder.begin(cores: Cores(2))
        return ladder
    }

    @Test func aSlowStartDoesNotLast() throws {
        var ladder = slowlyStarted()
        #expect(ladder.passesForTime)
        #expect(wait(&ladder, from: 0, seconds: 300) == nil)
        ladder.learn(OutputLadder.Costs())
        let change = try #require(wait(&ladder, from: 300, seconds: 20))
        #expect(change.choice == OutputChoice(size: .double, preset: .superfast))
        #expect(change.second >= 308 && change.second < 309)
        #expect(!ladder.passesForTime)
    }

    @Test func aMachineThatStaysSlowChangesNothing() {
        var ladder = slowlyStarted()
        for turn in 0..<10 {
            var costs = OutputLadder.Costs()
            costs.encode *= 9
            costs.decode *= 9
            ladder.learn(costs)
            #expect(wait(&ladder, from: turn * 30, seconds: 30) == nil)
        }
    }

    /// What real pictures have cost counts for more than synthetic ones, and is forgotten slowly.
    @Test func whatPicturesHaveCostIsNotForgottenAtOnce() throws {
        var ladder = OutputLadderTests().ladder(640, 360, purpose: .refinement, refined: true)
        ladder.begin(cores: Cores(2))
        var costs = OutputLadder.Costs()
        costs.decode *= 10
        costs.base *= 10
        costs.encode *= 10
        var second = 0
        while !ladder.choice.isBypass, second < 60 {
            for step in second * 5..<(second + 1) * 5 {
                let pictures = OutputLadderTests().pictures(ladder.choice, .init(low: costs, mean: costs))
                _ = ladder.update(
                    now: MonotonicTime(nanoseconds: 0) + OutputLadderTests.period * Int64(step), pictures, cores: Cores(2))
            }
            second += 1
        }
        #expect(ladder.passesForTime)
        ladder.learn(OutputLadder.Costs())
        let change = try #require(wait(&ladder, from: second, seconds: 300))
        #expect(change.second - Double(second) > 30)
    }
}
