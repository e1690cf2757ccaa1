import Media
import Schedule
import Telemetry
import Testing
@testable import Relay

/// The relay's own values for a constant output rate, put together as its threads do and run in virtual time: ingest
/// (`Timeline`, `Expectation`), enhance (`Cadence`) and emit (`Repeater`), with a fixed time for the work between.
struct VirtualRelay {
    struct Output: Equatable {
        enum Kind { case original, synthesised, repeated, slate }
        var time: MediaTime
        var kind: Kind
        var at: MonotonicTime
    }

    private struct Finished {
        var time: MediaTime
        var kind: Output.Kind
        var ready: MonotonicTime
    }

    let grid: SlotGrid
    let budget: Nanoseconds
    let work: Nanoseconds
    private(set) var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    var timeline: Timeline
    private var expected = Expectation()
    private var cadence: Cadence
    private var repeater: Repeater
    private var epoch: UInt32 = 0
    private var queue: [Finished] = []
    private(set) var outputs: [Output] = []
    private(set) var originals = 0
    private(set) var synthesised = 0
    private(set) var drops: [DropReason] = []

    init(
        _ n: Int64, _ d: Int64 = 1, budget: Nanoseconds = .milliseconds(80), work: Nanoseconds = .milliseconds(20),
        hold: Nanoseconds = .seconds(2), order: SynthesisOrder = .beforeOriginal
    ) {
        grid = SlotGrid(rate: Rational(n, d), start: Timeline.start)
        timeline = Timeline(grid: grid)
        self.budget = budget
        self.work = work
        cadence = Cadence(.constant(grid), order: order)
        repeater = Repeater(grid: grid, hold: hold)
    }

    /// An original arrives now.
    mutating func receive(_ stamp: Int64, isDecodable: Bool = true) {
        originals += 1
        let emitBy = now + budget
        let mapped = timeline.map(
            frame: MediaTime(ticks: stamp), arrival: now, emitBy: emitBy, filled: repeater.filled)
        expected.observe(mapped.output, emitBy: emitBy)
        guard isDecodable else { return drops.append(.noKeyframe) }
        var next = cadence
        let step = next.layOut(originalAt: mapped.output, isJump: mapped.epoch != epoch, filledUpTo: repeater.filled?.slot)
        cadence = next
        if let reason = step.drop { return drops.append(reason) }
        epoch = mapped.epoch
        let ready = now + work
        if cadence.order == .afterOriginal {
            queue.append(Finished(time: step.original!, kind: .original, ready: ready))
        }
        for index in 0..<step.count {
            synthesised += 1
            queue.append(Finished(time: step.slots[index].presentation, kind: .synthesised, ready: ready))
        }
        guard cadence.order == .beforeOriginal else { return }
        if let time = step.original {
            queue.append(Finished(time: time, kind: .original, ready: ready))
        } else {
            drops.append(.cadence)
        }
    }

    /// Time goes on, a millisecond at a time.
    mutating func run(for length: Nanoseconds) { run(until: now + length) }

    mutating func run(until end: MonotonicTime) {
        while now < end {
            now = min(now + .milliseconds(1), end)
            while let first = queue.first, first.ready <= now {
                queue.removeFirst()
                emit(first)
            }
            while fill(repeater.fillOverdueSlot(now: now, expected, hasFramesInFlight: !queue.isEmpty)) {}
        }
    }

    private mutating func fill(_ filler: Repeater.Filler) -> Bool {
        switch filler {
        case .nothing: return false
        case .repeated(let time): outputs.append(Output(time: time, kind: .repeated, at: now))
        case .slate(let time): outputs.append(Output(time: time, kind: .slate, at: now))
        }
        return true
    }

    private mutating func emit(_ frame: Finished) {
        guard let place = repeater.slot(for: frame.time, now: now) else { return drops.append(.late) }
        while fill(repeater.fillSlot(before: place, now: now)) {}
        repeater.show(place, now: now)
        outputs.append(Output(time: place, kind: frame.kind, at: now))
    }

    /// Originals at a steady rate in real time, and the time after the last one.
    mutating func receive(_ count: Int, from first: Int64, every ticks: Int64, arrivingEvery interval: Nanoseconds? = nil) {
        let interval = interval ?? MediaTime(ticks: ticks).nanoseconds
        let start = now
        for index in 0..<Int64(count) {
            receive(first + index * ticks)
            run(until: start + interval * (index + 1))
        }
    }

    func count(_ kind: Output.Kind) -> Int { outputs.count { $0.kind == kind } }

    /// Every slot from the first on has one frame, in order.
    var isConstant: Bool {
        guard let first = outputs.first else { return true }
        let start = grid.slot(at: first.time)
        return outputs.enumerated().allSatisfy { $1.time == grid.time(of: start + Int64($0)) }
    }

    /// in + synthesised + repeated = emitted + dropped + in flight.
    var balances: Bool {
        originals + synthesised + count(.repeated) + count(.slate) == outputs.count + drops.count + queue.count
    }
}

