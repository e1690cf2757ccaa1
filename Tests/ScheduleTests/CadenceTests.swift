import Media
import Schedule
import TestSupport
import Testing

/// Gives originals to a cadence as a relay does, and keeps the output.
struct CadenceRun {
    var cadence: Cadence
    /// How many of the requested frames are made.
    var making = Int.max
    var outputs: [(presentation: MediaTime, phase: Rational?)] = []
    var drops: [DropReason] = []

    init(_ rate: Cadence.Rate, order: SynthesisOrder = .beforeOriginal) { cadence = Cadence(rate, order: order) }

    mutating func original(_ ticks: Int64, isJump: Bool = false, filledUpTo filled: Int64? = nil) {
        let step = cadence.layOut(
            originalAt: MediaTime(ticks: ticks), isJump: isJump, filledUpTo: filled.map { MediaTime(ticks: $0) })
        if let reason = step.drop {
            drops.append(reason)
            return
        }
        if cadence.order == .afterOriginal { outputs.append((step.original!, nil)) }
        let made = min(step.count, making)
        for index in 0..<made { outputs.append((step.slots[index].presentation, step.slots[index].phase)) }
        guard cadence.order == .beforeOriginal else { return }
        if let place = made == step.count ? step.original : step.originalAlone {
            outputs.append((place, nil))
        } else {
            drops.append(.cadence)
        }
    }

    mutating func originals(_ count: Int, every ticks: Int64, from start: Int64 = 0) {
        for index in 0..<Int64(count) { original(start + index * ticks) }
    }

    var times: [Int64] { outputs.map(\.presentation.ticks) }
    var isStrictlyIncreasing: Bool { zip(times, times.dropFirst()).allSatisfy { $0 < $1 } }
}

extension Cadence.Rate {
    static func constant(_ n: Int64, _ d: Int64 = 1) -> Self {
        .constant(SlotGrid(rate: Rational(n, d), start: MediaTime(ticks: 0)))
    }
}

@Suite struct SlotGridTests {
    @Test(arguments: [Rational(60), Rational(30_000, 1_001), Rational(60_000, 1_001), Rational(50), Rational(99_991, 997)])
    func slotsAndTimesAreEachOthersInverse(rate: Rational) {
        let grid = SlotGrid(rate: rate, start: MediaTime(ticks: 90_000))
        // A day, thirty years in, and before the beginning.
        for first in [0, Int64(24 * 3_600 * rate.value), Int64(30 * 365 * 86_400 * rate.value), -5_000] {
            for slot in first..<(first + 2_000) {
                let time = grid.time(of: slot)
                #expect(grid.slot(at: time) == slot && grid.slot(at: time + -1) == slot - 1)
            }
        }
    }
}

@Suite struct CadenceTests {
    /// While the source was lost the output went on. What comes for that time is late, and what comes after makes no pair.
    @Test func originalsOfATimeThatWasFilledAreLate() {
        var run = CadenceRun(.multiple(2))
        run.originals(3, every: 3000)
        for time: Int64 in [9000, 12_000] { run.original(time, filledUpTo: 12_500) }
        run.original(13_000, filledUpTo: 12_500)
        run.original(16_000, filledUpTo: 12_500)
        #expect(run.drops == [.late, .late])
        #expect(run.times == [0, 1500, 3000, 4500, 6000, 13_000, 14_500, 16_000])
    }

    /// Frames are added between the next pair, and no longer between the one after the change back.
    @Test(arguments: [SynthesisOrder.beforeOriginal, .afterOriginal], [2, 3])
    func theMultipleChangesBetweenTwoOriginals(order: SynthesisOrder, factor: Int) {
        var run = CadenceRun(.multiple(1), order: order)
        run.originals(4, every: 3000)
        run.cadence.change(multiple: factor)
        run.originals(4, every: 3000, from: 12_000)
        run.cadence.change(multiple: 1)
        run.originals(4, every: 3000, from: 24_000)
        #expect(run.isStrictlyIncreasing && run.drops.isEmpty, "\(run.times)")
        let originals = run.outputs.filter { $0.phase == nil }.map(\.presentation.ticks)
        #expect(originals == (0..<12).map { $0 * 3000 })
        let added = run.outputs.filter { $0.phase != nil }.map(\.presentation.ticks)
        let first: Int64 = order == .beforeOriginal ? 9000 : 12_000
        let expected = (0..<4).flatMap { (pair: Int64) -> [Int64] in
            (1..<Int64(factor)).map { (step: Int64) -> Int64 in first + pair * 3000 + step * 3000 / Int64(factor) }
        }
        #expect(added == expected)
    }

