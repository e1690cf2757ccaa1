import Codec
import Media
import Schedule
import Settings
import Telemetry

/// The encode thread: encodes each picture and delivers its coded unit to the output. At a constant rate it also fills the
/// slots that no picture comes for.
///
/// A picture is encoded once; the output decides when its unit leaves (``SendStage``).
///
/// Confined to the thread that calls ``run()``.
final class EncodeStage {
    private let finished: BoundedQueue<FinishedFrame>
    private let output: any EncodedOutput
    private let configuration: RelayConfiguration
    private let books: StreamBooks
    private let schedule: SharedScheduler
    private let arrivals: Arrivals
    private let decoder: DecoderActivity
    private let activity: EncoderActivity
    private let filledSlot: FilledSlot
    private let keyframes: Keyframes
    private let connection: OutputConnection
    private let captions: CaptionCarrier
    private var rateCheck = RateCheck()
    private var coded = CodedCoarseness()
    private let coarseness: Coarseness
    private let control: StreamControl
    private let turns: StageTurns
    private let path: PicturePath
    private let extra: ExtraEncode
    /// How often a bypass had ended when the newest picture came.
    private var runs = 0
    /// Pictures in a row that could not be encoded.
    private var failures = 0
    private let live: LiveSettings
    /// The number of the newest picture's mask.
    private var maskNumber: Int
    /// Of the newest picture.
    private var preset: EncoderPreset

    private let suited: SuitedEncoder
    /// The last picture could not be encoded, so the next failure is no news.
    private var isFailing = false
    private var needsKeyframe = true
    private var pace = KeyframePace()
    /// A keyframe of the source was dropped, and none has gone out since.
    private var owesKeyframe = false
    /// The presentation time of the newest picture that was encoded.
    private var newest = MediaTime(ticks: .min)
    /// Nil where nothing is repeated: a file without a constant rate.
    private let slots: SlotFiller?
    /// The output goes on where no pictures come.
    private let goesOn: Bool
    /// Receivers that had come when the thread last checked, and pictures that nobody had received.
    private var receivers = 0
    private var unseen = 0

    /// The longest wait for a picture at a constant rate. Arrivals make slots due, and this thread does not see them.
    private static let slotPollInterval = Nanoseconds.milliseconds(20)
    /// How often the thread checks an overdue slot while frames are on their way: one of them may fill it, or be dropped.
    private static let overdueSlotPollInterval = Nanoseconds.milliseconds(4)
    /// So many pictures in a row that cannot be encoded are no passing shortage.
    private static let mostFailures = 10
    /// Where the source has a picture in many seconds, as a shared screen that stands still: a receiver who comes waits for no longer.
    private static let longestSlot = MediaTime.ticksPerSecond / 2
    /// Without a constant rate: how long after its deadline the next original counts as lost.
    private static let lossTimeout = Nanoseconds.milliseconds(200)

    init(finished: BoundedQueue<FinishedFrame>, output: any EncodedOutput, channels: StreamChannels) {
        self.finished = finished
        self.output = output
        configuration = channels.configuration
        books = channels.books
        schedule = channels.schedule
        arrivals = channels.arrivals
        decoder = channels.decoder
        activity = channels.encoder
        filledSlot = channels.filledSlot
        keyframes = channels.keyframes
        connection = channels.connection
        captions = CaptionCarrier(channels)
        coarseness = channels.coarseness
        control = channels.control
        turns = channels.turns
        path = channels.path
        extra = channels.extra
        live = channels.settings
        suited = SuitedEncoder(channels)
        maskNumber = LiveSettings.Copy(of: live).maskNumber
        let options = configuration.options
        preset = options.slowestPreset
        goesOn = configuration.goesOn
        slots = goesOn || configuration.input.isLive ? SlotFiller(grid: configuration.grid, hold: options.hold) : nil
    }

    /// Runs until the queue of finished pictures is closed and empty, then tells the output that nothing more comes.
    func run() {
        defer {
            captions.finish()
            output.finish()
            extra.pictures.close()
            turns.end(.encode)
        }
        while true {
            let now = MonotonicTime.now()
            turns.record(.encode, at: now)
            let next = finished.pop(until: nextPoll(now))
            followReceivers()
            forgetOldPicture()
            if let frame = consume next {
                encode(frame)
            } else if finished.isClosed && finished.count == 0 {
                return
            }
            fillOverdueSlot()
        }
    }

