import Enhance
import Media
import Schedule
import Telemetry

/// An enhanced picture on its way out.
struct FinishedFrame: ~Copyable, Sendable {
    var ticket: FrameTicket
    let picture: PictureLease
    let color: ColorDescription
    let frameInterval: Nanoseconds

    consuming func intoTicket() -> FrameTicket { ticket }
}

/// The enhance thread: asks the schedule what each picture is worth, upscales it, and makes the frame between it and the
/// one before.
final class EnhanceStage: Sendable {
    private let pictures: BoundedQueue<DecodedFrame>
    private let finished: BoundedQueue<FinishedFrame>
    private let waitingUnits: @Sendable () -> Int
    private let stream: StreamState

    init(
        pictures: BoundedQueue<DecodedFrame>, finished: BoundedQueue<FinishedFrame>,
        waitingUnits: @escaping @Sendable () -> Int, stream: StreamState
    ) {
        self.pictures = pictures
        self.finished = finished
        self.waitingUnits = waitingUnits
        self.stream = stream
    }

    /// Runs until the queue of pictures is closed and empty, then closes its own.
    func run() {
        defer { finished.close() }
        var enhancement: Enhancement?
        while let frame = pictures.pop() {
            guard stream.outputIsConnected else {
                enhancement?.forget()
                stream.ledger.close(frame.intoTicket(), as: .dropped(.outputDown))
                continue
            }
            do {
                if enhancement?.input != frame.picture.size {
                    enhancement = try begin(with: frame.picture.size)
                }
            } catch {
                stream.ledger.close(frame.intoTicket(), as: .dropped(.decodeError))
                stream.fail(.input("\(error)"))
                continue
            }
            process(frame, with: enhancement!)
        }
    }

    private func begin(with size: PictureSize) throws(EnhanceError) -> Enhancement {
        let configuration = stream.configuration
        let scaled = size.scaled(by: configuration.scale)
        let fits = scaled.width <= configuration.largestOutput.width && scaled.height <= configuration.largestOutput.height
        let enhancement = try Enhancement(
            input: size, scale: fits ? configuration.scale : 1, threads: configuration.threads,
            synthesises: configuration.interpolate > 1)
        stream.report(.picture(input: size, output: enhancement.output))
        var planning = Planner.Configuration(
            input: size, output: enhancement.output, interval: .milliseconds(33.3))
        planning.ceiling = .base
        planning.synthesises = configuration.interpolate > 1
        planning.workers = configuration.threads
        stream.schedule(with: Planner(planning))
        return enhancement
    }

    private func process(_ frame: consuming DecodedFrame, with enhancement: Enhancement) {
        let waiting = pictures.count + waitingUnits()
        let encoderQueue = finished.count + 1
        let now = MonotonicTime.now()
        frame.ticket.stamp(.planned, at: now)
        let request = FrameRequest(
            now: now, emitBy: frame.ticket.record.deadline ?? now, synthesised: stream.configuration.interpolate - 1,
            tiles: 0, waiting: waiting, newestEmitBy: stream.newestEmitBy, encoderQueue: encoderQueue)
        let plan = stream.withPlanner { planner in
            let plan = planner.plan(request)
            stream.skipsNonReference = !planner.level.decodesAll
            return plan
        }
        guard let plan else { return stream.ledger.close(frame.intoTicket(), as: .dropped(.shutdown)) }
        if let reason = plan.drop { return stream.ledger.close(frame.intoTicket(), as: .dropped(reason)) }

        guard let lease = enhancement.lease() else {
            return stream.ledger.close(frame.intoTicket(), as: .dropped(.overload))
        }
        frame.ticket.stamp(.enhanceIn)
        let color = frame.picture.color
        let cost = enhancement.upscale(frame.picture, into: lease, until: plan.stop)
        frame.ticket.stamp(.enhanceOut)
        _ = stream.withPlanner { $0.observe(.base, cost) }

        let presentation = frame.ticket.record.presentation
        let interval = enhancement.interval(to: presentation)
        if plan.synthesises {
            synthesise(before: frame.ticket.record, interval: interval, color: color, with: enhancement, lease)
        } else if stream.configuration.interpolate > 1 {
            stream.counters.add(.synthesisSkipped)
        }
        let share = lease.share()
        let isDamaged = frame.ticket.record.isDamaged
        let (ticket, picture) = frame.split()
        enhancement.remember(picture, lease, presentation: presentation, isDamaged: isDamaged)
        push(FinishedFrame(ticket: ticket, picture: share, color: color, frameInterval: interval ?? .zero))
    }

    /// Makes the frame between the previous picture and this one, where the two belong together.
    private func synthesise(
        before original: FrameRecord, interval: Nanoseconds?, color: ColorDescription, with enhancement: Enhancement,
        _ current: borrowing PictureLease
    ) {
    }

    private func push(_ frame: consuming FinishedFrame) {
        if let refused = finished.push(frame) { stream.ledger.close(refused.intoTicket(), as: .dropped(.shutdown)) }
    }
}