    @Test func doublesAFixedRateAtExactMiddles() {
        var run = CadenceRun(.multiple(2))
        run.originals(4, every: 3_000)
        #expect(run.times == [0, 1_500, 3_000, 4_500, 6_000, 7_500, 9_000])
        #expect(run.outputs.compactMap(\.phase) == Array(repeating: Rational(1, 2), count: 3))
    }

    @Test func followsAVariableRatePairByPair() {
        var run = CadenceRun(.multiple(3))
        for ticks: Int64 in [0, 3_000, 9_000, 9_900] { run.original(ticks) }
        #expect(run.times == [0, 1_000, 2_000, 3_000, 5_000, 7_000, 9_000, 9_300, 9_600, 9_900])
        #expect(run.outputs.compactMap(\.phase) == [1, 2, 1, 2, 1, 2].map { Rational($0, 3) })
    }

    @Test func makesSixtyOfTwentyFour() {
        var run = CadenceRun(.constant(60))
        run.originals(5, every: 3_750)
        #expect(run.times == Array(stride(from: 0, through: 15_000, by: 1_500)))
        let phases: [Rational?] = [nil, Rational(2, 5), Rational(4, 5), Rational(1, 5), Rational(3, 5), nil]
        #expect(run.outputs.prefix(6).map(\.phase) == phases)
        #expect(run.drops == [.cadence, .cadence])
    }

    @Test(arguments: [0, 1]) func withoutSynthesisEveryOriginalOfTwentyFourIsShownInASlotOfItsOwn(making: Int) {
        var run = CadenceRun(.constant(60))
        run.making = making
        run.originals(50, every: 3_750)
        #expect(run.outputs.count { $0.phase == nil } == 50 - run.drops.count && run.isStrictlyIncreasing)
        #expect(making > 0 || run.drops.isEmpty)
        #expect(run.times.allSatisfy { $0 % 1_500 == 0 })
    }

    @Test func makesTwentyFourOfSixtyFromTheNearestOriginals() {
        var run = CadenceRun(.constant(24))
        run.originals(601, every: 1_500)
        #expect(run.times == (0...240).map { $0 * 3_750 } && run.outputs.allSatisfy { $0.phase == nil })
        #expect(run.drops.count == 360 && run.drops.allSatisfy { $0 == .cadence })
    }

    /// When the rates nearly agree, the originals are shown. One slot in a thousand gets a synthesised frame, or one original
    /// in a thousand is dropped.
    @Test(arguments: [(30, 1, 3_003), (30_000, 1_001, 3_000), (30, 1, 2_997)] as [(Int64, Int64, Int64)])
    func showsOriginalsWhereThereIsNearlyOneForEachSlot(n: Int64, d: Int64, every ticks: Int64) {
        var run = CadenceRun(.constant(n, d))
        run.originals(5_000, every: ticks)
        let made = run.outputs.count { $0.phase != nil }
        #expect(made + run.drops.count <= 6)
        let grid = SlotGrid(rate: Rational(n, d), start: MediaTime(ticks: 0))
        #expect(run.outputs.enumerated().allSatisfy { $1.presentation == grid.time(of: Int64($0)) })
    }

    @Test func makesFiftyOfNTSC() {
        var run = CadenceRun(.constant(50))
        run.originals(301, every: 3_003)
        let expected = (0..<Int64(run.outputs.count)).map { $0 * 1_800 }
        #expect(run.times == expected)
        // The second slot has the phase 1800/3003. The sixth has 2991/3003, which is near enough to show the original.
        #expect(run.outputs[1].phase == Rational(1_800, 3_003))
        #expect(run.outputs.count { $0.phase == nil } > 15)
    }

    @Test func makesAConstantRateOfAVariableOne() {
        var random = SplitMix64(seed: 3)
        var run = CadenceRun(.constant(60))
        var ticks: Int64 = 0
        for _ in 0..<2_000 {
            run.original(ticks)
            ticks += 300 + Int64(random.next() % 6_000)
        }
        #expect(run.outputs.enumerated().allSatisfy { $1.presentation.ticks == Int64($0) * 1_500 })
        #expect(run.outputs.allSatisfy { $0.phase.map { $0.value > 0 && $0.value < 1 } ?? true })
    }

    static let days: [(Rational, Int64)] = [
        (Rational(60_000, 1_001), 3_003), (Rational(60), 3_750), (Rational(50), 3_003), (Rational(24), 1_501),
    ]

