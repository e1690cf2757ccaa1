import Codec
import Container
import Media
import Schedule
import Telemetry
import Transport

/// The emit thread: encodes each picture, multiplexes it and sends it at once, with the streams that pass through beside
/// it. At a constant rate it fills the slots that no picture comes for.
///
/// Confined to the thread that calls ``run()``.
final class EmitStage {
    private let finished: BoundedQueue<FinishedFrame>
    private let passing: PassingStreams
    private let sink: Sink
    private let stream: StreamState
    private var encoder: (any PictureEncoder)?
    private var muxer: TransportStreamMuxer?
    /// The number of the layout that the multiplexer has, as far as it goes for it: what came under another one is not for
    /// its program map.
    private var generation = -1
    private var clock = CadenceClock()
    private var newest = MediaTime(ticks: .min)
    private var needsKeyframe = true
    /// The encoder has encoded nothing yet: its first picture, a keyframe into memory that it has never touched, says
    /// nothing of what the next ones will cost.
    private var isCold = true
    /// A size that no encoder can do: told once, and not tried for every frame.
    private var refused: PictureSize?
    /// The last picture could not be encoded: the next one's failure is no news.
    private var isFailing = false
    /// The source's real rate, and the one that the encoder was opened for.
    private var rate = RateWatch()
    private var assumedRate = Rational(30)
    /// A unit that waits for the picture of its time.
    private var held: PassingUnit?
    /// Fills the slots of a constant rate; nil where there is none.
    private var repeater: Repeater?
    /// The newest frame that was sent, to be sent again.
    private var last: Shown?
    /// What is sent when the source has stopped; made when the encoder is, so that it is there when it is needed.
    private var slate: Picture?
    /// What repeating a frame takes.
    private var repeatCost = Nanoseconds.milliseconds(3)
    /// The newest frame that was a keyframe or not repeated.
    private var lastEntry = MediaTime(ticks: 0)

    private struct Shown: ~Copyable {
        let picture: PictureLease
        let color: ColorDescription
    }

    /// How often the thread looks up while no picture comes, and while one is overdue.
    private static let tick = Nanoseconds.milliseconds(20)
    private static let shortTick = Nanoseconds.milliseconds(4)
    /// While nothing but repeats goes out, receivers that come get a keyframe to begin with at least this often.
    private static let keyframeInterval = 2 * MediaTime.ticksPerSecond

    init(finished: BoundedQueue<FinishedFrame>, passing: PassingStreams, sink: Sink, stream: StreamState) {
        self.finished = finished
        self.passing = passing
        self.sink = sink
        self.stream = stream
        let hold = stream.configuration.hold
        repeater = stream.configuration.grid.map { Repeater(grid: $0, hold: hold) }
    }

    /// Runs until the queue of finished pictures is closed and empty.
    func run() {
        while true {
            let next = finished.pop(until: nextLook())
            // Between waiting and sending, so that who has come meanwhile is not met with half of a picture.
            followConnection()
            if let frame = consume next {
                emit(frame)
            } else if finished.isClosed && finished.count == 0 {
                break
            }
            fillOverdueSlot()
            sendPassing(all: false)
        }
        sendPassing(all: true)
    }

    /// A receiver that has just come needs the tables and a keyframe.
    private func followConnection() {
        while let event = sink.nextEvent() {
            if case .connected = event {
                stream.counters.add(.outputConnections)
                needsKeyframe = true
                muxer?.restart()
                repeater?.beginHold(now: .now())
            }
            stream.report(.output(event))
        }
        stream.outputIsConnected = sink.isConnected
        if sink.isBroken, !stream.isStopping {
            stream.fail(
                .transport(TransportError(.inaccessible, place: "\(sink.url)", "nothing more can be written to it")))
        }
        if stream.takeSourceChange() { clock.restart() }
    }

    private func emit(_ frame: consuming FinishedFrame) {
        let now = MonotonicTime.now()
        let size = frame.picture.picture.size.even
        var place = frame.ticket.record.presentation
        if let repeater {
            guard let slot = repeater.place(place, now: now) else { return drop(frame, .late) }
            place = slot
            frame.ticket.record.presentation = slot
        }
        if let reason = obstacle(to: frame.ticket.record, now) { return drop(frame, reason) }
        guard refused != size else { return stream.ledger.close(frame.intoTicket(), as: .dropped(.encodeError)) }
        fillSlots(before: place, turn: frame.turn, frame.ticket.record.kind, deadline: frame.ticket.record.deadline)
        let record = frame.ticket.record
        if record.kind == .original { rate.note(frame.interval) }
        let outcome: Emission
        do throws(CodecError) {
            let asKeyframe = record.isKeyframe && record.kind == .original
            try prepare(for: size, color: frame.color, asKeyframe: asKeyframe)
            outcome = unsafe try encodeAndSend(frame.picture.picture.view.even, record, at: .turn(frame.turn))
        } catch {
            note(error)
            encoder = nil
            return stream.ledger.close(frame.intoTicket(), as: .dropped(.encodeError))
        }
        isFailing = false
        if repeater != nil {
            repeater!.show(place, now: now)
            countEmptySlots()
            last = Shown(picture: frame.picture.share(), color: frame.color)
        }
        close(frame.intoTicket(), after: outcome)
    }

