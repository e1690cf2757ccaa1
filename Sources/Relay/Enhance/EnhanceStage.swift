import Codec
import Enhance
import EnhanceNetworks
import Media
import Schedule
import Settings
import Telemetry

/// The enhance thread: lays each picture on the output's timeline, asks the scheduler for its plan, upscales it, and synthesises
/// the frames between it and the one before, or beyond it.
///
/// Confined to the thread that calls ``run()``.
final class EnhanceStage {
    private let pictures: BoundedQueue<DecodedFrame>
    private let finished: BoundedQueue<FinishedFrame>
    private let units: UnitQueue
    private let configuration: RelayConfiguration
    private let books: StreamBooks
    private let schedule: SharedScheduler
    private let arrivals: Arrivals
    private let decoder: DecoderActivity
    private let encoder: EncoderActivity
    private let filledSlot: FilledSlot
    private let connection: OutputConnection
    private let available: AvailableCores
    private let chosen: ChosenOutput
    private let control: StreamControl
    private let taps: PictureRequests
    private let turns: StageTurns
    /// The machine's cores that this process may use.
    private let cores: Int
    private let workers: WorkerPool
    private let masking: PictureMasking
    /// The number of the newest picture's mask.
    private var maskNumber: Int
    private var settings: LiveSettings.Copy
    private let maker = ProcessorMaker()
    private var enhancement: Enhancement?
    /// What pictures are made like; nil where nothing limits the output.
    private var choice: OutputChoice?
    /// What there can be no enhancement for.
    private var impossible: Enlargement?
    private var done: EnhancementRecord
    private var cadence: Cadence
    /// Whether frames are synthesised now.
    private var isSynthesising: Bool
    /// The source's clock that the newest picture belongs to.
    private var epoch: UInt32 = 0
    private let coarseness: Coarseness
    private let path: PicturePath
    /// How often a bypass had ended when the newest picture came.
    private var runs = 0
    /// Units that had arrived with the last plan, and the pictures that they gave or will give.
    private var unitsSoFar = 0
    private var picturesSoFar = 0
    /// The size of the first pictures that left, where all are to have it.
    private var kept: PictureSize?
    /// A size that cannot be enhanced. It is reported once.
    private var refused: PictureSize?
    private var unseen = UnseenPicture()
    private var judge = ContentJudge()

    /// A picture for somebody who has none is not to fail for a budget that holds between two pictures: processors may have to be
    /// made for it.
    private static let leastTimeToShow = Nanoseconds.milliseconds(500)

    init(
        pictures: BoundedQueue<DecodedFrame>, finished: BoundedQueue<FinishedFrame>, units: UnitQueue,
        channels: StreamChannels
    ) {
        self.pictures = pictures
        self.finished = finished
        self.units = units
        configuration = channels.configuration
        books = channels.books
        schedule = channels.schedule
        done = EnhancementRecord(channels)
        arrivals = channels.arrivals
        decoder = channels.decoder
        encoder = channels.encoder
        filledSlot = channels.filledSlot
        connection = channels.connection
        available = channels.available
        chosen = channels.chosen
        coarseness = channels.coarseness
        control = channels.control
        taps = channels.pictures
        path = channels.path
        turns = channels.turns
        cores = channels.cores
        workers = WorkerPool(threadCount: configuration.options.threads)
        masking = PictureMasking(channels)
        settings = LiveSettings.Copy(of: channels.settings)
        maskNumber = settings.maskNumber
        isSynthesising = configuration.synthesises(settings.value)
        cadence = Cadence(
            configuration.grid.map { .constant($0) } ?? .multiple(settings.value.interpolate),
            order: configuration.synthesisOrder)
    }

    /// Runs until the queue of pictures is closed and empty, then closes its own.
    func run() {
        defer {
            finished.close()
            maker.finish()
            turns.end(.enhance)
        }
        turns.record(.enhance)
        // Read the networks before the first picture, which would have to wait otherwise.
        if settings.value.tier > .base {
            let contents =
                settings.value.content == .auto ? NetworkContent.allCases : [settings.value.content.networks(.general)]
            for content in contents {
                SuperResolutionNetwork.readShipped(for: content)
                if settings.value.tier == .quality { _ = SuperResolutionNetwork.shipped(.quality, for: content) }
            }
        }
        while true {
            let now = MonotonicTime.now()
            turns.record(.enhance, at: now)
            let next = pictures.pop(until: now + (unseen.isKept ? UnseenPicture.pollInterval : StageTurns.idleInterval))
            if let frame = consume next {
                receive(frame)
            } else if pictures.isClosed, pictures.count == 0 {
                return
            } else if unseen.isDue(at: .now()) {
                showUnseen()
            }
        }
    }

