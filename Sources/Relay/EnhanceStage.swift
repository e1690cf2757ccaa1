import Codec
import Enhance
import Media
import Schedule
import Telemetry

/// An enhanced picture on its way out.
struct FinishedFrame: ~Copyable, Sendable {
    var ticket: FrameTicket
    let picture: PictureLease
    let color: ColorDescription
    /// Between this frame's original and the one before; zero where that is not known.
    let interval: Nanoseconds

    consuming func intoTicket() -> FrameTicket { ticket }
}

/// The enhance thread: asks the schedule what each picture is worth, upscales it, and makes the frame between it and the
/// one before.
///
/// Confined to the thread that calls ``run()``.
final class EnhanceStage {
    private let pictures: BoundedQueue<DecodedFrame>
    private let finished: BoundedQueue<FinishedFrame>
    private let units: UnitQueue
    private let stream: StreamState
    private var enhancement: Enhancement?
    /// A size that cannot be enhanced: told once.
    private var refused: PictureSize?

    init(
        pictures: BoundedQueue<DecodedFrame>, finished: BoundedQueue<FinishedFrame>, units: UnitQueue,
        stream: StreamState
    ) {
        self.pictures = pictures
        self.finished = finished
        self.units = units
        self.stream = stream
    }

    /// Runs until the queue of pictures is closed and empty, then closes its own.
    func run() {
        defer { finished.close() }
        while let frame = pictures.pop() {
            // Enhancing for nobody would only heat the machine.
            guard stream.outputIsConnected else {
                enhancement?.forget()
                stream.ledger.close(frame.intoTicket(), as: .dropped(.outputDown))
                continue
            }
            enhance(frame)
        }
    }

    private func enhance(_ frame: consuming DecodedFrame) {
        do throws(EnhanceError) {
            try prepare(for: frame.picture.size)
        } catch {
            if refused != frame.picture.size { stream.report(.note("pictures of this input cannot be enhanced: \(error)")) }
            refused = frame.picture.size
            return stream.ledger.close(frame.ticket, as: .dropped(.decodeError))
        }
        process(frame, with: enhancement!)
    }

    private func prepare(for size: PictureSize) throws(EnhanceError) {
        if enhancement?.input == size { return }
        let configuration = stream.configuration
        let made = try Enhancement(
            input: size, scale: configuration.scale(for: size), threads: configuration.threads,
            synthesising: configuration.interpolate > 1 ? configuration.synthesisOrder : nil, ceiling: configuration.tier,
            sharpness: configuration.sharpness)
        enhancement = made
        stream.report(.picture(input: size, output: made.output))
        var planning = Planner.Configuration(input: size, output: made.output, interval: .milliseconds(33.3))
        planning.ceiling = made.tileCount > 0 ? configuration.tier : .base
        planning.tilePixels = made.tilePixels
        planning.synthesises = configuration.interpolate > 1
        planning.workers = configuration.threads
        planning.cores = stream.cores
        stream.schedule(with: Planner(planning))
    }

    private func process(_ frame: consuming DecodedFrame, with enhancement: Enhancement) {
        frame.ticket.stamp(.planned)
        frame.ticket.record.tilesWanted = Int32(clamping: enhancement.staleTiles)
        frame.ticket.record.synthesisedAsked = Int32(stream.configuration.interpolate - 1)
        let plan = plan(frame.ticket.record, tiles: enhancement.staleTiles)
        frame.ticket.record.rung = UInt8(plan.rung)
        let target = plan.drop == nil ? enhancement.lease() : nil
        guard let target else {
            if frame.ticket.record.isKeyframe { stream.oweKeyframe() }
            stream.counters.add(.shedByPlan)
            return stream.ledger.close(frame.ticket, as: .dropped(plan.drop ?? .overload))
        }
        frame.ticket.stamp(.enhanceIn)
        let result = enhancement.upscale(frame.picture, into: target, plan)
        frame.ticket.stamp(.enhanceOut)
        note(result, plan.tier, in: &frame.ticket)

        let record = frame.ticket.record
        let color = frame.picture.color
        let interval = enhancement.step(to: record.presentation)
        let share = target.share()
        let finished = FinishedFrame(ticket: frame.ticket, picture: share, color: color, interval: interval ?? .zero)
        switch stream.configuration.synthesisOrder {
        case .beforeOriginal:
            enhancement.take(frame.picture, target, until: plan.emitBy)
            synthesise(beside: record, plan, interval: interval, color: color, with: enhancement)
            push(finished)
        case .afterOriginal:
            push(finished)
            enhancement.take(frame.picture, target, until: plan.emitBy(synthesised: 1))
            synthesise(beside: record, plan, interval: interval, color: color, with: enhancement)
        }
    }

