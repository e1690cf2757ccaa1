import Media
import Schedule

/// A moment in a simulation: virtual time, and the work that a thread with a fair share has done by then.
///
/// All running threads share the cores evenly, so all have the same speed: 1 while there are no more threads than cores, else
/// cores/threads. A piece of work that starts at `work` = w and needs c ends at `work` = w + c.
struct Moment {
    var time = MonotonicTime(nanoseconds: 0)
    var work = 0.0
}

/// One stream's pipeline in virtual time. Decoder, enhancement and encoder each have a thread, and the queues between them
/// hold at most two raw frames, as in the relay.
struct SimulatedStream<P: Policy> {
    static var rawQueue: Int { 2 }

    private struct Picture {
        var frame: FrameLoad
        var kind: FrameKind
        var plan: FramePlan?
        var tiles = 0
        var emitBy: MonotonicTime
        /// One of an encoder's first.
        var isCold = false
        /// Of the output for which it is made.
        var factors = SimulatedOutput.Factors()
        /// Those that are still to be done.
        var steps = StepSet()
    }

    /// A piece of work that runs on one of the stream's threads.
    private struct Job {
        var start: MonotonicTime
        var startWork: Double
        var end: Double
    }

    private enum Enhancing {
        case step(StepKind), base, tiles, synthesising(Int), handingOver(Int)
    }

    private var scheduler: StreamScheduler<P>
    private(set) var outcome = StreamOutcome()
    /// The cores that enhancement and encoding keep busy.
    private let workers, encoders: Double
    private let keepsTimeline: Bool
    private let overstated: Double
    private var source: FrameSource
    private var nextFrame: FrameLoad?
    private var newestEmitBy = MonotonicTime(nanoseconds: 0)
    private var line = PresentationLine()

    private var coded = GrowingQueue<FrameLoad>()
    private var codedKeyframes = 0
    private var decoding: (frame: FrameLoad, job: Job)?
    private var decoded = GrowingQueue<FrameLoad>()
    private var enhanced: Picture?
    private var enhancing = Enhancing.base
    private var enhanceJob: Job?
    private var toEncode = GrowingQueue<Picture>()
    private var encoding: (picture: Picture, job: Job)?
    /// An original that waits while repeats fill slots before it, and how many are left.
    private var filling: (picture: Picture, left: Int)?
    /// Synthesised frames that were encoded since the last original.
    private var synthesisedBefore = 0
    private var lastEmission: MonotonicTime?
    private var lastRung = -1
    private var rungs = RungRecord()
    private var output: SimulatedOutput?
    /// Pictures go out as they come. It begins and ends at keyframes.
    private(set) var isBypassed = false

    init(
        _ source: FrameSource, policy: P, order: SynthesisOrder, workers: Int, encoders: Int, keepsTimeline: Bool,
        overstated: Double = 1, output: SimulatedOutput? = nil
    ) {
        self.source = source
        scheduler = StreamScheduler(policy, order: order)
        self.workers = Double(workers)
        self.encoders = Planner.coresEncoding(threads: encoders)
        self.keepsTimeline = keepsTimeline
        self.overstated = overstated
        self.output = output
        nextFrame = self.source.next()
        if let output {
            outcome.outputs = [(MonotonicTime(nanoseconds: 0), output.choice)]
            isBypassed = output.choice.isBypass
            reconfigure()
        }
    }

    // MARK: The output

    /// Chooses the output again. Call it as often as cores are measured.
    mutating func chooseOutput(at now: MonotonicTime, cores: Cores) {
        if isBypassed, rungs.rung != nil {
            rungs.end(at: now)
            withPlanner { $0.rest() }
        }
        guard let planner = scheduler.policy as? Planner,
            output?.update(planner, rungs.rung, isBypassed: isBypassed, at: now, cores: cores) == true
        else { return }
        outcome.outputs.append((now, output!.choice))
    }

    /// Another size is another planner's, as in the relay.
    private mutating func reconfigure() {
        guard let output else { return }
        withPlanner { $0.reconfigure(output.configuration($0.policy.configuration)) }
    }

