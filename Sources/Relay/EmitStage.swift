import Codec
import Media
import Schedule
import Telemetry
import Transport

/// The emit thread: encodes each picture, multiplexes it and sends it at once, with the streams that pass through beside
/// it.
///
/// Confined to the thread that calls ``run()``.
final class EmitStage {
    private let finished: BoundedQueue<FinishedFrame>
    private let passing: PassingStreams
    private let sink: Sink
    private let stream: StreamState
    private var encoder: (any PictureEncoder)?
    private var muxer: TransportStreamMuxer?
    private var cadence = CadenceClock()
    private var newest = MediaTime(ticks: .min)
    private var needsKeyframe = true
    /// A size that no encoder can do: told once, and not tried for every frame.
    private var refused: PictureSize?
    /// The last picture could not be encoded: the next one's failure is no news.
    private var isFailing = false
    /// The source's real rate, and the one that the encoder was opened for.
    private var rate = RateWatch()
    private var assumedRate = Rational(30)
    /// A unit that waits for the picture of its time.
    private var held: PassingUnit?

    /// How often the thread looks up while no picture comes.
    private static let tick = Nanoseconds.milliseconds(20)

    init(finished: BoundedQueue<FinishedFrame>, passing: PassingStreams, sink: Sink, stream: StreamState) {
        self.finished = finished
        self.passing = passing
        self.sink = sink
        self.stream = stream
    }

