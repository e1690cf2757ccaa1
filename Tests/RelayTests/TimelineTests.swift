import Media
import Schedule
import Testing
@testable import Relay

@Suite struct TimelineTests {
    private func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: Int64((seconds * 1e9).rounded())) }
    private func stamp(_ seconds: Double) -> MediaTime { MediaTime(ticks: Int64((seconds * 90_000).rounded())) }

    @Test func differencesStayAsTheyCame() {
        var timeline = Timeline()
        let first = timeline.map(stamp(1000), arrival: at(0))
        let second = timeline.map(stamp(1000.04), arrival: at(0.04))
        let reordered = timeline.map(stamp(1000.02), arrival: at(0.05))
        #expect(first.output == Timeline.start)
        #expect(second.output - first.output == 3600)
        #expect(reordered.output - first.output == 1800)
        #expect(!second.isJump && !reordered.isJump)
    }

    @Test(arguments: [-500.0, -2, 5, 95_000]) func aJumpIsBridgedByTheTimeThatPassed(jump: Double) {
        var timeline = Timeline()
        let before = timeline.map(stamp(1000), arrival: at(10))
        let after = timeline.map(stamp(1000 + jump), arrival: at(12))
        #expect(after.isJump)
        #expect(after.output - before.output == 180_000)
    }

    /// A clock that stands still, and one that goes round in a circle too small for a jump.
    @Test(arguments: [1, 12]) func aClockThatDoesNotGoOnIsLeft(circle: Int) {
        var timeline = Timeline()
        var newest = MediaTime(ticks: 0)
        var shown: [Double] = []
        for n in 0..<150 {
            let arrival = at(10 + Double(n) / 30)
            let mapped = timeline.map(
                frame: stamp(5 + Double(n % circle) / 30), arrival: arrival, emitBy: arrival + .milliseconds(80), filled: nil)
            if mapped.output > newest {
                newest = mapped.output
                shown.append(Double(n) / 30)
            }
        }
        let gaps = zip(shown, shown.dropFirst() + [5]).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 < 1 }, "\(gaps)")
        // As far on as time has passed, but for the last wait.
        #expect(abs(Double(newest - Timeline.start) / 90_000 - shown.last!) < 0.5)
    }

    /// Frames that are shown before one that has come are no clock that stands still, however slowly they come.
    @Test func reorderedFramesKeepTheClock() {
        var timeline = Timeline()
        for n in 0..<40 {
            let place = [0, 4, 1, 2, 3][n % 5] + n / 5 * 5
            let arrival = at(10 + Double(n) / 4)
            let mapped = timeline.map(
                frame: stamp(5 + Double(place) / 4), arrival: arrival, emitBy: arrival + .milliseconds(80), filled: nil)
            #expect(mapped.output - Timeline.start == Int64(place) * 22_500 && !mapped.isJump)
        }
    }

    @Test func aRestartedSourceGoesOnEvenWithTheSameStamps() {
        var timeline = Timeline()
        let before = timeline.map(stamp(1.4), arrival: at(0))
        _ = timeline.map(stamp(1.9), arrival: at(0.5))
        timeline.sourceRestarted()
        let after = timeline.map(stamp(1.4), arrival: at(3.5))
        #expect(after.isJump)
        #expect(after.output - before.output == Int64(3.5 * 90_000))
    }

    /// Whatever a source does with its stamps, the output never goes back by more than a second's reordering and a
    /// second's crossing.
    @Test(arguments: 0..<20) func theOutputNeverGoesBack(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var timeline = Timeline()
        var newest = MediaTime(ticks: 0)
        var input = stamp(1000)
        for n in 0..<2_000 {
            input = input + Int64.random(in: 0...4_000, using: &random)
            if Int.random(in: 0..<50, using: &random) == 0 {
                input = MediaTime(ticks: Int64.random(in: 0...(1 << 33), using: &random))
            }
            if Int.random(in: 0..<80, using: &random) == 0 { timeline.sourceRestarted() }
            let output = timeline.map(input, arrival: at(Double(n) * 0.033)).output
            #expect(output - newest >= -2 * MediaTime.ticksPerSecond)
            newest = max(newest, output)
        }
    }
}

/// What passes beside the frames: it goes where they are and moves nothing.
@Suite struct PassingStampTests {
    private static let offsets = [-9.5, -5, -1.2, -0.3, 0, 0.4, 1.2, 2.5, 5, 9.5]