    /// A receiver that has just come begins with a keyframe, and the time that frames are repeated begins anew.
    private func followReceivers() {
        output.followConnection()
        guard connection.receiversSoFar != receivers else { return }
        receivers = connection.receiversSoFar
        slots?.restartHold(now: .now())
    }

    /// Pictures came that nobody received: the one that was shown last is not the newest any more, and is not shown again.
    private func forgetOldPicture() {
        guard connection.picturesUnseen != unseen else { return }
        unseen = connection.picturesUnseen
        slots?.restart()
        if filledSlot.newest != nil { filledSlot.newest = nil }
    }

    // MARK: Pictures

    private func encode(_ frame: consuming FinishedFrame) {
        let now = MonotonicTime.now()
        if path.runs != runs { beginRun() }
        let size = frame.picture.picture.size.even
        var isOnTime = true
        if let slots {
            guard let slot = slots.slot(for: frame.ticket.record.presentation, now: now) else {
                return books.drop(frame.intoTicket(), .late)
            }
            isOnTime = slot == frame.ticket.record.presentation
            frame.ticket.record.presentation = slot
        }
        if let reason = obstacle(to: frame.ticket.record, now) {
            // Nobody receives this encode, but maybe the other one.
            if !connection.takesEncoded { offerExtra(frame) }
            return books.drop(frame.intoTicket(), reason)
        }
        guard suited.refused != size else {
            bypass(from: frame.ticket.record.id)
            return books.drop(frame.intoTicket(), .encodeError)
        }
        let (turn, color, time) = (frame.turn, frame.color, frame.ticket.record.presentation)
        let maskNumber = frame.ticket.record.maskNumber
        let isNews = frame.ticket.record.kind != .repeated
        let kind = frame.kind
        fillSlots(before: frame.ticket.record, turn: turn)
        // What was filled has the former size, and keeps its encoder.
        preset = frame.preset
        if frame.ticket.record.kind == .original { suited.observe(interval: frame.interval) }
        let picture = frame.picture.share()
        let original = frame.original
        let extraPicture = extraPicture(of: frame)
        let outcome = unsafe encode(
            picture.picture.view.even, color, frame.intoTicket(), as: kind, sourceTime: isNews ? .turn(turn) : .overdue(turn),
            showing: original)
        if let extraPicture { offer(extraPicture) }
        guard outcome != .failed, let slots else { return }
        slots.show(
            SlotFiller.Shown(picture: picture, color: color, maskNumber: maskNumber), at: time, isOnTime: isOnTime, now: now)
        // Without a constant rate, what was filled says nothing of the times from here on.
        if slots.repeater == nil, filledSlot.newest != nil { filledSlot.newest = nil }
        if isNews { endAbsence(slots, now) }
        countEmptySlots(slots)
    }

    /// Gives the one more encode of a call an original, behind the main encode of the same: what a viewer with a good link gets is not to
    /// wait for it.
    private func offerExtra(_ frame: borrowing FinishedFrame) {
        if let picture = extraPicture(of: frame) { offer(picture) }
    }

    private func extraPicture(of frame: borrowing FinishedFrame) -> ExtraPicture? {
        // At a constant rate synthesised pictures stand for the originals.
        guard extra.wanted != nil, frame.original != nil else { return nil }
        return ExtraPicture(
            picture: frame.picture.share(), color: frame.color, presentation: frame.ticket.record.presentation,
            maskNumber: frame.ticket.record.maskNumber, turn: frame.turn, interval: frame.interval)
    }

    private func offer(_ picture: consuming ExtraPicture) { if extra.offer(picture) { books.counters.add(.extraReplaced) } }

    /// Pictures were bypassed until now. Receivers begin anew, and nothing is repeated into the time before.
    private func beginRun() {
        runs = path.runs
        failures = 0
        suited.refused = nil
        needsKeyframe = true
        slots?.restart()
        filledSlot.newest = nil
    }

    /// The encoder cannot do these pictures, so they go out as they come.
    private func bypass(from frame: UInt64) { if !configuration.options.keepSize { path.insert(.encoder, from: frame) } }

