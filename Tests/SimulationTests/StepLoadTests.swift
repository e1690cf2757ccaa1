import Media
import Schedule
import Simulation
import Testing

/// Steps on pictures, in virtual time.
@Suite struct StepLoadTests {
    private func outcome(_ steps: [StepKind: Double], scale: Double = 1) -> StreamOutcome {
        var load = Load.usual("steps", seconds: 20)
        for (kind, cost) in steps { load.costs.steps[kind] = cost }
        load.costs.scale(by: scale)
        return Simulation.run(load)[0]
    }

    /// They take the place of tiles. No original is late for them.
    @Test(arguments: [StepKind.deinterlace, .denoise]) func aStepCostsTiles(kind: StepKind) {
        let (with, without) = (outcome([kind: 3e6]), outcome([:]))
        #expect(with.missed == 0 && without.missed == 0 && with.balances)
        let (fewer, more) = (with.tilesByTier.reduce(0, +), without.tilesByTier.reduce(0, +))
        #expect(fewer < more * 9 / 10)
        // Only what must be done is promised.
        let isPromised = with.demand!.least > without.demand!.least + 0.05
        #expect(isPromised == (kind.facts.need == .must))
    }

    /// On a machine that has time for originals alone, a step that may be left out makes none late. One that must be done does.
    @Test func anOptionalStepMakesNoOriginalLate() {
        let plain = outcome([:], scale: 3.5)
        #expect(outcome([.denoise: 8e6], scale: 3.5).missed <= plain.missed + 1)
        #expect(outcome([.deinterlace: 8e6], scale: 3.5).missed > plain.missed + 10)
    }
}
