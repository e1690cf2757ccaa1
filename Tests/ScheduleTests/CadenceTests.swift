import Media
import Schedule
import Testing

/// Feeds a cadence with originals as a relay does, and keeps what it lays out.
struct CadenceRun {
    var cadence: Cadence
    var synthesises = true
    var outputs: [(presentation: MediaTime, phase: Rational?)] = []
    var drops: [DropReason] = []
    var jumps = 0
    var now = MonotonicTime(nanoseconds: 0)
    static let budget = Nanoseconds.milliseconds(80)

    init(_ rate: Cadence.Rate, _ change: (inout Cadence.Configuration) -> Void = { _ in }) {
        var configuration = Cadence.Configuration(rate: rate)
        change(&configuration)
        cadence = Cadence(configuration)
    }

    mutating func original(_ ticks: Int64) {
        let step = cadence.original(at: MediaTime(ticks: ticks), emitBy: now + Self.budget, now: now)
        if step.isJump { jumps += 1 }
        if let reason = step.drop {
            drops.append(reason)
            return
        }
        let order = cadence.configuration.order
        let originalTime = synthesises ? step.original : step.originalAlone
        if order == .afterOriginal, let originalTime { outputs.append((originalTime, nil)) }
        if synthesises {
            for index in 0..<step.count { outputs.append((step.slots[index].presentation, step.slots[index].phase)) }
        }
        if order == .beforeOriginal, let originalTime { outputs.append((originalTime, nil)) }
        if originalTime == nil { drops.append(.cadence) }
    }

    /// Originals every `ticks` from `start`, in real time.
    mutating func originals(_ count: Int, every ticks: Int64, from start: Int64 = 0) {
        for index in 0..<Int64(count) {
            original(start + index * ticks)
            now = now + MediaTime(ticks: ticks).nanoseconds
        }
    }

    mutating func wait(_ time: Nanoseconds) -> [Cadence.Filler] {
        var fillers: [Cadence.Filler] = []
        let end = now + time
        while now < end {
            now = now + .milliseconds(1)
            switch cadence.filler(now: now) {
            case .nothing: continue
            case .repeated(let time):
                outputs.append((time, nil))
                fillers.append(.repeated(time))
            case .slate(let time):
                outputs.append((time, nil))
                fillers.append(.slate(time))
            }
        }
        return fillers
    }

    var isStrictlyIncreasing: Bool {
        zip(outputs, outputs.dropFirst()).allSatisfy { $0.presentation < $1.presentation }
    }
}

@Suite struct CadenceTests {
    @Test func doublesAFixedRateAtExactMiddles() {
        var run = CadenceRun(.multiple(2))
        run.originals(4, every: 3_000)
        #expect(run.outputs.map(\.presentation.ticks) == [0, 1_500, 3_000, 4_500, 6_000, 7_500, 9_000])
        #expect(run.outputs.compactMap(\.phase) == Array(repeating: Rational(1, 2), count: 3))
    }

    @Test func followsAVariableRatePairByPair() {
        var run = CadenceRun(.multiple(3))
        for ticks: Int64 in [0, 3_000, 9_000, 9_900] { run.original(ticks) }
        let times: [Int64] = [0, 1_000, 2_000, 3_000, 5_000, 7_000, 9_000, 9_300, 9_600, 9_900]
        #expect(run.outputs.map(\.presentation.ticks) == times)
        #expect(run.outputs.compactMap(\.phase) == [1, 2, 1, 2, 1, 2].map { Rational($0, 3) })
    }

    @Test func makesSixtyOfTwentyFour() {
        var run = CadenceRun(.constant(Rational(60)))
        run.originals(5, every: 3_750)
        #expect(run.outputs.map(\.presentation.ticks) == Array(stride(from: 0, through: 15_000, by: 1_500)))
        let phases: [Rational?] = [nil, Rational(2, 5), Rational(4, 5), Rational(1, 5), Rational(3, 5), nil]
        #expect(run.outputs.prefix(6).map(\.phase) == phases)
        #expect(run.drops == [.cadence, .cadence])
    }