    private mutating func withPlanner(_ body: (inout StreamScheduler<Planner>) -> Void) {
        guard var known = scheduler as? StreamScheduler<Planner> else { return }
        body(&known)
        scheduler = known as! StreamScheduler<P>
    }

    /// A frame that goes out as it came.
    private mutating func bypass(_ frame: FrameLoad, _ moment: Moment) {
        outcome.bypassed += 1
        if let last = lastEmission { outcome.longestFreeze = max(outcome.longestFreeze, moment.time - last) }
        lastEmission = moment.time
    }

    /// The threads that run now.
    var threads: Double {
        (decoding == nil ? 0 : 1) + (enhanceJob == nil ? 0 : workers) + (encoding == nil ? 0 : encoders)
    }

    var nextArrival: MonotonicTime? { nextFrame?.arrival }

    /// The value of ``Moment/work`` at which the next piece of work is done.
    var nextEnd: Double {
        var end = Double.infinity
        if let decoding, decoding.job.end > 0 { end = min(end, decoding.job.end) }
        if let enhanceJob { end = min(end, enhanceJob.end) }
        if let encoding { end = min(end, encoding.job.end) }
        return end
    }

    /// When the work on the present tiles must end.
    var nextStop: MonotonicTime? {
        guard case .tiles = enhancing, enhanceJob != nil, let plan = enhanced?.plan else { return nil }
        return stopped ? nil : plan.stop
    }
    private var stopped = false

    mutating func use(_ cores: Cores) { scheduler.use(cores) }
    /// Nil while no picture is enhanced.
    var demand: Capacity.Demand? { isBypassed ? nil : scheduler.demand }

    private var order: SynthesisOrder { scheduler.order }

    /// The state with which a stage asks the scheduler.
    private var state: PipelineState {
        var state = PipelineState()
        state.codedWaiting = coded.count
        state.keyframeWaiting = codedKeyframes > 0
        state.decodesAnother = decoding != nil
        state.picturesWaiting = decoded.count
        state.arrived = Int(outcome.originals)
        state.newestEmitBy = newestEmitBy
        state.budget = .zero - line.caughtUp
        state.newestIsEarly = line.earliness > .zero
        state.encoderQueue = toEncode.count
        state.encoderBusySince = encoding?.job.start
        return state
    }

    /// Does all that is due at a moment, and starts all work that can start.
    mutating func settle(_ moment: Moment, _ load: Load?) {
        while arrive(moment) || finishEncoding(moment) || startEncoding(moment, load) || enhance(moment, load)
            || finishDecoding(moment) || startDecoding(moment, load)
        {}
    }

    private func job(_ cost: Double, _ moment: Moment, _ load: Load?) -> Job {
        let factor = load.map { $0.disturbances.isEmpty ? 1 : $0.costFactor(at: moment.time) } ?? 1
        return Job(start: moment.time, startWork: moment.work, end: moment.work + max(cost * factor, 1))
    }

    private func reported(_ cost: Nanoseconds) -> Nanoseconds {
        overstated == 1 ? cost : Nanoseconds(Int64(Double(cost.count) * overstated))
    }

    private func isDone(_ job: Job, _ moment: Moment) -> Bool { job.end - moment.work < 0.5 }

    // MARK: Input and decoder

    private mutating func arrive(_ moment: Moment) -> Bool {
        guard var frame = nextFrame, frame.arrival <= moment.time else { return false }
        if let presentation = frame.presentation {
            // All deadlines are equally far from their frames' own times.
            frame.earliness = line.observe(own: frame.emitBy, presentation: presentation, isIdle: coded.isEmpty)
            frame.emitBy = frame.emitBy + frame.earliness
        }
        outcome.originals += 1
        if frame.isKeyframe, let output { isBypassed = output.choice.isBypass }
        if isBypassed {
            bypass(frame, moment)
            nextFrame = source.next()
            return true
        }
        coded.append(frame)
        if frame.isKeyframe { codedKeyframes += 1 }
        outcome.deepestCodedQueue = max(outcome.deepestCodedQueue, coded.count)
        newestEmitBy = frame.emitBy
        nextFrame = source.next()
        return true
    }

