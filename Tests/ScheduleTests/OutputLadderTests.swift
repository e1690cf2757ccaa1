import Media
import Testing
@testable import Schedule

/// The choice of the output, in virtual time: the observer asks five times a second.
@Suite struct OutputLadderTests {
    private static let period = Nanoseconds.milliseconds(200)

    private func ladder(
        _ width: Int, _ height: Int, scale: Int = 2, preset: EncoderPreset = .superfast, mayShrink: Bool = true
    ) -> OutputLadder {
        let stream = OutputLadder.Stream(input: PictureSize(width: width, height: height), interval: .seconds(1 / 30))
        return OutputLadder(stream, scale: scale, preset: preset, mayShrink: mayShrink, costs: OutputLadder.Costs())
    }

    /// A machine whose speed changes. `slowdown` says by how much costs are multiplied, by the second and the choice.
    private func run(
        _ ladder: inout OutputLadder, seconds: Int, cores: Double = 2, slowdown: (Double, OutputChoice) -> Double
    ) -> [(second: Double, choice: OutputChoice)] {
        var changes: [(second: Double, choice: OutputChoice)] = []
        for step in 0..<(seconds * 5) {
            let second = Double(step) / 5
            let factor = slowdown(second, ladder.choice)
            var costs = OutputLadder.Costs()
            costs.decode *= factor
            costs.base *= factor
            costs.encode *= factor
            let now = MonotonicTime(nanoseconds: 0) + Self.period * Int64(step)
            if ladder.update(
                now: now, observed: ladder.choice.isBypass ? nil : costs, isStruggling: false, cores: cores)
            {
                changes.append((second, ladder.choice))
            }
        }
        return changes
    }

    @Test func whatFitsIsNotChanged() {
        var ladder = ladder(640, 360)
        ladder.begin(cores: 2)
        #expect(ladder.choice == OutputChoice(scale: 2, preset: .superfast))
        #expect(run(&ladder, seconds: 600) { _, _ in 1 }.isEmpty)
    }

    /// A faster preset, then a smaller output, then bypass.
    @Test(
        arguments: [
            (640, 360, OutputChoice(scale: 2, preset: .superfast)), (1280, 720, OutputChoice(scale: 1, preset: .superfast)),
            (1920, 1080, OutputChoice(scale: 1, preset: .ultrafast)),
            (3840, 2160, OutputChoice(scale: 1, preset: .superfast, isBypass: true)),
        ]) func theStartFollowsTheSizeOnTwoCores(width: Int, height: Int, choice: OutputChoice)
    {
        var ladder = ladder(width, height)
        ladder.begin(cores: 2)
        #expect(ladder.choice == choice)
        #expect(run(&ladder, seconds: 600) { _, _ in 1 }.isEmpty, "the choice at the start is held")
    }

    @Test func aLargerMachineChoosesMore() {
        var ladder = ladder(1920, 1080)
        ladder.begin(cores: 16)
        #expect(ladder.choice.isBypass == false)
        #expect(ladder.need(of: ladder.choices[0]).cores > 5)
    }

    @Test func aSizeThatIsKeptChangesThePresetOnly() {
        var ladder = ladder(1920, 1080, preset: .medium, mayShrink: false)
        ladder.begin(cores: 2)
        #expect(ladder.choice == OutputChoice(scale: 2, preset: .ultrafast))
        #expect(run(&ladder, seconds: 60) { _, _ in 3 }.isEmpty)
    }

    /// The machine is four times slower for a minute.
    @Test func aSlowMachineIsFollowedWithinSecondsAndARecoveryWithoutFlicker() {
        var ladder = ladder(640, 360)
        ladder.begin(cores: 2)
        let changes = run(&ladder, seconds: 300) { second, _ in (60..<120).contains(second) ? 6 : 1 }
        let down = changes.filter { $0.second < 120 }
        #expect(down.count == 1 && down[0].second < 62, "\(changes)")
        let up = changes.filter { $0.second >= 120 }
        #expect(zip(up, up.dropFirst()).allSatisfy { $1.second - $0.second >= 20 })
        #expect(ladder.position == 0 && changes.count <= 5, "\(changes)")
    }

    /// The better output looks as if it fitted and does not. Each try waits twice as long as the one before.
    @Test func triesThatFailBecomeRare() {
        var ladder = ladder(640, 360, preset: .ultrafast)
        ladder.begin(cores: 2)
        let changes = run(&ladder, seconds: 3600) { _, choice in choice.scale == 2 ? 8 : 1 }
        #expect(changes.count <= 24, "\(changes.count) in an hour")
    }

    /// Noise around the limit is no reason to change.
    @Test func aShortSlowdownChangesNothing() {
        var ladder = ladder(640, 360)
        ladder.begin(cores: 2)
        #expect(run(&ladder, seconds: 600) { second, _ in second.truncatingRemainder(dividingBy: 10) < 0.9 ? 8 : 1 }.isEmpty)
    }

    @Test func aStreamThatSkipsPicturesFalls() {
        var ladder = ladder(640, 360)
        ladder.begin(cores: 2)
        var changed = false
        for step in 0..<10 {
            let now = MonotonicTime(nanoseconds: 0) + Self.period * Int64(step)
            changed = ladder.update(now: now, observed: nil, isStruggling: true, cores: 2) || changed
        }
        #expect(changed && ladder.position > 0)
    }

    @Test func bypassEndsWhenTheMachineHasRoom() {
        var ladder = ladder(1920, 1080)
        ladder.begin(cores: 0.5)
        #expect(ladder.choice.isBypass)
        let changes = run(&ladder, seconds: 120, cores: 2) { _, _ in 1 }
        #expect(changes.first?.choice.isBypass == false && changes[0].second >= 20)
    }
}