    private func note(_ error: CodecError) {
        // What ends the relay is its last line.
        if !isFailing, stream.firstFailure == nil { stream.report(.note("\(error)")) }
        isFailing = true
    }

    private func drop(_ frame: consuming FinishedFrame, _ reason: DropReason) {
        if frame.ticket.record.isKeyframe { stream.oweKeyframe() }
        stream.ledger.close(frame.intoTicket(), as: .dropped(reason))
    }

    /// Why a finished picture is not worth encoding.
    private func obstacle(to record: FrameRecord, _ now: MonotonicTime) -> DropReason? {
        if !stream.outputIsConnected { return .outputDown }
        // Decoding order is presentation order here; a picture that does not follow belongs to a time that is gone.
        if record.presentation <= newest { return .discontinuity }
        let emitBy = record.deadline ?? now
        // Behind an interpolated frame comes its own original, which is due with it. One behind this frame stands for its
        // own original, too; extrapolated ones are behind theirs, and for those it says nothing.
        let isInFront = stream.configuration.synthesisOrder == .beforeOriginal
        let next: MonotonicTime? =
            record.kind == .synthesised && isInFront
            ? emitBy : finished.first { isInFront || $0.ticket.record.kind == .original ? $0.ticket.record.deadline : nil }
        let request = EncodeRequest(now: now, emitBy: emitBy, kind: record.kind, nextOriginalEmitBy: next)
        return stream.withPlanner { $0.encode(request) } ?? nil
    }

    private func prepare(for size: PictureSize, color: ColorDescription, asKeyframe: Bool) throws(CodecError) {
        let (layout, generation) = passing.numberedLayout
        if muxer?.layout != layout {
            do throws(ContainerError) {
                muxer = try TransportStreamMuxer(layout, continuing: muxer)
            } catch { throw CodecError(error) }
            needsKeyframe = true
        }
        self.generation = generation
        if let encoder, encoder.configuration.size == size, encoder.configuration.color == color {
            // Another rate is another allowance of bits for each picture; it is worth no keyframe of its own.
            guard asKeyframe || needsKeyframe, repeater == nil, rate.contradicts(assumedRate) else { return }
        }
        encoder = nil
        let configuration = stream.configuration
        assumedRate = rate.rate ?? stream.sourceRate ?? Rational(30)
        let encoding = configuration.encoding(
            of: size, color: color, rate: configuration.outputRate(source: assumedRate))
        do throws(CodecError) {
            encoder = try configuration.makeEncoder(encoding)
        } catch {
            if error.kind == .unsupportedFormat || error.kind == .unsupportedCodec { refused = size }
            // No other picture will fare better.
            if error.kind == .unsupportedCodec { stream.fail(.codec(error)) }
            throw error
        }
        if repeater != nil, slate?.size != size { slate = Picture(slateOf: size) }
        needsKeyframe = true
        isCold = true
    }

    /// What the source time that is sent with a picture is made from.
    private enum SourceTime {
        /// The picture's own time: its cadence is restored.
        case turn(MonotonicTime)
        /// The time that a repeated one stands in for.
        case repeated(MonotonicTime)
    }

    /// What came of one picture on its way through encoder, multiplexer and output.
    private struct Emission {
        var encodeIn: MonotonicTime
        var encodeOut: MonotonicTime?
        /// When its turn to leave came.
        var due: MonotonicTime?
        var sent: MonotonicTime?
        var refused = false
    }