    private mutating func startDecoding(_ moment: Moment, _ load: Load?) -> Bool {
        guard decoding == nil, !coded.isEmpty else { return false }
        let frame = coded.removeFirst()
        if frame.isKeyframe { codedKeyframes -= 1 }
        switch scheduler.admit(at: moment.time, emitBy: frame.emitBy, isKeyframe: frame.isKeyframe, state) {
        case .drop(let reason): outcome.droppedOriginals[Int(reason.rawValue)] += 1
        case .decodeIfReferred where !frame.isReference: outcome.droppedOriginals[Int(DropReason.overload.rawValue)] += 1
        case .decode, .decodeIfReferred: decoding = (frame, job(frame.decode, moment, load))
        }
        return true
    }

    /// The decoder keeps a picture while the queue is full, so no picture is lost before its plan.
    private mutating func finishDecoding(_ moment: Moment) -> Bool {
        guard let (frame, job) = decoding, isDone(job, moment) || job.end == 0 else { return false }
        if job.end != 0 {
            scheduler.observe(.decode, reported(moment.time - job.start))
            decoding!.job.end = 0
        }
        guard decoded.count < Self.rawQueue else { return false }
        decoded.append(frame)
        decoding = nil
        outcome.deepestRawQueue = max(outcome.deepestRawQueue, decoded.count)
        return true
    }

    // MARK: Enhancement

    private mutating func enhance(_ moment: Moment, _ load: Load?) -> Bool {
        guard let picture = enhanced else { return startEnhancing(moment, load) }
        if case .handingOver(let made) = enhancing { return handOver(picture, made, moment, load) }
        guard let job = enhanceJob else { return false }
        guard isDone(job, moment) else { return stopTiles(picture, job, moment) }
        let cost = reported(moment.time - job.start)
        enhanceJob = nil
        switch enhancing {
        case .step(let kind):
            scheduler.observe(.step(kind), cost)
            startNextStep(moment, load)
        case .base:
            enhanced!.plan!.stop = scheduler.refine(picture.plan!, base: cost, at: moment.time)
            scheduler.observe(.base, cost)
            startTiles(enhanced!, moment, load)
        case .tiles:
            let tiles = Int(((job.end - job.startWork) / tileCost(picture, load, job)).rounded())
            scheduler.observe(.tile(picture.plan!.tier), cost, units: tiles)
            enhanced!.tiles = tiles
            afterTiles(moment, load)
        case .synthesising(let made):
            scheduler.observe(.synthesise, cost)
            outcome.synthesised += 1
            enhancing = .handingOver(made)
        case .handingOver: break
        }
        return true
    }

    private mutating func startEnhancing(_ moment: Moment, _ load: Load?) -> Bool {
        guard !decoded.isEmpty else { return false }
        let frame = decoded.removeFirst()
        if output?.prepare(at: moment.time) == true { reconfigure() }
        var state = state
        state.steps = frame.steps.kinds
        let plan = scheduler.plan(
            at: moment.time, emitBy: frame.emitBy, synthesised: frame.synthesised, tiles: frame.tiles, state)
        if let planner = scheduler.policy as? Planner { rungs.record(planner.level, at: moment.time) }
        if plan.rung != lastRung, lastRung >= 0 { outcome.rungChanges += 1 }
        lastRung = plan.rung
        if let reason = plan.drop {
            outcome.droppedOriginals[Int(reason.rawValue)] += 1
            recordOutcome(frame, plan, latency: nil, tiles: 0)
            return true
        }
        if frame.synthesised > 0, plan.synthesised == 0 { outcome.withoutSynthesis += 1 }
        enhanced = Picture(frame: frame, kind: .original, plan: plan, emitBy: frame.emitBy)
        if let output { enhanced!.factors = output.factors }
        enhanced!.steps = plan.steps
        startNextStep(moment, load)
        return true
    }

    /// Starts the next of the plan's steps, or the base upscale behind them. Synthesised frames have no steps here.
    private mutating func startNextStep(_ moment: Moment, _ load: Load?) {
        var work = enhanced!.frame.base * enhanced!.factors.base
        enhancing = .base
        for kind in enhanced!.steps {
            enhanced!.steps.remove(kind)
            enhancing = .step(kind)
            work = enhanced!.frame.steps[kind] ?? 0
            break
        }
        enhanceJob = job(work, moment, load)
    }

