import Media
import Schedule
import Simulation

/// What it costs to decide: a frame's plan, all that the relay asks and tells the schedule for one frame, a step of the
/// cadence; and an hour of 60 frames a second in virtual time.
///
/// Questions are asked one kind after the other: in turns each would be timed with the others' data in its caches.
public struct PlanBench {
    /// Frames that are asked for.
    public var frames = 100_000
    /// How much is simulated.
    public var seconds = 3600.0

    /// One kind of question, asked many times.
    public struct Row: Sendable {
        public var subject: String
        public var count: Int
        /// Wall time of one, less the clock's own.
        public var median, p99, largest: Nanoseconds
    }

    public init() {}

    public func run() -> [Row] { [plans(), wholeFrames(), cadence(), simulation()] }

    /// One frame, and what the pipeline holds around it.
    private struct Question {
        var now, emitBy: MonotonicTime
        var tiles: Int
        var pipeline: PipelineState
    }

    /// Frames of a stream that has its ups and downs: no two questions are the same.
    private struct Questions {
        var random = SplitMix64(seed: 7)
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        var arrived = 0

        mutating func next() -> Question {
            now = now + .milliseconds(1000 / 60.0)
            let waiting = random.unit() < 0.2 ? Int(random.unit() * 4) : 0
            arrived += 1
            let emitBy = now + .milliseconds(10 + 60 * random.unit())
            var question = Question(now: now, emitBy: emitBy, tiles: Int(random.unit() * 120), pipeline: PipelineState())
            question.pipeline.codedWaiting = waiting
            question.pipeline.newestEmitBy = emitBy + .milliseconds(1000 / 60.0 * Double(waiting))
            question.pipeline.arrived = arrived + waiting
            question.pipeline.encoderQueue = Int(random.unit() * 2)
            question.pipeline.encoderBusySince = random.unit() < 0.3 ? now - .milliseconds(random.unit() * 8) : nil
            return question
        }
    }

    private var scheduler: StreamScheduler<Planner> {
        let size = PictureSize(width: 640, height: 360)
        let configuration = Planner.Configuration(
            input: size, output: size.scaled(by: 2), interval: .milliseconds(1000 / 60.0))
        return StreamScheduler(Planner(configuration), order: .beforeOriginal)
    }

    private func plans() -> Row {
        var (scheduler, questions) = (scheduler, Questions())
        return row("plan of a frame") {
            let question = questions.next()
            let start = MonotonicTime.now()
            let plan = scheduler.plan(
                at: question.now, emitBy: question.emitBy, synthesised: 1, tiles: question.tiles, question.pipeline)
            let time = MonotonicTime.now() - start
            // The next question meets other estimates.
            Self.report(plan, to: &scheduler, questions.random.unit())
            return time
        }
    }

    private func wholeFrames() -> Row {
        var (scheduler, questions) = (scheduler, Questions())
        return row("all calls for a frame") {
            let question = questions.next()
            let noise = questions.random.unit()
            let (now, emitBy, pipeline) = (question.now, question.emitBy, question.pipeline)
            let start = MonotonicTime.now()
            _ = scheduler.admit(at: now, emitBy: emitBy, isKeyframe: false, pipeline)
            let plan = scheduler.plan(at: now, emitBy: emitBy, synthesised: 1, tiles: question.tiles, pipeline)
            _ = scheduler.refine(plan, base: .milliseconds(1.5), at: now)
            _ = scheduler.synthesise(plan, at: now)
            for kind in [FrameKind.synthesised, .original] {
                _ = scheduler.encode(kind, at: now, emitBy: emitBy, behind: pipeline.newestEmitBy)
            }
            Self.report(plan, to: &scheduler, noise)
            return MonotonicTime.now() - start
        }
    }

    /// Reports what a frame's work took.
    private static func report(_ plan: FramePlan, to scheduler: inout StreamScheduler<Planner>, _ noise: Double) {
        func cost(_ milliseconds: Double) -> Nanoseconds { .milliseconds(milliseconds * (0.7 + 0.6 * noise)) }
        scheduler.observe(.decode, cost(1))
        scheduler.observe(.base, cost(1.5))
        if plan.tiles > 0 { scheduler.observe(.tile(plan.tier), cost(4), units: plan.tiles) }
        if plan.synthesised > 0 { scheduler.observe(.synthesise, cost(4)) }
        scheduler.observe(.encode, cost(5))
        scheduler.observe(.emit, cost(0.1))
        scheduler.emitted(slack: cost(20))
    }

    private func cadence() -> Row {
        var cadence = Cadence(.constant(SlotGrid(rate: Rational(60), start: MediaTime(ticks: 0))))
        var time = MediaTime(ticks: 0)
        return row("cadence of a frame, 24 to 60") {
            time = time + 3750
            let start = MonotonicTime.now()
            _ = cadence.layOut(originalAt: time)
            return MonotonicTime.now() - start
        }
    }

    private func simulation() -> Row {
        let load = Load.usual("hour", seconds: seconds, framesPerSecond: 60)
        var times: [Nanoseconds] = []
        for _ in 0..<3 {
            let start = MonotonicTime.now()
            _ = Simulation.run(load)
            times.append(MonotonicTime.now() - start)
        }
        return Self.row("\(Int(seconds)) s at 60 frames/s, simulated", &times)
    }

    private func row(_ subject: String, _ ask: () -> Nanoseconds) -> Row {
        var clock = (0..<1000).map { _ in
            let start = MonotonicTime.now()
            return MonotonicTime.now() - start
        }
        clock.sort()
        var times: [Nanoseconds] = []
        times.reserveCapacity(frames)
        for _ in 0..<frames { times.append(max(ask() - clock[500], .zero)) }
        return Self.row(subject, &times)
    }

    static func row(_ subject: String, _ times: inout [Nanoseconds]) -> Row {
        times.sort()
        return Row(
            subject: subject, count: times.count, median: times[times.count / 2], p99: times[times.count * 99 / 100],
            largest: times[times.count - 1])
    }
}