@Suite struct SlotTests {
    private static let rates: [(Int64, Int64, Int64)] = [
        (60, 1, 3_750), (24, 1, 1_500), (50, 1, 3_003), (30_000, 1_001, 3_600), (60, 1, 3_000), (30, 1, 3_000),
    ]

    @Test(arguments: rates) func everySlotGetsOneFrameAndNoneIsRepeated(n: Int64, d: Int64, every ticks: Int64) {
        var relay = VirtualRelay(n, d)
        relay.receive(300, from: 900_000, every: ticks)
        let expected = Double(300 * ticks) * Double(n) / Double(d) / 90_000
        #expect(relay.isConstant && relay.balances)
        #expect(relay.count(.repeated) == 0 && relay.drops.allSatisfy { $0 == .cadence })
        #expect(abs(Double(relay.outputs.count) - expected) < 6)
    }

    @Test func aVariableRateBecomesConstant() {
        var random = SplitMix64(seed: 5)
        var relay = VirtualRelay(60)
        var stamp: Int64 = 0
        for _ in 0..<500 {
            let step = Int64.random(in: 900...6_000, using: &random)
            relay.receive(stamp)
            relay.run(for: MediaTime(ticks: step).nanoseconds)
            stamp += step
        }
        #expect(relay.isConstant && relay.balances && relay.count(.repeated) == 0)
    }

    @Test(arguments: [SynthesisOrder.beforeOriginal, .afterOriginal])
    func aFrameThatIsMissingIsInterpolatedOrElseRepeatedWhenItsDeadlineHasPassed(order: SynthesisOrder) {
        var relay = VirtualRelay(60, order: order)
        relay.receive(30, from: 0, every: 3_000)
        // One is lost: the next comes before the deadline of the lost one.
        relay.run(for: .milliseconds(33.3))
        relay.receive(30, from: 31 * 3_000, every: 3_000)
        let repeatedOfOne = relay.count(.repeated)
        #expect(order == .beforeOriginal ? repeatedOfOne == 0 : repeatedOfOne <= 3, "\(repeatedOfOne)")
        // Five are.
        let gap = relay.now
        relay.run(for: MediaTime(ticks: 5 * 3_000).nanoseconds)
        relay.receive(30, from: 66 * 3_000, every: 3_000)
        #expect(relay.count(.repeated) > repeatedOfOne && relay.isConstant && relay.balances)
        let fillers = relay.outputs.filter {
            $0.kind == .repeated && $0.at > gap && $0.time.ticks < 66 * 3_000 + 90_000 - 3_000
        }
        #expect(fillers.allSatisfy { $0.at > gap + relay.budget })
    }

    @Test func whatCannotBeDecodedIsRepeatedAtItsTime() {
        var relay = VirtualRelay(60)
        relay.receive(30, from: 0, every: 3_000)
        let start = relay.now
        for index: Int64 in 30..<60 {
            relay.receive(index * 3_000, isDecodable: false)
            relay.run(for: MediaTime(ticks: 3_000).nanoseconds)
        }
        relay.receive(30, from: 60 * 3_000, every: 3_000)
        #expect(relay.isConstant && relay.balances && relay.drops.count { $0 == .noKeyframe } == 30)
        // The last of them wait for the first good frame while that is under way.
        let late = relay.outputs.filter { $0.kind == .repeated }.map {
            $0.at - (start + MediaTime(ticks: $0.time - Timeline.start - 90_000).nanoseconds)
        }
        #expect(late.count == 61 && late.allSatisfy { $0 <= relay.budget + .milliseconds(19) + relay.work })
    }

    @Test(arguments: [0.5, 10, 100]) func aSourceThatIsGoneAndReturnsTakesTheNextSlots(seconds: Double) {
        var relay = VirtualRelay(60)
        let start = relay.now
        relay.receive(60, from: 7_000_000, every: 3_000)
        relay.run(for: .seconds(seconds))
        relay.timeline.sourceRestarted()
        relay.receive(60, from: 1_000, every: 3_000)
        #expect(relay.isConstant && relay.balances && relay.drops.isEmpty)
        #expect((relay.count(.slate) > 0) == (seconds > 3))
        // The output has gone on in real time, so that what passes through beside it stays in step.
        let length = MediaTime(ticks: relay.outputs.last!.time - relay.outputs[0].time).nanoseconds
        #expect(abs((length - (relay.now - start)).milliseconds) < 60)
        // Originals are shown as they are, in slots of their own.
        #expect(relay.count(.original) == 120 && relay.outputs.last!.kind == .original)
    }