    /// Why a finished picture is not worth encoding; nil when it is.
    private func obstacle(to record: FrameRecord, _ now: MonotonicTime) -> DropReason? {
        if !connection.takesEncoded { return extra.wanted == nil ? .outputDown : .otherLayer }
        // It was made before the mask was set that holds now.
        if record.maskNumber < live.maskNumber { return .masked }
        // Pictures are encoded in the order in which they are shown. One that is shown earlier belongs to a time that is gone.
        if record.presentation <= newest { return .discontinuity }
        // Somebody has none yet.
        if record.kind == .repeated { return nil }
        let order = configuration.synthesisOrder
        let behind: (emitBy: MonotonicTime, earliness: Nanoseconds)? = finished.first { frame in
            guard order.standsForOriginal(frame.ticket.record.kind) else { return nil }
            return frame.ticket.record.deadline.map { ($0, frame.ticket.record.earliness) }
        }
        let isEarly = max(record.earliness, behind?.earliness ?? .zero) > .zero
        return schedule.withScheduler {
            $0.encode(record.kind, at: now, emitBy: record.deadline ?? now, behind: behind?.emitBy, isEarly: isEarly)
        } ?? nil
    }

    private enum Outcome {
        /// The unit was delivered to the output.
        case delivered
        /// The encoder gave no unit.
        case nothing
        /// The encoder threw. The next picture gets another one.
        case failed
    }

    /// Encodes a picture and delivers its unit. The ticket goes on with the unit, or ends here as `encodeError`.
    /// - Parameter original: what it shows, whose captions it carries; nil for a picture between originals and for repeats.
    private func encode(
        _ picture: PictureView, _ color: ColorDescription, _ ticket: consuming FrameTicket, as kind: EncodeKind,
        sourceTime: SourceTime, showing original: (presentation: MediaTime, size: PictureSize)? = nil
    ) -> Outcome {
        let record = ticket.record
        let carried = original.flatMap { captions.take(upTo: $0.presentation) }
        var pending: FrameTicket? = consume ticket
        var outcome = Outcome.nothing
        var cost: Nanoseconds?
        do {
            // What was coded before another mask may not go out any more, so nothing refers to it.
            if record.maskNumber != maskNumber { needsKeyframe = true }
            maskNumber = record.maskNumber
            if keyframes.claim(at: record.presentation) { needsKeyframe = true }
            let isKeyframe = wantsKeyframe(record) && pace.allows(at: record.presentation)
            unsafe try prepare(for: picture.size, color, asKeyframe: isKeyframe)
            let asKeyframe = needsKeyframe || isKeyframe
            if asKeyframe {
                books.counters.add(.keyframesForced)
                pace.record(at: record.presentation)
                owesKeyframe = false
            }
            if asKeyframe || record.kind != .repeated { slots?.lastEntry = record.presentation }
            newest = record.presentation
            let start = MonotonicTime.now()
            activity.busySince = start
            defer { activity.busySince = nil }
            pending!.stamp(.encodeIn, at: start)
            unsafe try suited.encoder!.encode(
                picture, id: Int64(record.id), at: record.presentation, asKeyframe: asKeyframe,
                carrying: carried.map { data in
                    unsafe data.scaled(from: original!.size, to: picture.size)
                }
            ) { unit in
                guard let ticket = pending.take() else { return }
                let encoded = MonotonicTime.now()
                activity.busySince = nil
                cost = encoded - start
                outcome = .delivered
                unsafe checkRate(unit.bytes.count, at: unit.presentationTime)
                if record.kind != .repeated, let quantiser = unsafe unit.quantiser {
                    coarseness.output = coded.observe(quantiser)
                }
                unsafe output.deliver(unit, ticket, encoded: encoded, sourceTime)
            }
            isFailing = false
            failures = 0
        } catch {
            report(error)
            failures += 1
            if unsafe failures >= Self.mostFailures || suited.refused == picture.size { bypass(from: record.id) }
            suited.encoder = nil
            outcome = .failed
        }
        needsKeyframe = outcome != .delivered
        if let carried, let original { captions.settle(carried, at: original.presentation, isDelivered: outcome == .delivered) }
        if let cost { reportCost(cost, of: kind) }
        if let ticket = pending.take() {
            books.drop(ticket, .encodeError)
            output.skipPicture(at: record.presentation)
        }
        return outcome
    }

    /// Whether the source has a keyframe here, or had one that was dropped.
    private func wantsKeyframe(_ record: FrameRecord) -> Bool {
        if keyframes.claimDropped() { owesKeyframe = true }
        return owesKeyframe || record.isKeyframe && record.kind == .original
    }

    private func reportCost(_ cost: Nanoseconds, of kind: EncodeKind) {
        if kind == .repeated { slots?.observe(repeatCost: cost) }
        guard !suited.isCold(after: kind) else { return }
        _ = schedule.withScheduler { $0.observe(encoding: kind, cost) }
    }

