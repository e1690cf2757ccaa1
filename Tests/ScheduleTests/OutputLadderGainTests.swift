import Media
import Testing
@testable import Schedule

/// Pictures that gain nothing, in virtual time.
extension OutputLadderTests {
    /// Runs a ladder on a fast machine where pictures gain so much while they are enhanced.
    private func run(
        _ ladder: inout OutputLadder, seconds: Int, cores: Double = 8, gain: (Double) -> Float?,
        rate: (Double) -> Int = { _ in 1_000_000 }
    ) -> [(second: Double, choice: OutputChoice)] {
        var changes: [(second: Double, choice: OutputChoice)] = []
        for step in 0..<(seconds * 5) {
            let second = Double(step) / 5
            let costs = OutputLadder.Costs()
            var pictures = pictures(ladder.choice, .init(low: costs, mean: costs))
            pictures.gain = ladder.choice.isBypass ? nil : gain(second)
            pictures.inputRate = rate(second)
            if ladder.update(now: MonotonicTime(nanoseconds: 0) + Self.period * Int64(step), pictures, cores: Cores(cores)) {
                changes.append((second, ladder.choice))
            }
        }
        return changes
    }

    /// They are tried again ever more seldom.
    @Test func picturesThatLoseByTheEncodePass() {
        var ladder = ladder(640, 360, purpose: .refinement)
        ladder.begin(cores: Cores(8))
        let changes = run(&ladder, seconds: 3600) { _ in -3 }
        #expect(changes.first.map { $0.choice.isBypass && (5..<6).contains($0.second) } == true, "\(changes)")
        #expect(changes.count { $0.choice.isBypass } <= 8 && changes.count > 4, "\(changes)")
        #expect(changes.count >= 2 && changes[1].second - changes[0].second > 60, "\(changes)")
    }

    /// At the start only a faster preset seemed to fit. What it loses says nothing of a slower one.
    @Test func aSlowerPresetIsTriedBeforePicturesPass() {
        for (gainsThen, expected) in [(true, [EncoderPreset.superfast]), (false, [.superfast, .ultrafast])] {
            var ladder = ladder(640, 360, purpose: .refinement, speed: 0.5)
            ladder.begin(cores: Cores(8))
            #expect(ladder.choice.preset == .quick)
            let changes = run(&ladder, seconds: 60) { $0 > 6 && gainsThen ? 3 : -3 }
            #expect(changes.map(\.choice.preset) == expected && changes.last?.choice.isBypass == !gainsThen, "\(changes)")
            #expect(changes.first.map { (5..<6).contains($0.second) } == true, "\(changes)")
        }
    }

    /// Where it does not fit they pass.
    @Test func aSlowerPresetThatDoesNotFitIsNotTried() {
        var ladder = ladder(640, 360, purpose: .refinement, speed: 0.5)
        ladder.begin(cores: Cores(8))
        let changes = run(&ladder, seconds: 30, cores: 0.8) { _ in -3 }
        #expect(changes.first.map { $0.choice.isBypass } == true, "\(changes)")
    }

    @Test func picturesThatGainOrMayGainStay() {
        for gain in [{ _ in nil }, { _ in -0.9 }, { Int($0) % 4 < 3 ? -3 : 1 }] as [(Double) -> Float?] {
            var ladder = ladder(640, 360, purpose: .refinement)
            ladder.begin(cores: Cores(8))
            #expect(run(&ladder, seconds: 60, gain: gain).isEmpty)
        }
        for purpose in [OutputLadder.Purpose.change, .size] {
            var ladder = ladder(640, 360, purpose: purpose)
            ladder.begin(cores: Cores(8))
            #expect(run(&ladder, seconds: 60) { _ in -3 }.isEmpty)
        }
        var mayNotPass = ladder(640, 360, mayBypass: false, purpose: .refinement)
        mayNotPass.begin(cores: Cores(8))
        #expect(run(&mayNotPass, seconds: 60) { _ in -3 }.isEmpty)
    }

    /// The input has twice the bits from a moment on.
    @Test func otherBitsAreTriedAtOnce() {
        var ladder = ladder(640, 360, purpose: .refinement)
        ladder.begin(cores: Cores(8))
        let changes = run(&ladder, seconds: 120, gain: { $0 < 20 ? -3 : 3 }) { $0 < 20 ? 500_000 : 1_000_000 }
        #expect(changes.map(\.choice.isBypass) == [true, false], "\(changes)")
        #expect(changes.last.map { $0.second < 30 } == true, "\(changes)")
    }

    /// Finer than the input costs nothing; much coarser takes more than networks bring.
    @Test func theGainFollowsQuantisers() throws {
        func gain(_ input: Float, _ output: Float, _ preset: EncoderPreset = .superfast, _ tier: Tier = .neuralM) -> Float? {
            ViewerGain.expected(input: input, output: output, preset: preset, tier: tier)
        }
        #expect(try #require(gain(26, 26)) > 5 && #require(gain(26, 35)) < -1)
        #expect(try #require(gain(26, 30, .ultrafast)) < #require(gain(26, 30)))
        #expect(try #require(gain(26, 30)) < #require(gain(26, 30, .careful)))
        // Coarse already: less is left to lose.
        #expect(try #require(gain(38, 43, .careful)) > -1)
        #expect(try #require(gain(26, 30, .superfast, .neuralS)) < #require(gain(26, 30)))
        #expect(try #require(gain(26, 30, .superfast, .quality)) > #require(gain(26, 30)))
        #expect(gain(26, 30, .superfast, .base) == nil)
        let smaller = ViewerGain.expected(input: 26, output: 30, preset: .superfast, tier: .neuralM, size: .oneAndHalf)
        #expect(try #require(smaller) < #require(gain(26, 30)))
    }
}