    /// The sender was stopped and goes on where it was: what comes is late, until that is taken for the new state.
    @Test func aClockThatStoodStillIsTakenUpAgainForAllStreams() {
        var relay = VirtualRelay(60)
        relay.receive(60, from: 0, every: 3_000)
        relay.run(for: .seconds(3))
        relay.receive(60, from: 60 * 3_000, every: 3_000)
        #expect(relay.isConstant && relay.balances)
        #expect(relay.drops.allSatisfy { $0 == .late } && (10...20).contains(relay.drops.count), "half a second's")
        #expect(relay.outputs.last!.kind == .original)
        // The others move along: audio of the last frame's time stays beside it.
        let audio = relay.timeline.map(passing: MediaTime(ticks: 119 * 3_000), stream: 0, arrival: relay.now)
        #expect(audio.map { abs($0 - relay.outputs.last!.time) <= 750 } == true)
    }

    @Test(arguments: [40_000_000, -40_000_000, -(1 << 33), 260_000, -100_000, 1 << 50])
    func aClockThatJumpsIsBridged(jump: Int64) {
        var relay = VirtualRelay(60)
        relay.receive(60, from: 1 << 33, every: 3_000)
        relay.receive(60, from: (1 << 33) + 60 * 3_000 + jump, every: 3_000)
        #expect(relay.isConstant && relay.balances && relay.drops.isEmpty)
        #expect(relay.count(.original) == 120)
    }

    @Test func stampsThatRepeatOrGoBackALittleAreLeftOut() {
        var relay = VirtualRelay(60)
        for stamp: Int64 in [0, 3_000, 6_000, 6_000, 4_500, 9_000, 12_000] {
            relay.receive(stamp)
            relay.run(for: .milliseconds(33))
        }
        #expect(relay.drops == [.discontinuity, .discontinuity] && relay.isConstant && relay.balances)
    }

    /// All frames say the same time: no picture is better than one now and then, and the output goes on in real time.
    @Test func aClockThatStandsStillForGoodStopsNothing() {
        var relay = VirtualRelay(60)
        relay.receive(30, from: 0, every: 3_000)
        for _ in 0..<300 {
            relay.receive(87_000)
            relay.run(for: .milliseconds(33))
        }
        #expect(relay.isConstant && relay.balances)
        #expect(relay.count(.original) > 40 && relay.count(.slate) == 0)
    }

    @Test(arguments: [1_001, 999]) func aSourceThatIsFastOrSlowIsFollowed(perMille: Int64) {
        var relay = VirtualRelay(60)
        // Ten minutes of its own clock.
        relay.receive(18_000, from: 0, every: 3_000, arrivingEvery: Nanoseconds(33_333_333 * 1_000 / perMille))
        #expect(relay.isConstant && relay.balances && relay.drops.isEmpty && relay.count(.repeated) == 0)
        #expect(relay.outputs.count == 2 * 18_000 - 1)
    }

    @Test func aBurstAfterAStallLeavesTheNewest() {
        var relay = VirtualRelay(60)
        relay.receive(60, from: 0, every: 3_000)
        relay.run(for: .seconds(1))
        for index: Int64 in 60..<90 { relay.receive(index * 3_000) }
        relay.receive(60, from: 90 * 3_000, every: 3_000)
        #expect(relay.isConstant && relay.balances && relay.drops.allSatisfy { $0 == .late })
        // A second, less the budget, was filled.
        #expect(abs(relay.drops.count - 27) <= 2 && abs(relay.count(.repeated) - 55) <= 3)
        #expect(relay.outputs.last!.kind == .original)
    }

    /// A machine that takes longer than the budget shows late frames, not repeats.
    @Test func aBudgetThatIsTooSmallRepeatsNothing() {
        var relay = VirtualRelay(60, budget: .milliseconds(1), work: .milliseconds(30))
        relay.receive(100, from: 0, every: 3_000)
        #expect(relay.count(.repeated) == 0 && relay.isConstant && relay.balances && relay.drops.isEmpty)
    }

    @Test func neverGoesBackWhateverComes() {
        for seed: UInt64 in 0..<40 {
            var random = SplitMix64(seed: seed)
            var relay = VirtualRelay([24, 30, 50, 60][Int(seed % 4)], order: seed % 3 == 0 ? .afterOriginal : .beforeOriginal)
            var stamp = Int64.random(in: 0...(1 << 33), using: &random)
            for _ in 0..<300 {
                switch Int.random(in: 0..<60, using: &random) {
                case 0: stamp = Int64.random(in: 0...(1 << 33), using: &random)
                case 1: stamp -= Int64.random(in: 0...9_000, using: &random)
                case 2: stamp += Int64.random(in: 0...300_000, using: &random)
                case 3: relay.run(for: .milliseconds(Double.random(in: 0...4_000, using: &random)))
                case 4: relay.timeline.sourceRestarted()
                default: stamp += Int64.random(in: 1_400...4_000, using: &random)
                }
                relay.receive(stamp, isDecodable: Int.random(in: 0..<20, using: &random) > 0)
                relay.run(for: .milliseconds(Double.random(in: 0...60, using: &random)))
            }
            #expect(relay.balances, "seed \(seed)")
            let times = relay.outputs.map(\.time)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed)")
            #expect(times.allSatisfy { relay.grid.time(of: relay.grid.slot(at: $0)) == $0 }, "seed \(seed)")
        }
    }
}
