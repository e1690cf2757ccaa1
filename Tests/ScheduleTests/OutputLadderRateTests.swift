import Media
import Testing
@testable import Schedule

/// Streams whose rate is changed, and those whose headers tell another one, in virtual time.
extension OutputLadderTests {
    /// A slower preset would take the time of the frames that are to be synthesised. Without them it is climbed to.
    @Test func aFasterPresetLeavesTimeForSynthesisedFrames() {
        func choice(synthesised: Double) -> (ladder: OutputLadder, preset: EncoderPreset) {
            var stream = OutputLadder.Stream(input: PictureSize(width: 1280, height: 720), interval: .seconds(1 / 30))
            stream.synthesised = synthesised
            var ladder = OutputLadder(stream, best: .same, preset: .superfast, mayShrink: false, costs: OutputLadder.Costs())
            ladder.begin(cores: Cores(2))
            return (ladder, ladder.choice.preset)
        }
        #expect(choice(synthesised: 0).preset == .superfast)
        var (ladder, preset) = choice(synthesised: 1)
        #expect(preset == .ultrafast)
        func changes(from start: Int, synthesised: Double) -> [Int] {
            var changes: [Int] = []
            for step in (start * 5)..<((start + 60) * 5) {
                let now = MonotonicTime(nanoseconds: 0) + Self.period * Int64(step)
                let costs = OutputLadder.Costs()
                let observed = OutputLadder.Observation(low: costs, mean: costs, synthesised: synthesised)
                if ladder.update(now: now, pictures(ladder.choice, observed), cores: Cores(2)) { changes.append(step / 5) }
            }
            return changes
        }
        #expect(changes(from: 0, synthesised: 1) == [8] && ladder.choice.preset == .quick)
        #expect(changes(from: 60, synthesised: 0) == [68] && ladder.choice.preset == .superfast)
        #expect(changes(from: 120, synthesised: 1.25) == [128] && ladder.choice.preset == .quick)
    }

    /// What is encoded beside a picture that came counts with its own cost.
    @Test func picturesThatAreAddedCount() {
        var ladder = ladder(1280, 720, best: .same)
        ladder.begin(cores: Cores(2))
        let former = ladder.need.cores
        var costs = OutputLadder.Costs()
        costs.encodeSynthesised = 5
        costs.encodeRepeated = 1
        let observed = OutputLadder.Observation(
            low: costs, mean: costs, added: OutputLadder.Added(synthesised: 0.5, repeated: 1.5))
        _ = ladder.update(now: MonotonicTime(nanoseconds: 0), pictures(ladder.choice, observed), cores: Cores(2))
        let added = (0.5 * 5 + 1.5 * 1) * 1280 * 720 * 30 * ladder.choice.preset.weight / 1e9
        #expect(abs(ladder.need.cores - former - added) < 1e-6)
    }

    /// 24 pictures a second to 60, with what work costs two cores of 2.5 GHz. 2880x1620 fits only what came.
    @Test func aConstantRateIsPlannedForAllPictures() {
        var costs = OutputLadder.Costs()
        costs.decode = 4
        costs.base = 0.5
        costs.encode = 6
        costs.encodeSynthesised = 6
        costs.encodeRepeated = 4
        func ladder(synthesised: Double) -> OutputLadder {
            var stream = OutputLadder.Stream(input: PictureSize(width: 1920, height: 1080), interval: .seconds(1 / 24))
            stream.isRefined = true
            stream.synthesised = synthesised
            return OutputLadder(stream, best: .double, preset: .superfast, mayShrink: true, costs: costs)
        }
        var sameRate = ladder(synthesised: 0)
        sameRate.begin(cores: Cores(2))
        #expect(sameRate.choice.size == .oneAndHalf)
        var ladder = ladder(synthesised: 1.5)
        ladder.begin(cores: Cores(2))
        let choice = ladder.choice
        #expect(choice.size == .same && !choice.isBypass)
        // Most are repeated. That costs less, and still no larger output fits.
        let observed = OutputLadder.Observation(
            low: costs, mean: costs, synthesised: 2, added: OutputLadder.Added(synthesised: 0.2, repeated: 1.3))
        for step in 0..<600 {
            let now = MonotonicTime(nanoseconds: 0) + Self.period * Int64(step)
            _ = ladder.update(now: now, pictures(ladder.choice, observed), cores: Cores(2))
        }
        #expect(ladder.choice.size == .same)
    }

    /// Somebody asked for another rate: pictures pass only where hardly anything is left.
    @Test(arguments: [(1.9, false), (1.7, true)]) func anotherRateNeedsLittleRoom(cores: Double, passes: Bool) {
        var stream = OutputLadder.Stream(input: PictureSize(width: 1920, height: 1080), interval: .seconds(1 / 30))
        stream.synthesised = 1
        var ladder = OutputLadder(stream, best: .double, preset: .superfast, mayShrink: true, costs: OutputLadder.Costs())
        ladder.begin(cores: Cores(cores))
        #expect(ladder.choice.isBypass == passes, "\(ladder.choice), \(ladder.need.cores) cores")
        #expect(passes || ladder.choice == OutputChoice(size: .same, preset: .ultrafast))
    }

    /// What was added last need not be so any more when a bypass ends.
    @Test func whatIsAddedIsForgottenWhilePicturesPass() {
        var stream = OutputLadder.Stream(input: PictureSize(width: 1280, height: 720), interval: .seconds(1 / 30))
        stream.synthesised = 1
        var ladder = OutputLadder(stream, best: .same, preset: .ultrafast, mayShrink: true, costs: OutputLadder.Costs())
        ladder.begin(cores: Cores(8))
        let (choice, start) = (ladder.choice, ladder.need)
        let costs = OutputLadder.Costs()
        let observed = OutputLadder.Observation(low: costs, mean: costs, synthesised: 1)
        var second = 0.0
        func update(_ pictures: OutputLadder.Pictures, until end: Double) {
            while second < end {
                _ = ladder.update(now: MonotonicTime(nanoseconds: 0) + .seconds(second), pictures, cores: Cores(0.1))
                second += 0.2
            }
        }
        update(pictures(choice, observed), until: 2)
        #expect(ladder.choice.isBypass && ladder.need(of: choice).cores < start.cores)
        update(pictures(ladder.choice), until: 300)
        #expect(ladder.choice.isBypass && abs(ladder.need(of: choice).cores - start.cores) < 0.01)
    }

    /// Headers say 30 pictures a second, or nothing, and 60 come. What they need is twice as much, and no try is made that fails.
    @Test func theRateIsThatOfThePictures() {
        var ladder = ladder(1280, 720, best: .same)
        ladder.begin(cores: Cores(2))
        let first = ladder.choice
        let former = ladder.need.cores
        let costs = OutputLadder.Costs()
        for step in 0..<50 {
            let now = MonotonicTime(nanoseconds: 0) + Self.period * Int64(step)
            let observed = OutputLadder.Observation(low: costs, mean: costs, interval: .seconds(1 / 60))
            _ = ladder.update(now: now, pictures(ladder.choice, observed), cores: Cores(100))
        }
        #expect(ladder.choice == first && abs(ladder.need.cores - 2 * former) < 0.01 * former)
    }
}