    private func note(_ result: SuperResolutionResult, _ tier: Tier, in ticket: inout FrameTicket) {
        let computed = result.tilesSmall + result.tilesMedium
        ticket.record.tier = computed + result.tilesReused > 0 ? tier.rawValue : Tier.base.rawValue
        ticket.record.tilesComputed = Int32(clamping: computed)
        ticket.record.tilesReused = Int32(clamping: result.tilesReused)
        ticket.record.baseTime = result.baseTime
        ticket.record.tileTime = computed > 0 ? result.tileTime : nil
        stream.counters.add(.tilesSmall, UInt64(result.tilesSmall))
        stream.counters.add(.tilesMedium, UInt64(result.tilesMedium))
        stream.counters.add(.tilesReused, UInt64(result.tilesReused))
        stream.counters.add(.tilesLeft, UInt64(result.tilesLeft))
        _ = stream.withPlanner { planner in
            planner.observe(.base, result.baseTime)
            if computed > 0 { planner.observe(.tile(tier), result.tileTime, units: computed) }
        }
    }

    private func plan(_ record: FrameRecord, tiles: Int) -> FramePlan {
        let now = record[.planned]!
        let request = FrameRequest(
            now: now, emitBy: record.deadline ?? now, synthesised: stream.configuration.interpolate - 1,
            order: stream.configuration.synthesisOrder, tiles: tiles,
            waiting: pictures.count + units.count, newestEmitBy: stream.newestEmitBy,
            encoderQueue: finished.count, encoderBusySince: stream.encoderBusySince)
        return stream.withPlanner { planner in
            planner.use(cores: stream.availableCores)
            let plan = planner.plan(request)
            stream.skipsNonReference = !planner.level.decodesAll
            stream.note(planner.level, at: now)
            return plan
        }!
    }

    /// Makes the frame that goes with this original: halfway from the one before, or half an interval beyond.
    private func synthesise(
        beside original: FrameRecord, _ plan: FramePlan, interval: Nanoseconds?, color: ColorDescription,
        with enhancement: Enhancement
    ) {
        guard stream.configuration.interpolate > 1 else { return }
        let started = MonotonicTime.now()
        // Two pictures have yet to be encoded by then, this one and its original.
        let encoding = stream.withPlanner { Nanoseconds(Int64(2 * $0.costs[.encode].high)) } ?? .zero
        guard plan.synthesised > 0, let interval, started <= plan.synthesiseBy, let target = enhancement.lease(),
            enhancement.synthesise(into: target, until: plan.emitBy(synthesised: 1) - encoding)
        else { return stream.counters.add(.synthesisSkipped) }

        let sign: Int64 = stream.configuration.synthesisOrder == .beforeOriginal ? -1 : 1
        let half = Nanoseconds(sign * interval.count / 2)
        let presentation = original.presentation + sign * MediaTime.ticks(in: interval) / 2
        var ticket = stream.ledger.open(.synthesised, presentation: presentation)
        ticket.record.deadline = plan.emitBy(synthesised: 1)
        ticket.record.sourceTime = original.sourceTime.map { $0 + half }
        ticket.record[.lastPacket] = original[.lastPacket]
        ticket.record[.planned] = original[.planned]
        ticket.stamp(.enhanceIn, at: started)
        ticket.stamp(.enhanceOut)
        _ = stream.withPlanner { $0.observe(.synthesise, .now() - started) }
        push(FinishedFrame(ticket: ticket, picture: target, color: color, interval: interval))
    }

    private func push(_ frame: consuming FinishedFrame) {
        if let refused = finished.push(frame) { stream.ledger.close(refused.intoTicket(), as: .dropped(.shutdown)) }
    }
}