    private func receive(_ decoded: consuming DecodedFrame) {
        guard let frame = masked(decoded) else { return }
        // Spend no work on a picture that nobody receives.
        guard connection.isConnected else {
            if taps.isWanted { taps.offer(frame.ticket.record, before: frame.picture) }
            enhancement?.forget()
            connection.countUnseen()
            if configuration.input.isLive {
                unseen.keep(frame.picture, of: frame.ticket.record, runs: path.runs, at: .now())
            }
            return books.drop(frame.ticket, .outputDown)
        }
        unseen.forget()
        enhance(frame)
    }

    /// Gives a picture that was decoded before a mask was set that mask.
    /// - Returns: nil where it could not be masked. It was dropped then.
    private func masked(_ frame: consuming DecodedFrame) -> DecodedFrame? {
        if masking.isCurrent(frame.ticket.record) { return frame }
        var ticket = frame.ticket
        guard let picture = masking.mask(frame.picture, of: &ticket.record) else {
            books.drop(ticket, .masked)
            return nil
        }
        return DecodedFrame(ticket: ticket, picture: picture)
    }

    /// Gives whoever has come in a pause the newest picture, which nobody received. A source that is gone has nothing to show, unless
    /// the output goes on without it.
    private func showUnseen() {
        guard connection.isConnected else { return }
        let now = MonotonicTime.now()
        guard configuration.goesOn || now - arrivals.heard < AbsenceReports.silence else { return }
        path.beginMaking()
        defer { path.endMaking() }
        guard !path.isBypassed else { return unseen.forget() }
        let deadline = now + max(settings.value.budget, Self.leastTimeToShow)
        guard let unseen = unseen.take(runs: path.runs, at: now, deadline: deadline, books.ledger),
            let frame = masked(unseen)
        else { return }
        enhance(frame)
    }

    private func enhance(_ frame: consuming DecodedFrame) {
        do throws(EnhanceError) {
            let former = enhancement
            try prepare(for: frame.picture)
            if let enhancement, enhancement === former, path.runs != runs {
                control.report(.picture(input: enhancement.input, output: enhancement.output))
            }
        } catch {
            if refused != frame.picture.size { control.report(.message("pictures of this input cannot be enhanced: \(error)")) }
            refused = frame.picture.size
            if !configuration.options.keepSize { path.insert(.enhancement, from: frame.ticket.record.id) }
            return books.drop(frame.intoTicket(), .decodeError)
        }
        if frame.ticket.record.maskNumber != maskNumber {
            maskNumber = frame.ticket.record.maskNumber
            enhancement!.forgetAll()
        }
        process(frame, with: enhancement!)
        done.isCold = false
        if pictures.count == 0 { enhancement!.touchMemory() }
    }

    // MARK: Processors

    /// Makes everything ready for a picture: takes over settings, a choice of the output, and processors that have come since the
    /// last one.
    private func prepare(for picture: borrowing DecodedPicture) throws(EnhanceError) {
        let size = picture.size
        var isChanged = settings.refresh()
        let isFirst = judge.mean == nil
        let isOther = judge.observe(picture.meanQuantiser)
        coarseness.input = judge.mean
        chosen.content = settings.value.tier == .base ? nil : settings.value.content.networks(judge.content)
        if isOther, settings.value.content == .auto, settings.value.tier > .base {
            isChanged = true
            if !isFirst { control.report(.message(judge.text)) }
        }
        isChanged = try makeEnhancement(for: size) || isChanged
        if configuration.awaitsProcessors { maker.finish() }
        isChanged = takeProcessors(for: size) || isChanged
        guard isChanged else { return }
        followSettings()
        guard configuration.awaitsProcessors, maker.isBusy else { return }
        maker.finish()
        if takeProcessors(for: size) { followSettings() }
    }

