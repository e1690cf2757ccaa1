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
    private var encoder: VideoEncoder?
    private var muxer: TransportStreamMuxer?
    private var cadence = CadenceClock()
    private var newest = MediaTime(ticks: .min)
    private var needsKeyframe = true
    /// A size that the encoder has refused: told once, and not tried for every frame.
    private var refused: PictureSize?
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
            followConnection()
            if let frame = finished.pop(until: .now() + Self.tick) {
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
        let outcome: Emission
        guard refused != frame.picture.picture.size else {
            return stream.ledger.close(frame.ticket, as: .dropped(.encodeError))
        }
        do throws(CodecError) {
            try prepare(for: frame.picture.picture.size.even, color: color, interval: interval)
            outcome = unsafe try encodeAndSend(frame.picture.picture.view.even, record, interval)
        } catch {
            stream.report(.note("\(error)"))
            if encoder == nil { refused = frame.picture.picture.size }
            encoder = nil
            return stream.ledger.close(frame.ticket, as: .dropped(.encodeError))
        }
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

    private func prepare(for size: PictureSize, color: ColorDescription, interval: Nanoseconds) throws(CodecError) {
        let layout = passing.layout
        if muxer?.layout != layout {
            muxer = try TransportStreamMuxer(layout, continuing: muxer)
            needsKeyframe = true
        }
        if let encoder, encoder.configuration.size == size, encoder.configuration.color == color { return }
        encoder = nil
        let learnt = interval > .zero ? Rational(Int64(max(1, (1e9 / Double(interval.count)).rounded()))) : nil
        let rate = stream.sourceRate ?? learnt ?? Rational(30)
        encoder = try VideoEncoder(stream.configuration.encoding(of: size, color: color, sourceRate: rate))
        needsKeyframe = true
    }

    /// What came of one picture on its way through encoder, multiplexer and output.
    private struct Emission {
        var encodeIn: MonotonicTime
        var encodeOut: MonotonicTime?
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
        let (muxer, sink) = (muxer!, sink)
        let source = record.sourceTime ?? record[.lastPacket].map { $0 + offset(of: record, interval) } ?? encodeIn
        unsafe try encoder!.encode(picture, id: Int64(record.id), at: record.presentation, asKeyframe: asKeyframe) { unit in
            let encoded = MonotonicTime.now()
            emission.encodeOut = encoded
            emission.bytes = unsafe unit.bytes.count
            let stamp = cadence.stamp(source: source, now: encoded)
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
        guard let encoded = emission.encodeOut, let sent = emission.sent else {
            needsKeyframe = true
            return stream.ledger.close(ticket, as: .dropped(.encodeError))
        }
        ticket.stamp(.encodeOut, at: encoded)
        ticket.stamp(.sent, at: sent)
        ticket.record.bytesOut = Int32(clamping: emission.bytes)
        let record = ticket.record
        _ = stream.withPlanner { planner in
            planner.observe(.encode, encoded - emission.encodeIn)
            planner.observe(.emit, sent - encoded)
            if record.kind == .original, let deadline = record.deadline { planner.emitted(slack: deadline - sent) }
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
