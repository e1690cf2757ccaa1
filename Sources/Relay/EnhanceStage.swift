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
            stream.ledger.close(frame.ticket, as: .dropped(.decodeError))
            return stream.fail(.input("pictures of this input cannot be enhanced: \(error)"))
        }
        process(frame, with: enhancement!)
    }

    private func prepare(for size: PictureSize) throws(EnhanceError) {
        if enhancement?.input == size { return }
        let configuration = stream.configuration
        let made = try Enhancement(
            input: size, scale: configuration.scale(for: size), threads: configuration.threads,
            synthesises: configuration.interpolate > 1, ceiling: configuration.tier)
        enhancement = made
        stream.report(.picture(input: size, output: made.output))
        let isKnown = stream.withPlanner { $0.resize(input: size, output: made.output) } != nil
        if isKnown { return }
        var planning = Planner.Configuration(input: size, output: made.output, interval: .milliseconds(33.3))
        planning.ceiling = made.tileCount > 0 ? configuration.tier : .base
        planning.tilePixels = made.tilePixels
        planning.synthesises = configuration.interpolate > 1
        planning.workers = configuration.threads
        stream.schedule(with: Planner(planning))
    }

    private func process(_ frame: consuming DecodedFrame, with enhancement: Enhancement) {
        frame.ticket.stamp(.planned)
        frame.ticket.record.tilesWanted = Int32(clamping: enhancement.staleTiles)
        frame.ticket.record.synthesisedAsked = Int32(stream.configuration.interpolate - 1)
        let plan = plan(frame.ticket.record, tiles: enhancement.staleTiles)
        if let reason = plan.drop { return stream.ledger.close(frame.ticket, as: .dropped(reason)) }
        guard let target = enhancement.lease() else {
            return stream.ledger.close(frame.ticket, as: .dropped(.overload))
        }
        frame.ticket.stamp(.enhanceIn)
        let result = enhancement.upscale(frame.picture, into: target, plan)
        let interval = enhancement.pair(frame.picture, target, at: frame.ticket.record.presentation)
        frame.ticket.stamp(.enhanceOut)
        note(result, plan.tier, in: &frame.ticket)

        let color = frame.picture.color
        if plan.synthesised > 0, let interval {
            synthesise(before: frame.ticket.record, plan, interval: interval, color: color, with: enhancement)
        } else if stream.configuration.interpolate > 1 {
            stream.counters.add(.synthesisSkipped)
        }
        push(FinishedFrame(ticket: frame.ticket, picture: target, color: color, interval: interval ?? .zero))
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
            now: now, emitBy: record.deadline ?? now, synthesised: stream.configuration.interpolate - 1, tiles: tiles,
            waiting: pictures.count + units.count, newestEmitBy: stream.newestEmitBy,
            encoderQueue: finished.count, encoderBusySince: stream.encoderBusySince)
        return stream.withPlanner { planner in
            let plan = planner.plan(request)
            stream.skipsNonReference = !planner.level.decodesAll
            return plan
        }!
    }

    /// Makes the frame between the previous picture and this one.
    private func synthesise(
        before original: FrameRecord, _ plan: FramePlan, interval: Nanoseconds, color: ColorDescription,
        with enhancement: Enhancement
    ) {
        guard let target = enhancement.lease() else { return stream.counters.add(.synthesisSkipped) }
        let started = MonotonicTime.now()
        // Two pictures have yet to be encoded by then, this one and its original.
        let encoding = stream.withPlanner { Nanoseconds(Int64(2 * $0.costs[.encode].high)) } ?? .zero
        guard started <= plan.synthesiseBy, enhancement.synthesise(into: target, until: plan.emitBy - encoding) else {
            return stream.counters.add(.synthesisSkipped)
        }
        let half = Nanoseconds(interval.count / 2)
        let presentation = MediaTime(ticks: original.presentation.ticks - MediaTime.ticks(in: interval) / 2)
        var ticket = stream.ledger.open(.synthesised, presentation: presentation)
        // It is due half an interval before its original, where it can be; it cannot be made before that has come.
        ticket.record.deadline = original.deadline
        ticket.record.sourceTime = original.sourceTime.map { $0 - half }
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