    @Test func withoutSynthesisEveryOriginalOfTwentyFourIsShownInASlotOfItsOwn() {
        var run = CadenceRun(.constant(Rational(60)))
        run.synthesises = false
        run.originals(50, every: 3_750)
        #expect(run.outputs.count == 50 && run.drops.isEmpty && run.isStrictlyIncreasing)
        #expect(run.outputs.allSatisfy { $0.presentation.ticks % 1_500 == 0 })
    }

    @Test func makesTwentyFourOfSixtyFromTheNearestOriginals() {
        var run = CadenceRun(.constant(Rational(24))) { $0.snap = Rational(1, 2) }
        run.originals(600, every: 1_500)
        #expect(run.outputs.count == 241 && run.outputs.allSatisfy { $0.phase == nil })
        #expect(run.drops.count == 359 && run.drops.allSatisfy { $0 == .cadence })
    }

    @Test func makesFiftyOfNTSC() {
        var run = CadenceRun(.constant(Rational(50)))
        run.originals(301, every: 3_003)
        #expect(run.isStrictlyIncreasing)
        #expect(run.outputs.map(\.presentation.ticks) == (0..<Int64(run.outputs.count)).map { $0 * 1_800 })
        // The second slot lies 1800/3003 of the way; the sixth 2991/3003, near enough to be the original itself.
        #expect(run.outputs[1].phase == Rational(1_800, 3_003))
        #expect(run.outputs.count { $0.phase == nil } > 15)
    }

    @Test func makesAConstantRateOfAVariableOne() {
        var random = SplitMix64(seed: 3)
        var run = CadenceRun(.constant(Rational(60)))
        var ticks: Int64 = 0
        for _ in 0..<2_000 {
            run.original(ticks)
            ticks += 1_000 + Int64(random.next() % 5_000)
        }
        #expect(run.outputs.enumerated().allSatisfy { $1.presentation.ticks == Int64($0) * 1_500 })
        #expect(run.outputs.allSatisfy { $0.phase.map { $0.value > 0 && $0.value < 1 } ?? true })
    }

    static let days: [(Rational, Int64)] = [
        (Rational(60_000, 1_001), 3_003), (Rational(60), 3_750), (Rational(50), 3_003), (Rational(24), 1_501),
    ]

    @Test(arguments: Thoroughness.isFull ? days : [days[0]])
    func doesNotDriftInADay(rate: Rational, every ticks: Int64) {
        var cadence = Cadence(Cadence.Configuration(rate: .constant(rate)))
        let originals = 24 * 3_600 * MediaTime.ticksPerSecond / ticks
        var slots: Int64 = 0
        var wrong = 0
        var largestError: Int64 = 0
        for index in 0..<originals {
            let now = MonotonicTime(nanoseconds: index * ticks * 11_111)
            let step = cadence.original(at: MediaTime(ticks: 7 + index * ticks), emitBy: now, now: now)
            for slot in 0..<(step.count + (step.original == nil ? 0 : 1)) {
                let time = slot < step.count ? step.slots[slot].presentation : step.original!
                if time.ticks != slots * MediaTime.ticksPerSecond * rate.denominator / rate.numerator { wrong += 1 }
                slots += 1
                largestError = max(largestError, time.ticks - index * ticks)
            }
        }
        #expect(wrong == 0)
        #expect(slots >= -2 + originals * ticks * rate.numerator / rate.denominator / MediaTime.ticksPerSecond)
        #expect(largestError < MediaTime.ticksPerSecond * rate.denominator / rate.numerator)
    }

    @Test func extrapolationNeverWaitsAndNeverGoesBack() {
        var random = SplitMix64(seed: 4)
        for rate in [Cadence.Rate.multiple(2), .multiple(3), .constant(Rational(60)), .constant(Rational(50))] {
            var run = CadenceRun(rate) { $0.order = .afterOriginal }
            var ticks: Int64 = 0
            for _ in 0..<1_000 {
                run.original(ticks)
                ticks += 2_000 + Int64(random.next() % 2_000)
            }
            #expect(run.isStrictlyIncreasing)
            #expect(run.outputs.allSatisfy { $0.phase.map { $0.value > 1 && $0.value < 2 } ?? true })
            let drops = run.drops.count
            #expect(drops < 20, "an original is shown although a prediction has gone further")
        }
    }