    /// A source of 25 frames a second with units of other streams beside them, in virtual time.
    private struct Program {
        var timeline = Timeline()
        /// The source's clock, the time here, and by how much the stamps of frames and of other streams have jumped.
        var seconds = 1000.0
        var now = 0.0
        var jump = (frames: 0.0, beside: 0.0)
        var leads: [Double]
        var frames: [(seconds: Double, mapped: Timeline.Mapped)] = []
        /// The output's lead over the newest frame's, nil for what was left out.
        var beside: [(stream: Int, output: MediaTime?)] = []

        init(leads: [Double]) { self.leads = leads }

        private func stamp(_ seconds: Double) -> MediaTime { MediaTime(ticks: Int64((seconds * 90_000).rounded())) }
        private var arrival: MonotonicTime { MonotonicTime(nanoseconds: Int64((now * 1e9).rounded())) }

        mutating func run(_ count: Int, frames hasFrames: Bool = true, passing: Bool = true, real: Bool = true) {
            for _ in 0..<count {
                if hasFrames { frames.append((seconds, timeline.map(stamp(seconds + jump.frames), arrival: arrival))) }
                for (stream, lead) in leads.enumerated() where passing {
                    let input = stamp(seconds + jump.beside + lead)
                    beside.append((stream, timeline.map(passing: input, stream: stream, arrival: arrival)))
                }
                seconds += 0.04
                if real { now += 0.04 }
            }
        }

        var jumps: Int { frames.count { $0.mapped.isJump } }
        /// Whether the output goes as the source's clock does, give or take a tick.
        var isEven: Bool {
            frames.allSatisfy {
                let expected = ($0.seconds - frames[0].seconds) * 90_000
                return abs(Double($0.mapped.output - frames[0].mapped.output) - expected) <= 1
            }
        }
        /// How far from their place beside the frames the last units of a stream were laid at most, in ticks; nil when one
        /// was left out.
        func error(stream: Int, last count: Int) -> Int64? {
            let outputs = beside.filter { $0.stream == stream }.suffix(count)
            guard outputs.allSatisfy({ $0.output != nil }) else { return nil }
            let end = frames[0].mapped.output + Int64(((seconds - 0.04 - frames[0].seconds) * 90_000).rounded())
            return outputs.reversed().enumerated().map { back, unit in
                let place = end + Int64(((leads[stream] - 0.04 * Double(back)) * 90_000).rounded())
                return abs(unit.output! - place)
            }.max()
        }
    }

