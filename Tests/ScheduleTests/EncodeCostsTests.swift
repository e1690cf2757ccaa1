import Media
import Testing
@testable import Schedule

/// What encoding takes of each kind of picture, in virtual time.
@Suite struct EncodeCostsTests {
    private static let interval = Nanoseconds.seconds(1 / 24)

    /// Pictures that come at 24 a second, each with what was encoded beside it.
    private func run(
        _ planner: inout Planner, from start: Int = 0, pictures: Int, encoding added: (Int) -> [(EncodeKind, Double)]
    ) {
        for number in start..<(start + pictures) {
            let now = MonotonicTime(nanoseconds: 0) + Self.interval * Int64(number)
            _ = planner.plan(FrameRequest(now: now, emitBy: now + .milliseconds(80), tiles: 0))
            planner.observe(.decode, .milliseconds(4.0))
            planner.observe(.base, .milliseconds(1.0))
            planner.observe(encoding: .came, .milliseconds(20.0))
            for (kind, cost) in added(number) { planner.observe(encoding: kind, .milliseconds(cost)) }
        }
    }

    private func planner() -> Planner {
        let size = PictureSize(width: 1920, height: 1080)
        return Planner(Planner.Configuration(input: size, output: size, interval: Self.interval))
    }

    private let pixels = 1920 * 1080.0

    /// 60 pictures a second of 24, where nothing can be synthesised.
    @Test func aRepeatNeverLowersWhatAPictureThatCameCosts() throws {
        var planner = planner()
        run(&planner, pictures: 240) { Array(repeating: (.repeated, 2), count: 1 + $0 % 2) }
        let observed = try #require(OutputLadder.Observation(planner, .ultrafast))
        for costs in [observed.low, observed.mean] {
            #expect(abs(costs.encode * pixels - 20e6) < 1 && abs(costs.encodeRepeated * pixels - 2e6) < 1)
        }
        #expect(planner.costs[.encode].low == 20e6)
        #expect(abs(observed.added.repeated - 1.5) < 0.05 && observed.added.synthesised == 0, "\(observed.added)")
    }

    @Test func synthesisedPicturesAreCountedApart() throws {
        var planner = planner()
        run(&planner, pictures: 240) { _ in [(.synthesised, 12)] }
        let observed = try #require(OutputLadder.Observation(planner, .quick))
        let weight = EncoderPreset.quick.weight
        #expect(abs(observed.low.encode * pixels * weight - 20e6) < 1)
        #expect(abs(observed.low.encodeSynthesised * pixels * weight - 12e6) < 1)
        #expect(abs(observed.added.synthesised - 1) < 0.05 && observed.added.repeated == 0)
        // They are repeated from now on. Within a second that is known.
        run(&planner, from: 240, pictures: 24) { _ in [(.repeated, 2)] }
        let later = try #require(OutputLadder.Observation(planner, .quick))
        #expect(later.added.synthesised < 0.2 && later.added.repeated > 0.8, "\(later.added)")
        #expect(later.low.encodeSynthesised == observed.low.encodeSynthesised)
    }

    @Test func whatWasNotEncodedCostsAShareOfWhatWas() throws {
        var planner = planner()
        #expect(OutputLadder.Observation(planner, .ultrafast) == nil)
        run(&planner, pictures: 10) { _ in [] }
        let observed = try #require(OutputLadder.Observation(planner, .ultrafast))
        #expect(observed.low.encodeSynthesised == observed.low.encode)
        #expect(observed.low.encodeRepeated < observed.low.encode && observed.low.encodeRepeated > 0)
        #expect(observed.added == OutputLadder.Added())
    }

    /// The source was away for a minute, and its last picture was repeated 60 times a second. That is no load of its own.
    @Test func repeatsOfAnAbsentSourceCountAtTheirRate() throws {
        var planner = planner()
        run(&planner, pictures: 24) { _ in [] }
        for _ in 0..<3600 { planner.observe(encoding: .repeated, .milliseconds(2.0)) }
        run(&planner, from: 24 + 1440, pictures: 1) { _ in [] }
        let rate = planner.encodes[.repeated].rate * 1e9
        #expect(abs(rate - 60) < 1, "\(rate)")
    }

    @Test func anotherSizeScalesThem() {
        var planner = planner()
        run(&planner, pictures: 24) { _ in [(.repeated, 2), (.synthesised, 12)] }
        let half = PictureSize(width: 960, height: 1080)
        planner.resize(input: half, output: half)
        #expect(planner.encodes[.came].low == 10e6 && planner.encodes[.repeated].mean == 1e6)
        #expect(planner.encodes[.synthesised].mean == 6e6)
    }

    /// A supervisor deals by it.
    @Test func repeatsArePartOfTheDemand() {
        var (with, without) = (planner(), planner())
        run(&with, pictures: 240) { _ in [(.repeated, 2)] }
        run(&without, pictures: 240) { _ in [] }
        #expect(abs(with.demand.least - without.demand.least - 0.002 * 24) < 0.002)
        #expect(with.demand.synthesising >= with.demand.least)
    }
}