    @Test(arguments: [Cadence.Rate.multiple(2), .constant(Rational(60))])
    func repeatsWhatIsMissing(rate: Cadence.Rate) {
        var run = CadenceRun(rate)
        run.originals(10, every: 3_000)
        #expect(run.wait(.milliseconds(60)).isEmpty, "nothing is missing before its deadline")
        let fillers = run.wait(.milliseconds(60))
        #expect(!fillers.isEmpty && fillers.count <= 4)
        run.originals(10, every: 3_000, from: 10 * 3_000 + 4 * 3_000)
        #expect(run.isStrictlyIncreasing)
        #expect(run.jumps == 0 && run.drops.allSatisfy { $0 == .late })
    }

    @Test(arguments: [Cadence.Rate.multiple(2), .constant(Rational(60))])
    func showsASlateWhenTheSourceStops(rate: Cadence.Rate) {
        var run = CadenceRun(rate) { $0.hold = .seconds(2) }
        run.originals(30, every: 3_000)
        let fillers = run.wait(.seconds(6))
        let slates = fillers.drop { if case .repeated = $0 { true } else { false } }
        #expect(!slates.isEmpty && slates.count < fillers.count)
        #expect(slates.allSatisfy { if case .slate = $0 { true } else { false } })
        run.originals(30, every: 3_000, from: 36 * 90_000)
        #expect(run.isStrictlyIncreasing && run.drops.isEmpty)
        // Fillers keep real time: six seconds of waiting are six seconds of output.
        let seconds = (run.outputs.last!.presentation - run.outputs.first!.presentation)
        #expect(abs(seconds - 8 * 90_000) < 18_000)
    }

    @Test(arguments: [40_000_000, -40_000_000, -(1 << 33), Int64.max / 2, Int64.min / 2])
    func goesOnInTheNextSlotWhenTheClockJumps(by jump: Int64) {
        for rate in [Cadence.Rate.multiple(2), .constant(Rational(60))] {
            var run = CadenceRun(rate)
            run.originals(10, every: 3_000)
            let before = run.outputs.last!.presentation
            run.originals(10, every: 3_000, from: jump)
            #expect(run.jumps == 1 && run.drops.isEmpty && run.isStrictlyIncreasing)
            let after = run.outputs.first { $0.presentation > before }!
            #expect(after.phase == nil, "nothing is interpolated across a jump")
            #expect(after.presentation - before <= 3_000)
        }
    }

    @Test func dropsWhatRepeatsOrGoesBackALittle() {
        var run = CadenceRun(.multiple(2))
        for ticks: Int64 in [0, 3_000, 3_000, 1_500, 6_000] { run.original(ticks) }
        #expect(run.drops == [.discontinuity, .discontinuity])
        #expect(run.outputs.map(\.presentation.ticks) == [0, 1_500, 3_000, 4_500, 6_000])
    }

    @Test func takesAClockThatStaysImpossibleForANewOne() {
        var run = CadenceRun(.constant(Rational(60)))
        run.originals(30, every: 3_000)
        for _ in 0..<60 {  // every frame says the same time
            run.original(0)
            run.now = run.now + .milliseconds(33)
        }
        #expect(run.isStrictlyIncreasing)
        #expect(run.drops.allSatisfy { $0 == .discontinuity } && run.drops.count < 60)
        #expect(run.jumps > 0)
    }

    @Test func aSourceThatPausedIsTakenUpAgainAndNothingIsDroppedForLong() {
        var run = CadenceRun(.constant(Rational(60)))
        run.originals(30, every: 3_000)
        _ = run.wait(.seconds(3))
        run.originals(60, every: 3_000, from: 30 * 3_000)  // its clock stood still meanwhile
        #expect(run.isStrictlyIncreasing && run.jumps == 1)
        #expect(run.drops.count < 20 && run.drops.allSatisfy { $0 == .late })
    }
}