    @Test(arguments: offsets) func whatLiesApartStaysApartAndMovesNothing(lead: Double) {
        var program = Program(leads: [lead, -lead / 2])
        program.run(2_000)
        #expect(program.isEven && program.jumps == 0)
        for stream in 0..<2 { #expect(program.error(stream: stream, last: 2_000).map { $0 <= 1 } == true) }
    }

    @Test(arguments: [-500.0, -12, 12, 95_000]) func whatHasNothingToDoWithTheFramesIsLeftOut(lead: Double) {
        var program = Program(leads: [lead])
        program.run(1_000)
        #expect(program.isEven && program.jumps == 0)
        #expect(program.beside.allSatisfy { $0.output == nil })
    }

    /// The frames of a source that does not jump are laid the same, whatever passes beside them.
    @Test(arguments: 0..<20) func framesDoNotSeeWhatPasses(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var (alone, beside) = (Timeline(), Timeline())
        for n in 0..<2_000 {
            let arrival = MonotonicTime(nanoseconds: Int64(n) * 40_000_000)
            let stamp = MediaTime(ticks: 90_000_000 + Int64(n) * 3_600)
            #expect(alone.map(stamp, arrival: arrival) == beside.map(stamp, arrival: arrival))
            for _ in 0..<Int.random(in: 0..<4, using: &random) {
                let apart = Int64.random(in: -2_000_000...2_000_000, using: &random)
                let output = beside.map(
                    passing: stamp + apart, stream: Int.random(in: 0..<3, using: &random), arrival: arrival)
                // As far apart as it came, or not at all.
                if let output { #expect(output - beside.map(stamp, arrival: arrival).output == apart) }
            }
        }
    }

    /// The frames stop and the sound goes on, at the pace of a live source or as fast as a file is read.
    @Test(arguments: offsets, [true, false]) func soundGoesOnWithoutFrames(lead: Double, real: Bool) {
        var program = Program(leads: [lead])
        program.run(250, real: real)
        program.run(1_500, frames: false, real: real)
        #expect(program.error(stream: 0, last: 1_750).map { $0 <= 1 } == true)
        program.run(250, real: real)
        #expect(program.isEven && program.jumps == 0)
        #expect(program.error(stream: 0, last: 2_000).map { $0 <= 1 } == true)
    }

    /// A frame every five seconds.
    @Test func slowFramesDoNotJump() {
        var program = Program(leads: [-0.2])
        for _ in 0..<20 {
            program.run(1)
            program.run(124, frames: false)
        }
        #expect(program.isEven && program.jumps == 0)
    }

    @Test(arguments: [-2.5, -0.9, 0, 0.4, 0.9]) func soundMayBeginBeforeTheFrames(lead: Double) {
        var program = Program(leads: [lead])
        program.run(100, frames: false)
        program.run(100)
        #expect(program.isEven && program.jumps == 0)
        #expect(program.error(stream: 0, last: 200).map { $0 <= 1 } == true)
        #expect(program.beside[0].output == Timeline.start)
    }

    /// At a constant rate the first frame of each epoch lies on a slot, and sound exactly where it was beside it: at the
    /// start, after a restart and after a jump, whichever comes first.
    @Test(arguments: [Rational(24), Rational(25), Rational(30), Rational(30_000, 1_001), Rational(50), Rational(60)])
    func framesLieOnSlotsAndSoundBesideThem(rate: Rational) {
        let grid = SlotGrid(rate: rate, start: Timeline.start)
        var random = SplitMix64(seed: UInt64(rate.numerator))
        for _ in 0..<50 {
            var timeline = Timeline(grid: grid)
            var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
            var last = MediaTime(ticks: 0)
            for stretch in 0..<4 {
                let base = Int64(stretch + 1) * 40_000_000 + Int64.random(in: 0..<90_000, using: &random)
                let ahead = Int64.random(in: -40_000...40_000, using: &random)
                var held: [(input: Int64, output: MediaTime, epoch: UInt32?)] = []
                func hear(_ input: Int64) {
                    guard let output = timeline.map(passing: MediaTime(ticks: input), stream: 0, arrival: now) else {
                        return
                    }
                    held.append((input, output, timeline.provisionalEpoch))
                }
                if stretch > 0 {
                    now = now + .milliseconds(Double.random(in: 1...3_000, using: &random))
                    if stretch % 2 == 1 { timeline.sourceRestarted() }
                }
                if Bool.random(using: &random), stretch != 2 {
                    for index: Int64 in 0..<5 { hear(base + ahead + index * 1_920) }
                }
                let first = timeline.map(MediaTime(ticks: base), arrival: now)
                #expect(grid.time(of: grid.slot(at: first.output)) == first.output)
                #expect(first.output > last && first.moved >= 0)
                for index: Int64 in 5..<60 { hear(base + ahead + index * 1_920) }
                for sound in held {
                    let place = sound.output + (sound.epoch == first.epoch ? first.moved : 0)
                    #expect(place - first.output == sound.input - base, "\(stretch)")
                }
                for index: Int64 in 1..<30 {
                    now = now + .milliseconds(40)
                    last = timeline.map(MediaTime(ticks: base + index * 3_600), arrival: now).output
                    #expect(last - first.output == index * 3_600)
                }
            }
        }
    }

    /// A source that leaps ahead by less than a new clock does: a cut, after which its frames lie on slots again.
    @Test(arguments: [40_000, 90_400, 260_000] as [Int64]) func framesLieOnSlotsAfterACut(leap: Int64) {
        let grid = SlotGrid(rate: Rational(60), start: Timeline.start)
        var timeline = Timeline(grid: grid)
        var outputs: [MediaTime] = []
        for index: Int64 in 0..<60 {
            let arrival = MonotonicTime(nanoseconds: index * 33_333_333)
            let input = MediaTime(ticks: index * 3_000 + (index < 30 ? 0 : leap))
            outputs.append(timeline.map(input, arrival: arrival).output)
            let sound = timeline.map(passing: input + 700, stream: 0, arrival: arrival)
            #expect(sound! - outputs.last! == 700)
        }
        #expect(outputs.allSatisfy { grid.time(of: grid.slot(at: $0)) == $0 })
        #expect((0..<1_500).contains(outputs[30] - outputs[29] - 3_000 - leap))
        // What was never on slots, such as a variable rate, is left where it is.
        var other = Timeline(grid: grid)
        let first = other.map(MediaTime(ticks: 0), arrival: MonotonicTime(nanoseconds: 0)).output
        for ticks: Int64 in [1_000, 50_000, 100_700] {
            #expect(other.map(MediaTime(ticks: ticks), arrival: MonotonicTime(nanoseconds: ticks)).output - first == ticks)
        }
    }

    /// Sound that is ahead of the picture by more than the source was away takes no time from the frames.
    @Test(arguments: [nil, SlotGrid(rate: Rational(30), start: Timeline.start)])
    func soundThatIsAheadTakesNoFrames(grid: SlotGrid?) {
        func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: Int64((seconds * 1e9).rounded())) }
        func stamp(_ seconds: Double) -> MediaTime { MediaTime(ticks: Int64((seconds * 90_000).rounded())) }
        var timeline = Timeline(grid: grid)
        let before = timeline.map(stamp(10), arrival: at(0)).output
        timeline.sourceRestarted()
        let sound = timeline.map(passing: stamp(500.9), stream: 0, arrival: at(0.2))
        let frame = timeline.map(stamp(500), arrival: at(0.21))
        #expect(abs(frame.output - before - 18_900) <= (grid == nil ? 0 : 3_000))
        #expect(frame.isJump && sound! + frame.moved - frame.output == 81_000)
    }