    /// Makes an enhancement for pictures of this size. Where they only get to the output's size in another way, or to another size, it
    /// is made beside the stream.
    /// - Returns: whether there is another one now.
    private func makeEnhancement(for size: PictureSize) throws(EnhanceError) -> Bool {
        let wanted = chosen.current
        let enlargement = enlargement(of: size, wanted)
        guard let enhancement, enhancement.input == size else {
            use(try Enhancement(recipe(enlargement), abilities(enlargement)), wanted)
            return true
        }
        if enhancement.enlargement == enlargement {
            // Another preset needs no processors.
            if wanted != choice { adopt(wanted) }
        } else if !maker.isBusy, enlargement != impossible {
            maker.make(recipe(enlargement), abilities(enlargement))
        }
        return false
    }

    /// Takes over what has been made.
    /// - Returns: whether there was something.
    private func takeProcessors(for size: PictureSize) -> Bool {
        switch maker.take() {
        case nil: return false
        case .processors(let made): if enhancement!.adopt(made) { done.isCold = true }
        case .enhancement(let made, let asked):
            let wanted = chosen.current
            if let made {
                // The choice, or the size of the pictures, may have changed meanwhile.
                if asked == enlargement(of: size, wanted) { use(made, wanted) }
            } else {
                impossible = asked
                control.report(.message("pictures cannot leave at \(asked.output): they leave as before"))
            }
        }
        return true
    }

    private func use(_ made: Enhancement, _ choice: OutputChoice?) {
        // Networks that come or go may need another enlargement to the same size.
        let isOtherSize = enhancement.map { $0.input != made.input || $0.output != made.output } ?? true
        enhancement = made
        done.isCold = true
        if configuration.options.keepSize { kept = made.output }
        if isOtherSize { control.report(.picture(input: made.input, output: made.output)) }
        var planning = Planner.Configuration(input: made.input, output: made.output, interval: .milliseconds(33.3))
        planning.ceiling = made.ceiling(settings.value.tier)
        planning.tilePixels = made.tilePixels
        planning.synthesises = configuration.synthesises(settings.value)
        planning.workers = configuration.options.threads
        planning.encoders = configuration.options.encodeThreads
        planning.cores = cores
        planning.weights = configuration.weights
        planning.weights.caution = settings.value.caution
        if configuration.choosesOutput, let choice {
            planning.seeds = StartCosts.measured.costs(of: configuration.options.codec).seeds(
                made.enlargement, choice.preset, workers: planning.workers, encoders: planning.encoders)
        }
        schedule.configure(planning)
        adopt(choice)
    }

    private func adopt(_ choice: OutputChoice?) {
        self.choice = choice
        schedule.choice = choice
    }

    /// How pictures of a size become those that leave: as was asked for, or smaller where that does not fit the machine.
    private func enlargement(of size: PictureSize, _ choice: OutputChoice?) -> Enlargement {
        let output = kept ?? (choice?.size ?? configuration.options.output(for: size)).size(of: size)
        return Enlargement(from: size, to: output, refined: settings.value.tier > .base)
    }

    private func recipe(_ enlargement: Enlargement) -> EnhancementRecipe {
        EnhancementRecipe(enlargement: enlargement, order: configuration.synthesisOrder, workers: workers)
    }

    /// What the settings ask of an enhancement.
    private func abilities(_ enlargement: Enlargement) -> EnhancementAbilities {
        EnhancementAbilities(
            for: settings.value, doubles: enlargement.doubles, synthesises: configuration.synthesises(settings.value),
            found: judge.content)
    }

    /// Takes over the settings. One that needs processors holds when they have been made.
    private func followSettings() {
        guard let enhancement else { return }
        let wanted = abilities(enhancement.enlargement)
        let lack = enhancement.lack(of: wanted)
        if !lack.isEmpty, !maker.isBusy { maker.make(recipe(enhancement.enlargement), lack) }
        enhancement.use(wanted.steps)
        isSynthesising = wanted.synthesises && enhancement.synthesises
        if configuration.options.fps == nil {
            cadence.change(multiple: isSynthesising ? settings.value.interpolate : 1)
        }
        if !isSynthesising { enhancement.forget() }
        schedule.change(
            ceiling: enhancement.ceiling(settings.value.tier), synthesises: isSynthesising, caution: settings.value.caution)
    }

    // MARK: Pictures