    private func tileCost(_ picture: Picture, _ load: Load?, _ job: Job) -> Double {
        let factor = load.map { $0.disturbances.isEmpty ? 1 : $0.costFactor(at: job.start) } ?? 1
        return max(picture.frame.tile(picture.plan!.tier) * factor, 1)
    }

    private mutating func startTiles(_ picture: Picture, _ moment: Moment, _ load: Load?) {
        let plan = picture.plan!
        guard plan.tier > .base, picture.frame.tiles > 0, moment.time < plan.stop else {
            return afterTiles(moment, load)
        }
        stopped = false
        enhancing = .tiles
        enhanceJob = job(picture.frame.tile(plan.tier) * Double(picture.frame.tiles), moment, load)
    }

    /// Workers check the time between tiles, so they finish the tiles that they work on at the stop.
    private mutating func stopTiles(_ picture: Picture, _ job: Job, _ moment: Moment) -> Bool {
        guard case .tiles = enhancing, !stopped, moment.time >= picture.plan!.stop else { return false }
        stopped = true
        let tile = (job.end - job.startWork) / Double(picture.frame.tiles)
        let done = ((moment.work - job.startWork) / tile).rounded(.up)
        enhanceJob!.end = min(job.end, job.startWork + max(done, 1) * tile)
        return true
    }

    private mutating func afterTiles(_ moment: Moment, _ load: Load?) {
        enhanceJob = nil
        if order == .beforeOriginal { synthesise(1, moment, load) } else { enhancing = .handingOver(0) }
    }

    /// Makes the n-th synthesised frame. After the last one comes the original, which has the number 0.
    private mutating func synthesise(_ number: Int, _ moment: Moment, _ load: Load?) {
        let picture = enhanced!
        if number <= picture.plan!.synthesised, scheduler.synthesise(picture.plan!, at: moment.time) {
            enhancing = .synthesising(number)
            enhanceJob = job(picture.frame.synthesise * picture.factors.synthesise, moment, load)
        } else if order == .beforeOriginal {
            enhancing = .handingOver(0)
        } else {
            enhanced = nil
        }
    }

    /// Hands a frame to the encoder's queue. Enhancement waits while the queue is full.
    private mutating func handOver(_ picture: Picture, _ number: Int, _ moment: Moment, _ load: Load?) -> Bool {
        guard toEncode.count < Self.rawQueue else { return false }
        var out = picture
        out.kind = number == 0 ? .original : .synthesised
        out.emitBy = picture.plan!.emitBy(synthesised: number)
        toEncode.append(out)
        outcome.deepestRawQueue = max(outcome.deepestRawQueue, toEncode.count)
        if number == 0, order == .beforeOriginal { enhanced = nil } else { synthesise(number + 1, moment, load) }
        return true
    }

    // MARK: Encoder and output

    private mutating func startEncoding(_ moment: Moment, _ load: Load?) -> Bool {
        guard encoding == nil else { return false }
        if let (picture, left) = filling {
            fill(before: picture, left, moment, load)
            return true
        }
        guard !toEncode.isEmpty else { return false }
        let picture = toEncode.removeFirst()
        var behind: MonotonicTime?
        var isEarly = picture.frame.earliness > .zero
        for index in 0..<toEncode.count where order.standsForOriginal(toEncode[index].kind) && behind == nil {
            behind = toEncode[index].emitBy
            isEarly = isEarly || toEncode[index].frame.earliness > .zero
        }
        if let reason = scheduler.encode(
            picture.kind, at: moment.time, emitBy: picture.emitBy, behind: behind, isEarly: isEarly)
        {
            if picture.kind == .original {
                outcome.droppedOriginals[Int(reason.rawValue)] += 1
                recordOutcome(picture.frame, picture.plan!, latency: nil, tiles: picture.tiles)
            } else {
                outcome.droppedSynthesised += 1
            }
        } else if picture.kind == .original, load?.fillsSlots == true {
            fill(before: picture, picture.frame.synthesised - synthesisedBefore, moment, load)
        } else {
            encode(picture, moment, load)
        }
        return true
    }