    private func encodeAndSend(
        _ picture: PictureView, _ record: FrameRecord, at source: SourceTime
    ) throws(CodecError) -> Emission {
        let encodeIn = MonotonicTime.now()
        stream.encoderBusySince = encodeIn
        defer { stream.encoderBusySince = nil }
        var emission = Emission(encodeIn: encodeIn)
        let isOwed = stream.takeOwedKeyframe()
        let asKeyframe = needsKeyframe || isOwed || (record.isKeyframe && record.kind == .original)
        if asKeyframe { stream.counters.add(.keyframesForced) }
        if asKeyframe || record.kind != .repeated { lastEntry = record.presentation }
        newest = record.presentation
        let (muxer, sink, isPaced) = (muxer!, sink, stream.configuration.pacing == .paced)
        unsafe try encoder!.encode(picture, id: Int64(record.id), at: record.presentation, asKeyframe: asKeyframe) { unit in
            let encoded = MonotonicTime.now()
            emission.encodeOut = encoded
            let stamp =
                switch source {
                case .turn(let time): clock.stamp(source: time, now: encoded, isLateUnit: record.isLateUnit)
                case .repeated(let time): clock.stamp(repeated: time)
                }
            stream.encoderBusySince = nil
            emission.due = isPaced ? CadenceClock.awaitTurn(stamp, deadline: record.deadline, now: encoded) : encoded
            unsafe muxer.writeVideo(
                unit.bytes, presentationTime: unit.presentationTime, decodeTime: unit.decodeTime,
                isKeyframe: unit.isKeyframe
            ) { message in
                if unsafe sink.send(message, sourceTime: stamp) != .sent {
                    emission.refused = true
                    stream.counters.add(.outputMessagesRefused)
                }
            }
            emission.sent = .now()
        }
        return emission
    }

    private func close(_ ticket: consuming FrameTicket, after emission: Emission) {
        ticket.stamp(.encodeIn, at: emission.encodeIn)
        guard let encoded = emission.encodeOut, let due = emission.due, let sent = emission.sent else {
            needsKeyframe = true
            return stream.ledger.close(ticket, as: .dropped(.encodeError))
        }
        ticket.stamp(.encodeOut, at: encoded)
        ticket.stamp(.sent, at: sent)
        let record = ticket.record
        // What a repeated frame costs says nothing of the others.
        if record.kind != .repeated { tellPlanner(of: record, encoded: encoded, due: due, sent: sent) }
        isCold = false
        // A unit that did not go out whole breaks the pictures after it, until the next keyframe.
        needsKeyframe = emission.refused
        stream.ledger.close(ticket, as: emission.refused ? .dropped(.outputDown) : .emitted)
    }

    private func tellPlanner(
        of record: FrameRecord, encoded: MonotonicTime, due: MonotonicTime, sent: MonotonicTime
    ) {
        guard let begin = record[.encodeIn] else { return }
        _ = stream.withPlanner { planner in
            if !isCold { planner.observe(.encode, encoded - begin) }
            // What was waited for the frame's turn is no work, and took nothing from the slack.
            planner.observe(.emit, sent - due)
            let done = encoded + (sent - due)
            if record.kind == .original, let deadline = record.deadline { planner.emitted(slack: deadline - done) }
        }
    }

    // MARK: The slots of a constant rate

    /// Until when to wait for a picture.
    private func nextLook() -> MonotonicTime {
        let now = MonotonicTime.now()
        guard let due = repeater?.due(stream.expected) else { return now + Self.tick }
        if due > now { return min(due, now + Self.tick) }
        // What is overdue and does not come may have been dropped on its way.
        return stream.isWorking ? now + Self.shortTick : now
    }

    /// Frames come in order: what has not come for an earlier slot will not. But a frame that can be in time is worth more
    /// than repeats before it, and one that is late has no time for those that are far more so.
    private func fillSlots(before time: MediaTime, turn: MonotonicTime, _ kind: FrameKind, deadline: MonotonicTime?) {
        let isBeforeOriginal = kind == .synthesised && stream.configuration.synthesisOrder == .beforeOriginal
        let (likely, safe) = stream.withPlanner { $0.timeToEmit(isBeforeOriginal: isBeforeOriginal) } ?? (.zero, .zero)
        while repeater != nil {
            let now = MonotonicTime.now()
            let isLate = deadline.map { now + likely > $0 } ?? false
            if let deadline, !isLate, now + repeatCost + safe > deadline { return }
            let due = isLate ? deadline : nil
            guard let filler = repeater?.missing(before: time, now: now, due: due), let slot = filler.slot else { return }
            send(filler, .repeated(turn - MediaTime(ticks: time - slot).nanoseconds))
        }
    }

    /// One at a time: frames, connections and the end of the stream come before the next.
    private func fillOverdueSlot() {
        guard repeater != nil else { return }
        let now = MonotonicTime.now()
        let filler = repeater!.filler(now: now, stream.expected, isUnderWay: stream.isWorking)
        // It leaves when its frame should have left at the latest: so is its time for the next hop.
        if filler != .nothing { send(filler, .repeated(now - (clock.delay ?? .zero))) }
        if let filled = repeater!.filled, filled != stream.filled { stream.filled = filled }
        countEmptySlots()
    }