    private func process(_ frame: consuming DecodedFrame, with enhancement: Enhancement) {
        let time = frame.ticket.record.presentation
        var cadence = cadence
        let step = cadence.layOut(
            originalAt: time, isJump: frame.ticket.record.epoch != epoch || path.runs != runs,
            filledUpTo: filledSlot.newest?.slot)
        if let reason = step.drop {
            self.cadence = cadence
            return books.drop(frame.intoTicket(), reason)
        }
        frame.ticket.stamp(.planned)
        frame.ticket.record.tilesWanted = Int32(clamping: enhancement.staleTiles)
        frame.ticket.record.synthesisedRequested = Int32(step.count)
        let plan = plan(frame.ticket.record, tiles: enhancement.staleTiles)
        frame.ticket.record.rung = UInt8(plan.rung)
        let target = plan.drop == nil ? enhancement.lease() : nil
        // After a dropped frame the next one makes a pair with the one before.
        guard let target else {
            if frame.ticket.record.kind == .original { books.counters.add(.shedByPlan) }
            return books.drop(frame.intoTicket(), plan.drop ?? .overload)
        }
        self.cadence = cadence
        epoch = frame.ticket.record.epoch
        runs = path.runs
        frame.ticket.stamp(.enhanceIn)
        let made = enhancement.enlarge(frame.picture, into: target, plan) { base in
            schedule.withScheduler { $0.refine(plan, base: base, at: .now()) }
        }
        if step.pair == nil { enhancement.forget() }
        // What stands on a picture is not to be moved with it, so the sequence gets the picture before that.
        let changesResults = enhancement.changesResults
        if changesResults {
            if isSynthesising { enhancement.append(frame.picture, target) }
            done.record(enhancement.finish(target, beside: frame.picture, StepMoment(frame.ticket.record), plan))
        }
        frame.ticket.stamp(.enhanceOut)
        done.record(made.times)
        done.record(made.enlarging, plan.tier, in: &frame.ticket)
        if taps.isWanted { taps.offer(frame.ticket.record, before: frame.picture, after: target) }

        let record = frame.ticket.record
        let color =
            configuration.options.size == nil && kept == nil
            ? frame.picture.color : frame.picture.color.shaped(from: enhancement.input, to: enhancement.output)
        switch configuration.synthesisOrder {
        case .beforeOriginal:
            if isSynthesising, !changesResults { enhancement.append(frame.picture, target) }
            let isReplaced = synthesise(step, of: frame.picture, beside: record, plan, color: color, with: enhancement)
            finish(frame.ticket, target.share(), color, at: isReplaced ? nil : step.originalAlone, step)
        case .afterOriginal:
            // The original may be out before the first of them has a ticket.
            path.beginMaking()
            defer { path.endMaking() }
            finish(frame.ticket, target.share(), color, at: step.originalAlone, step)
            if isSynthesising, !changesResults { enhancement.append(frame.picture, target) }
            _ = synthesise(step, of: frame.picture, beside: record, plan, color: color, with: enhancement)
        }
    }

    /// Hands an original on to the encode stage.
    /// - Parameter place: when it is shown; nil when a synthesised frame stands for it, so that it is dropped.
    private func finish(
        _ ticket: consuming FrameTicket, _ picture: consuming PictureLease, _ color: ColorDescription,
        at place: MediaTime?, _ step: Cadence.Step
    ) {
        guard let place else {
            return books.drop(ticket, .cadence)
        }
        let turn = turn(of: place, beside: ticket.record)
        // The second field of a picture has a ticket of its own.
        let shown = ticket.record.kind == .original ? ticket.record.presentation : nil
        ticket.record.presentation = place
        push(ticket, picture, color, step, turn, as: ticket.record.kind == .repeated ? .repeated : .came, showing: shown)
    }

    private func interval(of step: Cadence.Step) -> Nanoseconds {
        step.pair.map { MediaTime(ticks: $0).nanoseconds } ?? .zero
    }

    private func turn(of time: MediaTime, beside original: FrameRecord) -> MonotonicTime {
        let own = original.sourceTime ?? original[.lastPacket] ?? .now()
        return own + original.earliness + MediaTime(ticks: time - original.presentation).nanoseconds
    }