    /// Says once that pictures take more bits than they may.
    private func checkRate(_ count: Int, at time: MediaTime) {
        guard let configuration = suited.encoder?.configuration, let limit = configuration.rateControl.maximumRate,
            let rate = rateCheck.observe(bytes: count, at: time, limit: limit)
        else { return }
        let (most, found) = (BitRateText.write(limit), BitRateText.write(rate / 1000 * 1000))
        let reason = "its pictures of \(configuration.size) cannot be coded with fewer"
        control.report(.message("the video takes \(found) bits a second, not \(most): \(reason)"))
    }

    private func report(_ error: any Error) {
        // What ends the relay is its last line.
        if !isFailing, control.firstFailure == nil { control.report(.message("\(error)")) }
        isFailing = true
    }

    /// Makes the output and the encoder ready for pictures of this kind.
    private func prepare(for size: PictureSize, _ color: ColorDescription, asKeyframe: Bool) throws {
        try output.prepare()
        if keyframes.claim() { needsKeyframe = true }
        let isNew = try suited.prepare(for: size, color, preset, asKeyframe: asKeyframe || needsKeyframe)
        guard isNew else { return }
        if goesOn { slots?.makeSlate(of: size) }
        needsKeyframe = true
        coded = CodedCoarseness()
        coarseness.output = nil
    }

    // MARK: The slots of a constant rate

    /// Whether frames are on their way to the encoder: neither kept by the decoder nor waiting behind it for their turn.
    private var hasFramesComing: Bool {
        books.ledger.inFlight - output.unitsWaiting > decoder.framesKept
    }

    /// Whether the newest picture of the output is the encoder's own: what is bypassed cannot be repeated here, and after a
    /// bypass nothing from before it is. Beside a mask nothing is bypassed: what would be is dropped.
    private var mayRepeat: Bool { (!path.isBypassed || live.holdsBypass) && path.runs == runs }

    /// Until when to wait for a picture.
    private func nextPoll(_ now: MonotonicTime) -> MonotonicTime {
        guard let slots, mayRepeat else { return now + StageTurns.idleInterval }
        if slots.repeater == nil {
            guard let loss = timeOfLoss(slots) else { return now + StageTurns.idleInterval }
            return min(max(loss, now + Self.slotPollInterval), now + StageTurns.idleInterval)
        }
        guard let due = slots.repeater?.due(arrivals.expectation) else { return now + Self.slotPollInterval }
        if due > now { return min(due, now + Self.slotPollInterval) }
        return hasFramesComing ? now + Self.overdueSlotPollInterval : now
    }

    /// Fills the slots before a frame's own. Frames come in order, so nothing else will fill them. But a frame that can be in
    /// time is worth more than repeats before it, and one that is late has no time for those that are far more so.
    private func fillSlots(before record: FrameRecord, turn: MonotonicTime) {
        guard let slots else { return }
        // While packets of the source come, it is there, and so is what its last picture shows.
        slots.restartHold(now: arrivals.heard)
        let (likely, safe) = schedule.withScheduler { $0.timeToEmit(record.kind) } ?? (.zero, .zero)
        // In a moment the picture comes that this frame has: the one before must not be shown again.
        if let shown = slots.shown?.maskNumber, shown < record.maskNumber { return }
        while true {
            let now = MonotonicTime.now()
            let isLate = record.deadline.map { now + likely > $0 } ?? false
            if let deadline = record.deadline, !isLate, now + slots.repeatCost + safe > deadline { return }
            let filler = slots.fillSlot(
                before: record.presentation, now: now, due: isLate ? record.deadline : nil)
            guard let slot = filler.slot else { return }
            let gap = MediaTime(ticks: record.presentation - slot).nanoseconds
            fill(slot, filler, slots, .repeated(turn - gap), deadline: record.deadline.map { $0 - gap })
        }
    }

    /// Fills one slot at a time: frames, connections and the end of the stream come before the next.
    private func fillOverdueSlot() {
        guard let slots else { return }
        path.beginMaking()
        defer { path.endMaking() }
        guard mayRepeat else { return }
        let now = MonotonicTime.now()
        // What comes beside a mask and cannot be enhanced gives no pictures.
        if !path.isBypassed { slots.restartHold(now: arrivals.heard) }
        if !goesOn { return showAgain(slots, now) }
        if slots.repeater == nil, let loss = timeOfLoss(slots), now >= loss, !hasFramesComing { beginSlots(slots) }
        let filler = slots.fillOverdueSlot(now: now, arrivals.expectation, hasFramesInFlight: hasFramesComing)
        if let slot = filler.slot { fill(slot, filler, slots, .overdue(now), deadline: now) }
        if let filled = slots.repeater?.filled, filled != filledSlot.newest { filledSlot.newest = filled }
        countEmptySlots(slots)
    }