    /// Those that nobody would have seen do not count.
    private func countEmptySlots() {
        let empty = repeater!.takeLeftEmpty()
        if empty > 0, stream.outputIsConnected { stream.counters.add(.slotsEmpty, UInt64(empty)) }
    }

    /// Sends the last frame again, or the slate. Slots that pass while nobody takes the output are gone.
    private func send(_ filler: Repeater.Filler, _ source: SourceTime) {
        guard stream.outputIsConnected, let slot = filler.slot, slot > newest, let shown = last.take() else { return }
        var ticket = stream.ledger.open(.repeated, presentation: slot)
        ticket.stamp(.planned)
        if slot - lastEntry >= Self.keyframeInterval { needsKeyframe = true }
        let record = ticket.record
        let outcome: Emission
        do throws(CodecError) {
            try prepare(for: shown.picture.picture.size.even, color: shown.color, asKeyframe: false)
            let picture = filler.isSlate ? slate! : shown.picture.picture
            outcome = unsafe try encodeAndSend(picture.view.even, record, at: source)
        } catch {
            // Once is enough: nothing is repeated before there is another picture.
            note(error)
            encoder = nil
            return stream.ledger.close(ticket, as: .dropped(.encodeError))
        }
        last = consume shown
        if let encoded = outcome.encodeOut { repeatCost = repeatCost + (encoded - outcome.encodeIn - repeatCost) / 8 }
        if filler.isSlate { stream.counters.add(.slates) }
        close(ticket, after: outcome)
    }

    // MARK: Streams that pass through

    /// Sends the units of other streams that belong beside the pictures sent so far: each is as late as the picture of
    /// its time, so that the two keep their offset, but no unit waits beyond its own deadline for a picture that does not
    /// come.
    private func sendPassing(all: Bool) {
        while let unit = held ?? passing.next() {
            held = unit
            // A new layout's program map goes out with the next picture.
            let isDue = unit.generation <= generation && passing.presentation(of: unit).map { $0 <= newest } ?? true
            guard all || isDue || MonotonicTime.now() >= unit.emitBy else { return }
            stream.counters.add(send(unit) ? .passingOut : .passingDropped)
            passing.giveBack(unit)
            held = nil
        }
    }

    private func send(_ unit: PassingUnit) -> Bool {
        guard stream.outputIsConnected, let muxer, unit.generation == generation,
            unit.stream < muxer.layout.passedStreams.count
        else { return false }
        let stamp = clock.stamp(passing: unit.sourceTime ?? unit.arrival)
        var isWhole = true
        let presentation = passing.presentation(of: unit)
        unsafe muxer.writePassed(stream: unit.stream, unit.buffer.bytes, presentationTime: presentation) { message in
            if unsafe sink.send(message, sourceTime: stamp) != .sent {
                isWhole = false
                stream.counters.add(.outputMessagesRefused)
            }
        }
        return isWhole
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

extension Picture {
    /// A plain dark grey picture.
    fileprivate convenience init(slateOf size: PictureSize) {
        self.init(size: size)
        let view = unsafe mutableView
        for y in 0..<size.height { unsafe view.y.row(y).update(repeating: 40, count: size.width) }
        for y in 0..<size.chroma.height {
            unsafe view.u.row(y).update(repeating: 128, count: size.chroma.width)
            unsafe view.v.row(y).update(repeating: 128, count: size.chroma.width)
        }
    }
}

extension PictureSize {
    /// H.264 with 4:2:0 has whole chroma samples only: an odd picture, passed at its own size, loses its last column or
    /// row.
    fileprivate var even: PictureSize { PictureSize(width: width & ~1, height: height & ~1) }
}

extension PictureView {
    fileprivate var even: PictureView {
        let size = unsafe size.even
        let chroma = size.chroma
        return unsafe PictureView(
            y: PlaneView(base: y.base, stride: y.stride, width: size.width, height: size.height),
            u: PlaneView(base: u.base, stride: u.stride, width: chroma.width, height: chroma.height),
            v: PlaneView(base: v.base, stride: v.stride, width: chroma.width, height: chroma.height))
    }
}

extension CodecError {
    /// A stream that the multiplex cannot hold is handled like a picture that the encoder cannot code.
    init(_ error: ContainerError) {
        self.init(
            .unsupportedFormat, operation: "TransportStreamMuxer.init", message: error.message, place: error.place,
            advice: error.advice)
    }
}