    @Test(arguments: Thoroughness.isFull ? days : [days[0]])
    func doesNotDriftInADay(rate: Rational, every ticks: Int64) {
        var cadence = Cadence(.constant(SlotGrid(rate: rate, start: MediaTime(ticks: 7))))
        let originals = 24 * 3_600 * MediaTime.ticksPerSecond / ticks
        var slots: Int64 = 0
        var wrong = 0
        var largestError: Int64 = 0
        for index in 0..<originals {
            let step = cadence.layOut(originalAt: MediaTime(ticks: 7 + index * ticks))
            for slot in 0..<(step.count + (step.original == nil ? 0 : 1)) {
                let time = slot < step.count ? step.slots[slot].presentation : step.original!
                if time.ticks != 7 + slots * MediaTime.ticksPerSecond * rate.denominator / rate.numerator { wrong += 1 }
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
        for rate in [Cadence.Rate.multiple(2), .multiple(3), .constant(60), .constant(50)] {
            var run = CadenceRun(rate, order: .afterOriginal)
            var ticks: Int64 = 0
            for _ in 0..<1_000 {
                run.original(ticks)
                ticks += 2_000 + Int64(random.next() % 2_000)
            }
            #expect(run.isStrictlyIncreasing)
            #expect(run.outputs.allSatisfy { $0.phase.map { $0.value > 1 && $0.value <= 2 } ?? true })
            #expect(run.drops.count < 20, "an original is shown although a prediction has gone further")
        }
    }

    /// The first frame of another clock is shown as it is, in the nearest free slot. Frames after it do not move.
    @Test(arguments: [0, 400, 749, 751, 1_499]) func beginsAnewOnASlot(offset: Int64) {
        var run = CadenceRun(.constant(60))
        run.originals(10, every: 3_000)
        for index: Int64 in 0..<10 { run.original(40_500 + offset + index * 3_000, isJump: index == 0) }
        let after = run.outputs.filter { $0.presentation.ticks > 27_000 }
        #expect(after[0].phase == nil && abs(after[0].presentation.ticks - 40_500 - offset) <= 750)
        #expect(run.isStrictlyIncreasing)
        for output in after.dropFirst() {
            guard let phase = output.phase else {
                // Within a sixteenth of a slot.
                let beside = (output.presentation.ticks - 40_500 - offset) % 3_000
                #expect(min(abs(beside), abs(beside - 3_000), abs(beside + 3_000)) <= 94)
                continue
            }
            // The phase is its position between the two originals.
            let place = Double(output.presentation.ticks - 40_500 - offset) / 3_000
            #expect(abs(phase.value - (place - place.rounded(.down))) < 1e-9)
        }
    }

    /// The first frame of a new clock uses the slot of the frame after it, which is dropped. The clock does not move.
    @Test func anOccupiedSlotMovesNothing() {
        var run = CadenceRun(.constant(30))
        run.originals(10, every: 3_000)
        for index: Int64 in 0..<10 { run.original(27_001 + index * 3_000, isJump: index == 0) }
        #expect(run.times == (0..<19).map { $0 * 3_000 } && run.drops == [.cadence])
    }

    /// The offset of a jump does not add up over many jumps.
    @Test func doesNotDriftFromTheTimeLineByJumps() {
        var run = CadenceRun(.constant(60))
        var ticks: Int64 = 0
        for index in 0..<10_000 {
            run.original(ticks, isJump: index % 3 == 0)
            ticks += 3_100
        }
        #expect(run.isStrictlyIncreasing)
        #expect(abs(run.times.last! - ticks + 3_100) <= 1_500)
    }

    @Test func nothingIsMadeAcrossALongGap() {
        for rate in [Cadence.Rate.multiple(2), .constant(60)] {
            var run = CadenceRun(rate)
            run.originals(4, every: 3_000)
            run.originals(4, every: 3_000, from: 90_000)
            let after = run.outputs.first { $0.presentation.ticks > 9_000 }!
            #expect(after.presentation.ticks == 90_000 && after.phase == nil)
        }
    }

    @Test func whatRepeatsOrGoesBackIsDropped() {
        var run = CadenceRun(.multiple(2))
        for ticks: Int64 in [0, 3_000, 3_000, 1_500, 6_000] { run.original(ticks) }
        #expect(run.drops == [.discontinuity, .discontinuity])
        #expect(run.times == [0, 1_500, 3_000, 4_500, 6_000])
    }

    @Test func slotsThatRepeatsHaveFilledAreGone() {
        var run = CadenceRun(.constant(60))
        run.originals(4, every: 3_000)
        for ticks: Int64 in [12_000, 15_000, 18_000] { run.original(ticks, filledUpTo: 15_000) }
        #expect(run.drops == [.late, .late])
        #expect(run.times.suffix(2) == [16_500, 18_000] && run.isStrictlyIncreasing)
        run.original(60_000, filledUpTo: 60_000)
        #expect(run.drops.count == 3)
    }
}