    /// Gives the last picture to a receiver who waits for a keyframe, where the source sends none for a while.
    private func showAgain(_ slots: SlotFiller, _ now: MonotonicTime) {
        // One that is gone has nothing to show.
        let isThere = now - arrivals.heard < AbsenceReports.silence
        guard isThere, keyframes.encoderOwesOne, !hasFramesComing, let time = slots.timeOfRepeat(at: now) else { return }
        fill(time, .repeated(time), slots, .overdue(now), deadline: now)
    }

    /// Without a constant rate: when the next original counts as lost, if it does not come; nil when nothing could be repeated.
    private func timeOfLoss(_ slots: SlotFiller) -> MonotonicTime? {
        guard goesOn, slots.shown != nil, let newest = arrivals.expectation.newest else { return nil }
        let interval = MediaTime(ticks: arrivals.expectation.interval).nanoseconds
        return newest.emitBy + interval + Self.lossTimeout
    }

    /// Without a constant rate: the source is lost, and the output goes on at the rate that it had.
    private func beginSlots(_ slots: SlotFiller) {
        let output = suited.rate
        let interval = MediaTime.ticksPerSecond * output.denominator / output.numerator
        slots.begin(every: min(interval, Self.longestSlot))
    }

    /// Reports that the source is lost when repeats have stood for it for a while.
    private func countRepeat(_ slots: SlotFiller, isSlate: Bool, _ now: MonotonicTime) {
        if slots.absence == nil {
            slots.absence = SourceAbsence(since: now, silentUnits: books.counters[.silentUnits])
        }
        slots.absence!.repeats += 1
        if isSlate { slots.absence!.slates += 1 }
        guard now - slots.absence!.since >= SourceAbsence.threshold else { return }
        if !slots.absence!.isCounted { books.counters.add(.sourceLosses) }
        slots.absence!.isCounted = true
        guard !slots.absence!.isReported, let line = slots.absenceReports.claim(at: now, heard: arrivals.heard) else {
            return
        }
        slots.absence!.isReported = true
        control.report(.message(line))
    }

    /// A picture has come.
    private func endAbsence(_ slots: SlotFiller, _ now: MonotonicTime) {
        guard let absence = slots.absence else { return }
        slots.absence = nil
        guard absence.isReported else {
            if absence.isCounted { slots.absenceReports.skip() }
            return
        }
        control.report(.message(absence.ending(now: now, silentUnits: books.counters[.silentUnits])))
    }

    /// Slots that pass while nobody receives the output do not count.
    private func countEmptySlots(_ slots: SlotFiller) {
        let empty = slots.drainSlotsLeftEmpty()
        if empty > 0, connection.takesEncoded { books.counters.add(.slotsEmpty, UInt64(empty)) }
    }

    /// Encodes the last picture again, or the slate.
    /// - Parameter deadline: when the repeat leaves at the latest.
    private func fill(
        _ slot: MediaTime, _ filler: Repeater.Filler, _ slots: SlotFiller, _ sourceTime: SourceTime,
        deadline: MonotonicTime?
    ) {
        guard connection.takesEncoded, slot > newest, let shown = slots.shown.take() else { return }
        let maskNumber = live.maskNumber
        // What was made before the mask was set that holds now is not shown again.
        let isOld = shown.maskNumber < maskNumber
        let isSlate = filler.isSlate || isOld
        guard let picture = (isSlate ? slots.slate : nil) ?? (isOld ? nil : shown.picture.picture) else { return }
        var ticket = books.ledger.open(.repeated, presentation: slot)
        ticket.stamp(.planned)
        ticket.record.deadline = deadline
        ticket.record.maskNumber = maskNumber
        if slots.needsEntry(at: slot) { needsKeyframe = true }
        let outcome = unsafe encode(picture.view.even, shown.color, ticket, as: .repeated, sourceTime: sourceTime)
        // After a failure nothing is repeated until there is another picture.
        if outcome == .failed { return }
        slots.shown = consume shown
        if isSlate, outcome == .delivered { books.counters.add(.slates) }
        if configuration.options.keepOutput { countRepeat(slots, isSlate: isSlate, .now()) }
    }
}

extension Repeater.Filler {
    /// The slot that is filled; nil where none is.
    fileprivate var slot: MediaTime? {
        switch self {
        case .nothing: nil
        case .repeated(let slot), .slate(let slot): slot
        }
    }
    fileprivate var isSlate: Bool { if case .slate = self { true } else { false } }
}