    /// What the pipeline holds behind and before an original.
    func pipelineState(behind id: UInt64) -> PipelineState {
        let newest = arrivals.newest
        var state = PipelineState()
        let perUnit = decoder.picturesPerUnit
        picturesSoFar += (newest.count - unitsSoFar) * perUnit
        unitsSoFar = newest.count
        state.codedWaiting = units.count * perUnit
        state.decodesAnother = decoder.holdsAnother(than: id)
        state.picturesWaiting = pictures.count
        state.arrived = picturesSoFar
        state.newestEmitBy = newest.emitBy
        state.budget = newest.budget
        state.newestIsEarly = newest.isEarly
        state.steps = enhancement?.steps ?? []
        state.encoderQueue = finished.count
        state.encoderBusySince = encoder.busySince
        return state
    }

    private func plan(_ record: FrameRecord, tiles: Int) -> FramePlan {
        let now = record[.planned]!
        return schedule.plan(
            at: now, emitBy: record.deadline ?? now, synthesised: Int(record.synthesisedRequested), tiles: tiles,
            pipelineState(behind: record.id), cores: available.cores(at: now))
    }

    /// Synthesises the frames that go with an original, in their order, as many as there is time for.
    /// - Returns: whether the last of them stands for the original.
    private func synthesise(
        _ step: Cadence.Step, of picture: borrowing DecodedPicture, beside original: FrameRecord, _ plan: FramePlan,
        color: ColorDescription, with enhancement: Enhancement
    ) -> Bool {
        var made = 0
        while made < min(step.count, plan.synthesised),
            synthesise(made, of: step, picture, beside: original, plan, color: color, with: enhancement)
        { made += 1 }
        if made < step.count || step.pair == nil, isSynthesising { books.counters.add(.synthesisSkipped) }
        return made > 0 && made == step.count && step.slots[made - 1].presentation == step.originalAlone
    }

    private func synthesise(
        _ index: Int, of step: Cadence.Step, _ picture: borrowing DecodedPicture, beside original: FrameRecord,
        _ plan: FramePlan, color: ColorDescription, with enhancement: Enhancement
    ) -> Bool {
        let started = MonotonicTime.now()
        let worked = workers.processorTime
        let encoding = schedule.withScheduler { $0.synthesise(plan, at: started) ? $0.longEncode : nil }
        guard let encoding = encoding ?? nil, let target = enhancement.lease() else { return false }
        // By then this picture, those behind it and their original still have to be encoded.
        let behind = Int64(step.count - index + 1)
        let deadline = plan.emitBy(synthesised: index + 1)
        let slot = step.slots[index]
        let method = enhancement.synthesise(phase: slot.phase.value, into: target, until: deadline - encoding * behind)
        guard let method else { return false }
        // Nothing lies between two sides of a cut. At a constant rate the frame before is repeated instead.
        if method == .held, configuration.options.fps != nil { return false }
        let made = MonotonicTime.now()
        if enhancement.changesResults {
            done.record(enhancement.finish(target, beside: picture, StepMoment(original, at: slot.presentation), plan))
        }

        var ticket = books.ledger.open(.synthesised, presentation: slot.presentation, beside: original)
        ticket.record.deadline = deadline
        ticket.record[.planned] = original[.planned]
        ticket.stamp(.enhanceIn, at: started)
        ticket.stamp(.enhanceOut)
        let working = workers.processorTime - worked
        _ = schedule.withScheduler { $0.observe(synthesis: made - started, working: working) }
        let turn = turn(of: slot.presentation, beside: original)
        let standsForOriginal = original.kind == .original && slot.presentation == step.originalAlone
        let kind: EncodeKind = method == .held ? .repeated : slot.presentation == step.originalAlone ? .came : .synthesised
        push(ticket, target, color, step, turn, as: kind, showing: standsForOriginal ? original.presentation : nil)
        return true
    }

    private func push(
        _ ticket: consuming FrameTicket, _ picture: consuming PictureLease, _ color: ColorDescription, _ step: Cadence.Step,
        _ turn: MonotonicTime, as kind: EncodeKind, showing original: MediaTime?
    ) {
        let size = enhancement!.input
        let frame = FinishedFrame(
            ticket: ticket, picture: picture, color: color, preset: choice?.preset ?? configuration.options.slowestPreset,
            kind: kind, interval: interval(of: step), turn: turn, original: original.map { ($0, size) })
        if let refused = turns.push(frame, to: finished, as: .enhance) { books.drop(refused.intoTicket(), .shutdown) }
    }
}
