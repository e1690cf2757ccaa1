import Media
import Testing
@testable import Schedule

/// The choice of the output, in virtual time: the observer asks five times a second.
@Suite struct OutputLadderTests {
    static let period = Nanoseconds.milliseconds(200)

    func ladder(
        _ width: Int, _ height: Int, best: OutputSize = .double, preset: EncoderPreset = .superfast, mayShrink: Bool = true,
        mayBypass: Bool = true, purpose: OutputLadder.Purpose = .change, speed: Double = 1,
        refined: Bool = false
    ) -> OutputLadder {
        var costs = OutputLadder.Costs()
        costs.decode /= speed
        costs.base /= speed
        costs.encode /= speed
        var stream = OutputLadder.Stream(input: PictureSize(width: width, height: height), interval: .seconds(1 / 30))
        stream.isRefined = refined
        return OutputLadder(
            stream, best: best, preset: preset, mayShrink: mayShrink, mayBypass: mayBypass, purpose: purpose,
            costs: costs)
    }

    /// Pictures that are like a choice.
    func pictures(_ choice: OutputChoice, _ observed: OutputLadder.Observation? = nil) -> OutputLadder.Pictures {
        var pictures = OutputLadder.Pictures()
        pictures.made = choice
        pictures.areBypassed = choice.isBypass
        pictures.observed = observed
        return pictures
    }

    /// A machine whose speed changes. `slowdown` says by how much costs are multiplied, by the second and the choice.
    private func run(
        _ ladder: inout OutputLadder, from start: Int = 0, seconds: Int, cores: Double = 2,
        slowdown: (Double, OutputChoice) -> Double
    ) -> [(second: Double, choice: OutputChoice)] {
        var changes: [(second: Double, choice: OutputChoice)] = []
        for step in (start * 5)..<((start + seconds) * 5) {
            let second = Double(step) / 5
            let factor = slowdown(second, ladder.choice)
            var costs = OutputLadder.Costs()
            costs.decode *= factor
            costs.base *= factor
            costs.encode *= factor
            let now = MonotonicTime(nanoseconds: 0) + Self.period * Int64(step)
            if ladder.update(
                now: now, pictures(ladder.choice, .init(low: costs, mean: costs)), cores: Cores(cores))
            {
                changes.append((second, ladder.choice))
            }
        }
        return changes
    }

    @Test func whatFitsIsNotChanged() {
        var ladder = ladder(640, 360)
        ladder.begin(cores: Cores(2))
        #expect(ladder.choice == OutputChoice(size: .double, preset: .superfast))
        #expect(run(&ladder, seconds: 600) { _, _ in 1 }.isEmpty)
    }

    /// A faster preset, then a smaller output, then bypass. What needs between 60 and 70 % is not begun with, because synthetic
    /// pictures show its costs, but climbed to when real ones have shown them for 8 s.
    @Test(
        arguments: [
            (640, 360, OutputChoice(size: .double, preset: .superfast), nil),
            (
                1280, 720, OutputChoice(size: .same, preset: .superfast),
                OutputChoice(size: .oneAndHalf, preset: .ultrafast)
            ),
            (1920, 1080, OutputChoice(size: .same, preset: .ultrafast), nil),
            (3840, 2160, OutputChoice(size: .same, preset: .ultrafast, isBypass: true), nil),
        ]) func theStartFollowsTheSizeOnTwoCores(width: Int, height: Int, choice: OutputChoice, later: OutputChoice?)
    {
        var ladder = ladder(width, height)
        ladder.begin(cores: Cores(2))
        #expect(ladder.choice == choice)
        let changes = run(&ladder, seconds: 600) { _, _ in 1 }
        #expect(changes.map(\.choice) == (later.map { [$0] } ?? []) && changes.allSatisfy { $0.second == 8 }, "\(changes)")
    }