    /// Runs until the queue of finished pictures is closed and empty.
    func run() {
        while true {
            let next = finished.pop(until: .now() + Self.tick)
            // Between waiting and sending, so that who has come meanwhile is not met with half of a picture.
            followConnection()
            if let frame = consume next {
                emit(frame)
            } else if finished.isClosed && finished.count == 0 {
                break
            }
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
            }
            stream.report(.output(event))
        }
        stream.outputIsConnected = sink.isConnected
        if sink.isBroken, !stream.isStopping {
            stream.fail(
                .transport(TransportError(.inaccessible, place: "\(sink.url)", "nothing more can be written to it")))
        }
        if stream.takeSourceChange() { cadence.restart() }
    }

    private func emit(_ frame: consuming FinishedFrame) {
        let record = frame.ticket.record
        let color = frame.color
        let interval = frame.interval
        if let reason = obstacle(to: record, interval) {
            if record.isKeyframe { stream.oweKeyframe() }
            return stream.ledger.close(frame.ticket, as: .dropped(reason))
        }
        if record.kind == .original { rate.note(interval) }
        let outcome: Emission
        let size = frame.picture.picture.size.even
        guard refused != size else { return stream.ledger.close(frame.ticket, as: .dropped(.encodeError)) }
        do throws(CodecError) {
            try prepare(for: size, color: color, asKeyframe: record.isKeyframe && record.kind == .original)
            outcome = unsafe try encodeAndSend(frame.picture.picture.view.even, record, interval)
        } catch {
            if !isFailing { stream.report(.note("\(error)")) }
            isFailing = true
            encoder = nil
            return stream.ledger.close(frame.ticket, as: .dropped(.encodeError))
        }
        isFailing = false
        close(frame.ticket, after: outcome)
    }

    /// Why a finished picture is not worth encoding.
    private func obstacle(to record: FrameRecord, _ interval: Nanoseconds) -> DropReason? {
        if !stream.outputIsConnected { return .outputDown }
        // Decoding order is presentation order here; a picture that does not follow belongs to a time that is gone.
        if record.presentation <= newest { return .discontinuity }
        let now = MonotonicTime.now()
        let emitBy = record.deadline ?? now
        // Behind a synthesised frame comes its own original, which is due with it.
        let next: MonotonicTime? =
            record.kind == .original ? (finished.count > 0 ? emitBy + interval : nil) : emitBy
        let request = EncodeRequest(now: now, emitBy: emitBy, kind: record.kind, nextOriginalEmitBy: next)
        return stream.withPlanner { $0.encode(request) } ?? nil
    }

    private func prepare(for size: PictureSize, color: ColorDescription, asKeyframe: Bool) throws(CodecError) {
        let layout = passing.layout
        if muxer?.layout != layout {
            muxer = try TransportStreamMuxer(layout, continuing: muxer)
            needsKeyframe = true
        }
        if let encoder, encoder.configuration.size == size, encoder.configuration.color == color {
            // Another rate is another allowance of bits for each picture; it is worth no keyframe of its own.
            guard asKeyframe || needsKeyframe, rate.contradicts(assumedRate) else { return }
        }
        encoder = nil
        assumedRate = rate.rate ?? stream.sourceRate ?? Rational(30)
        let configuration = stream.configuration.encoding(of: size, color: color, sourceRate: assumedRate)
        do throws(CodecError) {
            encoder = try stream.configuration.makeEncoder(configuration)
        } catch {
            if error.kind == .unsupportedFormat || error.kind == .unsupportedCodec { refused = size }
            throw error
        }
        needsKeyframe = true
    }

    /// What came of one picture on its way through encoder, multiplexer and output.
    private struct Emission {
        var encodeIn: MonotonicTime
        var encodeOut: MonotonicTime?
        /// When its turn to leave came.
        var due: MonotonicTime?
        var sent: MonotonicTime?
        var bytes = 0
        var refused = false
    }

    private func encodeAndSend(
        _ picture: PictureView, _ record: FrameRecord, _ interval: Nanoseconds
    ) throws(CodecError) -> Emission {
        let encodeIn = MonotonicTime.now()
        stream.encoderBusySince = encodeIn
        defer { stream.encoderBusySince = nil }
        var emission = Emission(encodeIn: encodeIn)
        let isOwed = stream.takeOwedKeyframe()
        let asKeyframe = needsKeyframe || isOwed || (record.isKeyframe && record.kind == .original)
        if asKeyframe { stream.counters.add(.keyframesForced) }
        newest = record.presentation
        let (muxer, sink, isPaced) = (muxer!, sink, stream.configuration.pacing == .paced)
        let source = record.sourceTime ?? record[.lastPacket].map { $0 + offset(of: record, interval) } ?? encodeIn
        unsafe try encoder!.encode(picture, id: Int64(record.id), at: record.presentation, asKeyframe: asKeyframe) { unit in
            let encoded = MonotonicTime.now()
            emission.encodeOut = encoded
            emission.bytes = unsafe unit.bytes.count
            let stamp = cadence.stamp(source: source, now: encoded)
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

    /// How far a frame's turn lies from the arrival that its record names: a synthesised one's is its original's.
    private func offset(of record: FrameRecord, _ interval: Nanoseconds) -> Nanoseconds {
        guard record.kind == .synthesised else { return .zero }
        return stream.configuration.synthesisOrder == .beforeOriginal ? -(interval / 2) : interval / 2
    }

    private func close(_ ticket: consuming FrameTicket, after emission: Emission) {
        ticket.stamp(.encodeIn, at: emission.encodeIn)
        guard let encoded = emission.encodeOut, let due = emission.due, let sent = emission.sent else {
            needsKeyframe = true
            return stream.ledger.close(ticket, as: .dropped(.encodeError))
        }
        ticket.stamp(.encodeOut, at: encoded)
        ticket.stamp(.sent, at: sent)
        ticket.record.bytesOut = Int32(clamping: emission.bytes)
        let record = ticket.record
        _ = stream.withPlanner { planner in
            planner.observe(.encode, encoded - emission.encodeIn)
            // What was waited for the frame's turn is no work, and took nothing from the slack.
            planner.observe(.emit, sent - due)
            let done = encoded + (sent - due)
            if record.kind == .original, let deadline = record.deadline { planner.emitted(slack: deadline - done) }
        }
        // A unit that did not go out whole breaks the pictures after it, until the next keyframe.
        needsKeyframe = emission.refused
        stream.ledger.close(ticket, as: emission.refused ? .dropped(.outputDown) : .emitted)
    }

    // MARK: Streams that pass through

    /// Sends the units of other streams that belong beside the pictures sent so far: each is as late as the picture of
    /// its time, so that the two keep their offset, but no unit waits longer than the budget for a picture that does not
    /// come.
    private func sendPassing(all: Bool) {
        while let unit = held ?? passing.next() {
            held = unit
            let isDue = unit.presentation.map { $0 <= newest } ?? true
            guard all || isDue || MonotonicTime.now() - unit.arrival >= stream.configuration.budget else { return }
            stream.counters.add(send(unit) ? .passingOut : .passingDropped)
            passing.giveBack(unit)
            held = nil
        }
    }

    private func send(_ unit: PassingUnit) -> Bool {
        guard stream.outputIsConnected, let muxer, unit.generation == passing.generation,
            unit.stream < muxer.layout.passedStreams.count
        else { return false }
        let stamp = cadence.stamp(passing: unit.sourceTime ?? unit.arrival)
        var isWhole = true
        unsafe muxer.writePassed(stream: unit.stream, unit.buffer.bytes, presentationTime: unit.presentation) { message in
            if unsafe sink.send(message, sourceTime: stamp) != .sent {
                isWhole = false
                stream.counters.add(.outputMessagesRefused)
            }
        }
        return isWhole
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