    /// Sound that lies far from the frames comes before the first of them: it is they that count.
    @Test(arguments: [-1_000.0, -8, 8, 1_000]) func framesReplaceWhatSoundHasBegun(lead: Double) {
        var program = Program(leads: [lead])
        program.run(100, frames: false)
        program.run(100)
        #expect(program.isEven && program.jumps == 0)
        #expect(program.frames[0].mapped.output > Timeline.start)
        #expect(program.frames[0].mapped.output - Timeline.start <= 5 * 90_000)
        if abs(lead) < 10 {
            #expect(program.error(stream: 0, last: 100).map { $0 <= 1 } == true)
        } else {
            #expect(program.beside.suffix(100).allSatisfy { $0.output == nil })
        }
    }

    @Test(arguments: [-500.0, 500], [0.2, 0.8]) func aJumpThatSoundSeesFirstIsTheFramesToMake(
        jump: Double, first: Double
    ) {
        var program = Program(leads: [-0.3])
        program.run(250)
        program.jump.beside = jump
        let count = Int(first / 0.04)
        program.run(count)
        #expect(program.beside.suffix(count).allSatisfy { $0.output == nil })
        program.jump.frames = jump
        program.run(250)
        #expect(program.jumps == 1 && program.isEven)
        #expect(program.error(stream: 0, last: 250).map { $0 <= 1 } == true)
    }

    /// What could be where it says is laid there, until the frames tell better.
    @Test func aSmallJumpThatSoundSeesFirstMovesNothing() {
        var program = Program(leads: [-0.3])
        program.run(250)
        program.jump.beside = 5
        program.run(20)
        program.jump.frames = 5
        program.run(250)
        #expect(program.jumps == 1 && program.isEven)
        #expect(program.error(stream: 0, last: 250).map { $0 <= 1 } == true)
    }

    /// Sound that lies behind the frames crosses a jump after them, and loses nothing.
    @Test(arguments: [-500.0, 500, 95_000], [0.1, 0.9, 1.5]) func soundCrossesAJumpLater(jump: Double, later: Double) {
        var program = Program(leads: [-later])
        program.run(250)
        program.jump.frames = jump
        program.run(Int((later / 0.04).rounded()))
        program.jump.beside = jump
        program.run(250)
        #expect(program.jumps == 1 && program.isEven)
        #expect(program.error(stream: 0, last: 500).map { $0 <= 1 } == true)
    }

    /// After a restart the first frame is the jump, also where sound came before it.
    @Test(arguments: [-0.9, 0, 2.5, 8]) func soundMayReturnBeforeTheFrames(lead: Double) {
        var program = Program(leads: [lead])
        program.run(250)
        program.now += 3
        program.timeline.sourceRestarted()
        program.seconds = 7
        program.run(20, frames: false)
        let returned = program.frames.count
        program.run(250)
        #expect(program.jumps == 1 && program.frames[returned].mapped.isJump)
        // As late as it came.
        let span = program.frames[returned].mapped.output - program.frames[returned - 1].mapped.output
        #expect(abs(span - Int64((3 + 0.04 * 21) * 90_000)) <= 3 * 90_000)
        program.frames.removeFirst(returned)
        #expect(program.isEven)
        #expect(program.error(stream: 0, last: 250).map { $0 <= 1 } == true)
    }
}