    /// On its last choice a stream that loses pictures stays: low costs say that a better one fits.
    @Test func aStreamThatSkipsPicturesDoesNotClimb() {
        var ladder = ladder(1280, 720, mayShrink: false)
        ladder.begin(cores: Cores(2))
        #expect(ladder.choice.preset == .ultrafast)
        var costs = OutputLadder.Costs()
        costs.encode /= 10
        for step in 0..<3000 {
            var pictures = pictures(ladder.choice, .init(low: costs, mean: costs))
            pictures.areSkipped = true
            let now = MonotonicTime(nanoseconds: 0) + Self.period * Int64(step)
            let hasChanged = ladder.update(now: now, pictures, cores: Cores(2))
            #expect(!hasChanged)
        }
    }

    /// A step down always costs less.
    @Test(arguments: [false, true]) func thereIsOneAndAHalfBetweenTwiceAndOnce(refined: Bool) {
        let ladder = ladder(1280, 720, refined: refined)
        #expect(
            ladder.choices == [
                OutputChoice(size: .double, preset: .superfast), OutputChoice(size: .double, preset: .quick),
                OutputChoice(size: .double, preset: .ultrafast), OutputChoice(size: .oneAndHalf, preset: .ultrafast),
                OutputChoice(size: .same, preset: .superfast), OutputChoice(size: .same, preset: .quick),
                OutputChoice(size: .same, preset: .ultrafast), OutputChoice(size: .same, preset: .ultrafast, isBypass: true),
            ])
        for best in [OutputSize.triple, .oneAndHalf, .exactly(PictureSize(width: 1000, height: 1000))] {
            for preset in EncoderPreset.allCases {
                let ladder = self.ladder(640, 360, best: best, preset: preset, refined: refined)
                let needs = ladder.choices.map { ladder.need(of: $0).cores }
                #expect(zip(needs, needs.dropFirst()).allSatisfy { $0 > $1 }, "\(needs)")
            }
        }
    }

    /// Pictures of 1.5 times the size gain more than doubled ones by a faster preset. The fastest preset takes what networks bring.
    @Test func refinedPicturesLeaveSmallerBeforeThePresetIsFaster() {
        let ladder = ladder(1280, 720, preset: .careful, purpose: .refinement, refined: true)
        #expect(
            ladder.choices == [
                OutputChoice(size: .double, preset: .careful), OutputChoice(size: .double, preset: .superfast),
                OutputChoice(size: .oneAndHalf, preset: .careful), OutputChoice(size: .oneAndHalf, preset: .superfast),
                OutputChoice(size: .oneAndHalf, preset: .quick), OutputChoice(size: .same, preset: .ultrafast, isBypass: true),
            ])
        for preset in EncoderPreset.allCases {
            let ladder = self.ladder(1280, 720, preset: preset, purpose: .refinement, refined: true)
            #expect(ladder.choices.first == OutputChoice(size: .double, preset: preset))
            let needs = ladder.choices.map { ladder.need(of: $0).cores }
            #expect(zip(needs, needs.dropFirst()).allSatisfy { $0 > $1 }, "\(needs)")
        }
        let largest = self.ladder(2560, 1440, best: .oneAndHalf, purpose: .refinement, refined: true)
        #expect(largest.choices.map(\.preset) == [.superfast, .quick, .ultrafast] && largest.choices.last?.isBypass == true)
        // Somebody asked for this size, or another rate needs an encode at any.
        for purpose in [OutputLadder.Purpose.size, .change] {
            let ladder = self.ladder(1280, 720, purpose: purpose, refined: true)
            #expect(ladder.choices.contains(OutputChoice(size: .double, preset: .ultrafast)))
            #expect(ladder.choices.contains { $0.size == .oneAndHalf })
        }
    }

    /// There are cores enough, and `superfast` would keep one thread busy for more than half of the time.
    @Test func smallerPicturesDoNotWaitForASlowerPreset() {
        var ladder = ladder(1280, 720, purpose: .refinement, speed: 1.7, refined: true)
        ladder.begin(cores: Cores(4))
        #expect(ladder.choice == OutputChoice(size: .oneAndHalf, preset: .quick))
        let share = ladder.need(of: ladder.choices[ladder.position - 1]).share
        #expect(share > OutputLadder.shareOfSlowerPreset && share < OutputLadder.limitAtStart, "\(share)")
        #expect(run(&ladder, seconds: 60, cores: 4) { _, _ in 1 / 1.7 }.isEmpty)
        #expect(run(&ladder, from: 60, seconds: 10, cores: 4) { _, _ in 0.4 }.map(\.choice.preset) == [.superfast])
    }

    /// Of smaller pictures that networks do not refine an encode takes more than it brings. The machine chooses none where nothing else
    /// needs one.
    @Test(arguments: [OutputSize.double, .triple]) func anEncodeThatGivesNothingIsNoChoice(best: OutputSize) {
        let ladder = ladder(1280, 720, best: best, purpose: best == .triple ? .size : .refinement)
        let sizes = ladder.choices.filter { !$0.isBypass }.map(\.size)
        #expect(Set(sizes) == (best == .triple ? [.triple, .double] : [.double]))
        #expect(ladder.choices.last?.isBypass == true)
        // Another rate, and pictures that must not pass, need an encode at any size.
        #expect(self.ladder(1280, 720, purpose: .change).choices.contains { $0.size == .same && !$0.isBypass })
        for (mayShrink, mayBypass) in [(true, false), (false, true)] {
            let forced = self.ladder(
                1920, 1080, best: .oneAndHalf, mayShrink: mayShrink, mayBypass: mayBypass, purpose: .refinement)
            #expect(forced.choices[0].size == .oneAndHalf && !forced.choices[0].isBypass)
        }
    }

    @Test(arguments: [false, true]) func pictures1080LinesHighPassOnTwoCores(refined: Bool) {
        var ladder = ladder(1920, 1080, purpose: .refinement, refined: refined)
        ladder.begin(cores: Cores(2))
        #expect(ladder.choice.isBypass && !ladder.onlyBypasses)
        #expect(run(&ladder, seconds: 600) { _, _ in 1 }.isEmpty)
        var faster = self.ladder(1920, 1080, purpose: .refinement, speed: 4, refined: refined)
        faster.begin(cores: Cores(16))
        #expect(faster.choice.size == (refined ? .oneAndHalf : .double) && !faster.choice.isBypass)
    }

    /// Pictures that cannot be doubled pass, unless somebody asked for their size.
    @Test func aSizeThatIsAskedForIsEncoded() {
        var asked = ladder(1920, 1080, best: .oneAndHalf, purpose: .size, speed: 4)
        asked.begin(cores: Cores(16))
        #expect(asked.choice.size == .oneAndHalf && !asked.choice.isBypass)
        #expect(Set(asked.choices.filter { !$0.isBypass }.map(\.size)) == [.oneAndHalf])
        var limited = ladder(1920, 1080, best: .oneAndHalf, purpose: .refinement)
        limited.begin(cores: Cores(16))
        #expect(limited.onlyBypasses && limited.choice.isBypass)
        #expect(run(&limited, seconds: 60) { _, _ in 3 }.isEmpty)
    }

    /// Until its entry point comes, the last step costs no more than the one before it either.
    @Test(arguments: EncoderPreset.allCases) func aBypassThatWaitsCostsNoMore(preset: EncoderPreset) throws {
        let ladder = self.ladder(1280, 720, preset: preset)
        var waiting = try #require(ladder.choices.last)
        #expect(waiting.isBypass)
        waiting.isBypass = false
        let before = ladder.need(of: ladder.choices[ladder.choices.count - 2]).cores
        #expect(ladder.need(of: waiting).cores <= before)
    }

    /// Pictures of a format that cannot leave as they came leave as small as they may, whatever that costs.
    @Test func whatMustNotPassIsNeverBypassed() {
        var ladder = self.ladder(3840, 2160, mayBypass: false)
        ladder.begin(cores: Cores(2))
        #expect(ladder.choice == OutputChoice(size: .same, preset: .ultrafast))
        #expect(!ladder.choices.contains { $0.isBypass })
        #expect(run(&ladder, seconds: 60) { _, _ in 3 }.isEmpty)
    }

    @Test func aSizeOfItsOwnFallsToTheStepsBelowIt() {
        let ladder = self.ladder(640, 360, best: .exactly(PictureSize(width: 854, height: 480)), preset: .ultrafast)
        #expect(ladder.choices.map(\.size) == [.exactly(PictureSize(width: 854, height: 480)), .same, .same])
        #expect(ladder.choices.map(\.isBypass) == [false, false, true])
    }

    @Test func aLargerMachineChoosesMore() {
        var ladder = ladder(1920, 1080)
        ladder.begin(cores: Cores(16))
        #expect(ladder.choice.isBypass == false)
        #expect(ladder.need(of: ladder.choices[0]).cores > 5)
    }

    @Test func aSizeThatIsKeptChangesThePresetOnly() {
        var ladder = ladder(1920, 1080, preset: .medium, mayShrink: false)
        ladder.begin(cores: Cores(2))
        #expect(ladder.choice == OutputChoice(size: .double, preset: .ultrafast))
        #expect(run(&ladder, seconds: 60) { _, _ in 3 }.isEmpty)
    }

    /// The machine is four times slower for a minute.
    @Test func aSlowMachineIsFollowedWithinSecondsAndARecoveryWithoutFlicker() {
        var ladder = ladder(640, 360)
        ladder.begin(cores: Cores(2))
        let changes = run(&ladder, seconds: 300) { second, _ in (60..<120).contains(second) ? 6 : 1 }
        let down = changes.filter { $0.second < 120 }
        #expect(down.count == 1 && down[0].second < 62, "\(changes)")
        let up = changes.filter { $0.second >= 120 }
        #expect(zip(up, up.dropFirst()).allSatisfy { $1.second - $0.second >= 8 })
        #expect(ladder.position == 0 && changes.count <= 5, "\(changes)")
    }

    /// The better output looks as if it fitted and does not. Each try waits four times as long as the one before.
    @Test func triesThatFailBecomeRare() {
        var ladder = ladder(640, 360, preset: .ultrafast)
        ladder.begin(cores: Cores(2))
        let changes = run(&ladder, seconds: 3600) { _, choice in choice.size == .double ? 8 : 1 }
        let tries = changes.count { $0.choice.size == .double }
        #expect(tries >= 3 && tries <= 9, "\(tries) in an hour")
    }

    /// The machine is busy and free in turns of 20 s.
    @Test(arguments: [2.0, 4, 8, 40, 120]) func turnsOfAnotherProgramAreNotFollowed(slowdown: Double) {
        for size in [(640, 360), (1280, 720)] {
            var ladder = ladder(size.0, size.1, purpose: .refinement, speed: 3)
            ladder.begin(cores: Cores(2))
            #expect(ladder.position == 0)
            let changes = run(&ladder, seconds: 1200) { second, _ in
                (second.truncatingRemainder(dividingBy: 40) < 20 ? 1 : slowdown) / 3
            }
            #expect(changes.count { $0.second < 60 } <= 3, "\(size), \(changes)")
            #expect(changes.count { $0.second >= 60 } <= (1200 - 60) / 30, "\(size), \(changes)")
        }
    }

    /// Beside a program that ends after five seconds, a stream is ten seconds later where it would have begun.
    @Test(arguments: [0.1, 0.5, 1]) func aStartBesideABusyProgramEndsWhereAQuietOneDoes(cores: Double) {
        for size in [(320, 180), (640, 360), (1280, 720)] {
            var quiet = ladder(size.0, size.1, purpose: .refinement, speed: 3)
            quiet.begin(cores: Cores(2))
            var busy = ladder(size.0, size.1, purpose: .refinement, speed: 3)
            busy.begin(cores: Cores(cores))
            _ = run(&busy, seconds: 5, cores: cores) { _, _ in 1 / 3 }
            let changes = run(&busy, from: 5, seconds: 10) { _, _ in 1 / 3 }
            #expect(busy.choice == quiet.choice && changes.count <= 1, "\(size), \(changes)")
        }
    }

    /// Noise around the limit is no reason to change.
    @Test func aShortSlowdownChangesNothing() {
        var ladder = ladder(640, 360)
        ladder.begin(cores: Cores(2))
        #expect(run(&ladder, seconds: 600) { second, _ in second.truncatingRemainder(dividingBy: 10) < 0.9 ? 8 : 1 }.isEmpty)
    }

    @Test func aStreamThatSkipsPicturesFalls() {
        var ladder = ladder(640, 360)
        ladder.begin(cores: Cores(2))
        var changed = false
        for step in 0..<10 {
            let now = MonotonicTime(nanoseconds: 0) + Self.period * Int64(step)
            var pictures = pictures(ladder.choice)
            pictures.areSkipped = true
            changed = ladder.update(now: now, pictures, cores: Cores(2)) || changed
        }
        #expect(changed && ladder.position > 0)
    }

    /// What pictures cost before they were bypassed need not hold any more.
    @Test func bypassEndsWhenTheMachineIsFastAgain() {
        var ladder = ladder(1280, 720)
        ladder.begin(cores: Cores(2))
        let changes = run(&ladder, seconds: 900) { second, _ in (10..<60).contains(second) ? 40 : 1 }
        #expect(changes.contains { $0.choice.isBypass } && !ladder.choice.isBypass, "\(changes)")
        #expect(changes.count <= 12, "\(changes)")
    }

    /// It never fits, and nobody can know that without a try.
    @Test func bypassIsLeftEverMoreSeldom() {
        var ladder = ladder(1280, 720)
        ladder.begin(cores: Cores(2))
        let changes = run(&ladder, seconds: 3600) { _, _ in 40 }
        #expect(changes.count { $0.choice.isBypass } <= 10, "\(changes.count)")
    }

    @Test func bypassEndsWhenTheMachineHasRoom() {
        var ladder = ladder(1920, 1080)
        ladder.begin(cores: Cores(0.5))
        #expect(ladder.choice.isBypass)
        let changes = run(&ladder, seconds: 120, cores: 2) { _, _ in 1 }
        #expect(changes.first?.choice.isBypass == false && (8..<10).contains(changes[0].second))
    }

    // MARK: Until pictures are like the choice

    /// Asks five times a second.
    /// - Returns: when the choice changed, in seconds.
    private func ask(
        _ ladder: inout OutputLadder, from start: Double = 0, seconds: Double, _ pictures: OutputLadder.Pictures
    ) -> [Double] {
        (0..<Int(seconds * 5)).compactMap { step in
            let second = start + Double(step) / 5
            let now = MonotonicTime(nanoseconds: 0) + .seconds(second)
            return ladder.update(now: now, pictures, cores: Cores(2)) ? second : nil
        }
    }

    /// A bypass ends at the next entry point. Until then, the pictures before the bypass say nothing of the choice. From then on it
    /// is tried for two seconds.
    @Test func aClimbFromBypassWaitsForTheEntryPoint() {
        var ladder = ladder(640, 360)
        ladder.begin(cores: Cores(0.01))
        #expect(ladder.choice.isBypass)
        #expect(ask(&ladder, seconds: 8.4, pictures(ladder.choice)) == [8])
        let choice = ladder.choice
        var before = pictures(choice)
        before.areBypassed = true
        before.areSkipped = true
        #expect(ask(&ladder, from: 9, seconds: 132, before).isEmpty && ladder.choice == choice)
        before.areBypassed = false
        let falls = ask(&ladder, from: 141, seconds: 10, before)
        #expect(
            falls.count == 1 && (143.8...144.2).contains(falls[0]), "\(falls): it settles from the last bypassed picture on")
    }

    /// While the processors for another size are made, the pictures of the former choice are skipped.
    @Test func aFallIsNotRepeatedUntilPicturesFollow() {
        var ladder = ladder(1280, 720)
        ladder.begin(cores: Cores(8))
        var former = pictures(ladder.choice)
        former.areSkipped = true
        #expect(ask(&ladder, seconds: 29, former) == [1] && ladder.position > 0)
        // Processors that take this long may never come.
        let falls = ask(&ladder, from: 29, seconds: 10, former)
        #expect(falls.count == 1 && falls[0] > 31, "\(falls)")
    }

    // MARK: Several streams

    /// Streams of one supervisor on one machine. Each counts on what it is dealt by what all need.
    private func run(
        _ ladders: inout [OutputLadder], seconds: Int, cores: Double, slowdown: (Double) -> Double = { _ in 1 }
    ) -> [(second: Double, stream: Int)] {
        var changes: [(second: Double, stream: Int)] = []
        for step in 0..<(seconds * 5) {
            let now = MonotonicTime(nanoseconds: 0) + Self.period * Int64(step)
            var costs = OutputLadder.Costs()
            let factor = slowdown(Double(step) / 5)
            costs.decode *= factor
            costs.base *= factor
            costs.encode *= factor
            let flowing = ladders.indices.filter { !ladders[$0].choice.isBypass }
            let claims = flowing.map { CoreDeal.Claim(least: ladders[$0].need.cores) }
            let deal = CoreDeal(cores: cores)
            var shares = ladders.map { _ in
                deal.dealForNewcomer(beside: claims, newcomers: ladders.count - flowing.count, usedByOthers: 0)
            }
            for (stream, share) in zip(flowing, deal.deal(claims, usedByOthers: 0)) { shares[stream] = share }
            for stream in ladders.indices
            where ladders[stream].update(
                now: now, pictures(ladders[stream].choice, .init(low: costs, mean: costs)), cores: shares[stream])
            {
                changes.append((Double(step) / 5, stream))
            }
        }
        return changes
    }

    /// All see the same free cores. They must not all take them.
    @Test(arguments: [2, 3, 5]) func streamsThatClimbTogetherDoNotFallTogether(count: Int) {
        var ladders = (0..<count).map { _ in ladder(1280, 720) }
        for index in ladders.indices { ladders[index].begin(cores: Cores(0.3)) }
        let changes = run(&ladders, seconds: 3600, cores: 2)
        let needed = ladders.reduce(0) { $0 + $1.need.cores }
        #expect(needed <= 2 * 0.92, "\(needed)")
        #expect(changes.count <= 6 * count && changes.allSatisfy { $0.second < 600 }, "\(changes)")
    }

    /// The machine becomes slower for five minutes. Every stream gives up something, and takes it back one step after the other.
    @Test func severalStreamsFollowASlowMachine() {
        var ladders = (0..<3).map { _ in ladder(640, 360) }
        for index in ladders.indices { ladders[index].begin(cores: Cores(2.0 / 3)) }
        let before = ladders.map(\.position)
        let changes = run(&ladders, seconds: 1800, cores: 2) { (300..<600).contains($0) ? 3 : 1 }
        #expect(changes.filter { (303..<600).contains($0.second) }.isEmpty, "\(changes)")
        #expect(zip(ladders.map(\.position), before).allSatisfy { $0 <= $1 }, "all is as before, or better")
        #expect(changes.count <= 18, "\(changes)")
    }

    /// A stream that begins beside others is dealt what they leave, and at least an even share.
    @Test func aNewcomerDoesNotCountOnTheWholeMachine() {
        let deal = CoreDeal(cores: 2)
        #expect(deal.dealForNewcomer(beside: [.init(least: 0.5)], newcomers: 1, usedByOthers: 0).room == 1.5)
        #expect(deal.dealForNewcomer(beside: [.init(least: 1.8)], newcomers: 1, usedByOthers: 0).room == 1)
        #expect(deal.dealForNewcomer(beside: [], newcomers: 4, usedByOthers: 0.4).room == 0.4)
    }
}
