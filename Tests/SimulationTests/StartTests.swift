import Media
import Schedule
import Simulation
import Testing

/// Starts on a machine whose speed wanders, quiet ones and ones beside a program that ends after 5 s.
@Suite struct StartTests {
    private static let busyUntil = 5.0
    private static let starts = 20

    /// 640x360 at 30 frames a second to 1280x720 at 60 with `superfast` on two cores with AVX2. The machine takes up to 2.2 times as long for
    /// 0.3 to 3.3 s, as a virtual one does. So `neural-m` has time for a fifth to four fifths of the tiles.
    private func load(seed: Int, isBusy: Bool) -> Load {
        let seconds = 24.0
        var load = Load.usual("start", seconds: seconds)
        load.seed = UInt64(seed)
        load.costs.decode = 0.4e6
        load.costs.base = 0.56e6
        load.costs.tileS = 0.032e6
        load.costs.tileM = 0.15e6
        load.costs.synthesise = 4.8e6
        load.costs.encode = 7.2e6
        load.costs.encodeSynthesised = 7.2e6
        load.activity = 1
        load.encoders = 2
        var random = SplitMix64(seed: load.seed &* 977)
        var at = 0.0
        while at < seconds {
            let end = at + 0.3 + 3 * random.unit() * random.unit()
            let factor = 1 + 1.2 * random.unit() * random.unit()
            load.disturbances.append(Disturbance(.costs(from: factor, to: factor), from: .seconds(at), to: .seconds(end)))
            at = end
        }
        if isBusy { load.disturbances.append(Disturbance(.otherThreads(2), from: .zero, to: .seconds(Self.busyUntil))) }
        return load
    }

    @Test(arguments: [false, true]) func startsEndOnTheSameRung(isBusy: Bool) {
        let outcomes = (1...Self.starts).map { Simulation.run(load(seed: $0, isBusy: isBusy), timeline: true)[0] }
        let ends = outcomes.map { $0.timeline.last { $0.arrival < MonotonicTime(nanoseconds: 20_000_000_000) }!.rung }
        #expect(ends.count { $0 == 0 } * 100 >= Self.starts * 95, "\(ends)")
        #expect(outcomes.reduce(0) { $0 + $1.missed } <= 1, "\(outcomes.map(\.missed))")
        #expect(outcomes.reduce(0) { $0 + $1.rungChanges } <= 8 * Self.starts, "\(outcomes.map(\.rungChanges))")
    }
}