    private mutating func encode(_ picture: Picture, _ moment: Moment, _ load: Load?) {
        synthesisedBefore = picture.kind == .original ? 0 : synthesisedBefore + 1
        let cost = picture.kind == .original ? picture.frame.encode : picture.frame.encodeSynthesised
        let cold = output?.claimCold() ?? (factor: 1, isCold: false)
        encoding = (picture, job(cost * picture.factors.encode * cold.factor, moment, load))
        encoding!.picture.isCold = cold.isCold
    }

    /// Repeats the frame before an original, as the relay's encode stage does: a frame that can be in time is worth more.
    private mutating func fill(before picture: Picture, _ left: Int, _ moment: Moment, _ load: Load?) {
        let cost = picture.frame.encodeRepeated * picture.factors.encode
        let safe = (scheduler as? StreamScheduler<Planner>)?.timeToEmit(.original).safe ?? .zero
        filling = nil
        guard left > 0, moment.time + Nanoseconds(Int64(cost)) + safe <= picture.emitBy else {
            return encode(picture, moment, load)
        }
        filling = (picture, left - 1)
        var shown = picture
        shown.kind = .repeated
        encoding = (shown, job(cost, moment, load))
    }

    private mutating func finishEncoding(_ moment: Moment) -> Bool {
        guard let (picture, job) = encoding, isDone(job, moment) else { return false }
        encoding = nil
        if !picture.isCold {
            let kind: EncodeKind =
                switch picture.kind {
                case .original: .came
                case .synthesised: .synthesised
                case .repeated: .repeated
                }
            scheduler.observe(encoding: kind, reported(moment.time - job.start))
        }
        if picture.kind == .repeated {
            outcome.repeated += 1
            return true
        }
        let isLate = moment.time > picture.emitBy
        if picture.kind == .synthesised {
            outcome.emittedSynthesised += 1
            if isLate { outcome.lateSynthesised += 1 }
            return true
        }
        outcome.emittedOriginals += 1
        scheduler.emitted(slack: picture.frame.emitBy - moment.time)
        if isLate { outcome.lateOriginals += 1 }
        let tier = Int((picture.tiles > 0 ? picture.plan!.tier : .base).rawValue)
        outcome.framesByTier[tier] += 1
        outcome.tilesByTier[tier] += picture.tiles
        let latency = moment.time - picture.frame.arrival
        outcome.latency.record(latency)
        if let last = lastEmission { outcome.longestFreeze = max(outcome.longestFreeze, moment.time - last) }
        lastEmission = moment.time
        recordOutcome(picture.frame, picture.plan!, latency: latency, tiles: picture.tiles)
        return true
    }

    private mutating func recordOutcome(_ frame: FrameLoad, _ plan: FramePlan, latency: Nanoseconds?, tiles: Int) {
        guard keepsTimeline else { return }
        outcome.timeline.append(
            TimelinePoint(
                arrival: frame.arrival, latency: latency, tier: plan.tier, tiles: tiles, rung: plan.rung,
                synthesised: plan.synthesised))
    }

    /// Ends the simulation: counts the frames in flight by where they are, and keeps the stream's demand.
    mutating func close() {
        let pictures = coded.count + decoded.count + toEncode.count
        var inFlight = pictures + (decoding == nil ? 0 : 1) + (encoding == nil ? 0 : 1)
        if enhanced != nil {
            // A synthesised frame that waits for the encoder's queue is in flight. So is the original, unless it was handed
            // over before its synthesised frames.
            if case .handingOver(let number) = enhancing, number > 0 { inFlight += 1 }
            let originalIsGone: Bool =
                switch enhancing {
                case .step, .base, .tiles: false
                case .synthesising: order == .afterOriginal
                case .handingOver(let number): order == .afterOriginal && number > 0
                }
            if !originalIsGone { inFlight += 1 }
        }
        outcome.inFlight = inFlight
        outcome.demand = scheduler.demand
    }
}
