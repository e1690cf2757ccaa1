import Codec
import Container
import Endpoint
import Media
import Packets
import Schedule
import Settings
import Synchronization
import Telemetry
import Transport

/// The send stage of all outputs: multiplexes coded units and the units of passing streams, and sends each when it is due.
///
/// ``EncodedOutput`` and ``PassedOutput`` say which threads come here, and for what. When a picture is due at once and none waits before
/// it, the thread that delivers it also sends it, uncopied. The stage's own thread (``run()``) sends what waits for its turn, sends
/// passing units as soon as they are due, and follows the connection. So a picture never waits for a thread to wake, and sound never
/// waits for a picture.
///
/// Thread-safe. Nothing here allocates in the steady state.
final class SendStage: EncodedOutput, PassedOutput, ExtraOutput {
    private let passing: PassingStreams
    private let books: StreamBooks
    private let schedule: SharedScheduler
    private let keyframes: Keyframes
    private let connection: OutputConnection
    private let outputRate: OutputRate
    private let control: StreamControl
    private let turns: StageTurns
    private let captures: CaptureClock
    private let settings: LiveSettings
    /// What the encoder's pictures are in a program map.
    private let video: TransportStreamLayout.Video
    let feedsCalls: Bool
    let takesOtherPrograms: Bool
    private let state: Lock<State>
    private let waiting: BoundedQueue<WaitingUnit>
    private let path: PicturePath
    private let extra: ExtraEncode
    private let viewersWantSent = Atomic<Bool>(false)
    private let buffers = UnitBufferPool(count: 65, capacity: 16 * 1024)

    /// How often the stage asks the output whether a receiver has come or gone. SRT has no call to wait for that. Receivers of calls
    /// wake the stage.
    private static let connectionPollInterval = Nanoseconds.milliseconds(20)

    /// - Parameter sinks: at least one.
    init(sinks: [Sink], passing: PassingStreams, channels: StreamChannels) {
        self.passing = passing
        let waiting = BoundedQueue<WaitingUnit>(capacity: 64)
        self.waiting = waiting
        state = Lock(State(sinks, passing, waiting, channels))
        books = channels.books
        captures = channels.captures
        settings = channels.settings
        video = TransportStreamLayout.Video(channels.configuration.options.codec)
        path = channels.path
        extra = channels.extra
        schedule = channels.schedule
        keyframes = channels.keyframes
        connection = channels.connection
        outputRate = channels.outputRate
        control = channels.control
        turns = channels.turns
        feedsCalls = sinks.contains(where: \.takesMedia)
        takesOtherPrograms = sinks.contains { !$0.takesMedia }
        for sink in sinks { sink.viewers?.wake(passing.wake) }
    }

    // MARK: The stage's own thread

    /// Runs until ``finish()`` was called and everything has left.
    func run() {
        defer { turns.end(.send) }
        turns.record(.send)
        while let next = state.withLock({ sendWhatIsDue(&$0) }) {
            passing.wake.wait(until: next)
            turns.record(.send)
        }
        guard let sound = state.withLock({ $0.calls.sound }) else { return }
        sound.finish()
        while state.withLock({ $0.sendTranscoded() }) {}
    }

    /// Sends at most one coded unit and a batch of passing units.
    /// - Returns: when something may be due again; nil at the end.
    private func sendWhatIsDue(_ state: inout State) -> MonotonicTime? {
        followConnection(&state)
        let hasPackets = state.sendTranscoded()
        let now = MonotonicTime.now()
        if let turn = waiting.first({ $0.turn }), turn <= now {
            sendOldest(&state)
            _ = state.sendPassing(all: false)
            return now
        }
        let isLast = state.isFinished && waiting.count == 0
        if state.sendPassing(all: isLast) || hasPackets { return now }
        if isLast { return nil }
        var next = now + Self.connectionPollInterval
        if let turn = waiting.first({ $0.turn }) { next = min(next, turn) }
        return state.shelf.first.map { min(next, $0.unit.emitBy) } ?? next
    }

    // MARK: From whoever delivers pictures

    func prepare() throws(ContainerError) {
        try state.withLock { state throws(ContainerError) in
            let (layout, number) = passing.numberedLayout
            if try state.program.prepare(layout, number) { keyframes.wantOfEncoder() }
        }
    }

    func deliver(
        _ unit: borrowing EncodedUnit, _ ticket: consuming FrameTicket, encoded: MonotonicTime, _ source: SourceTime
    ) {
        let facts = unsafe CodedUnit(
            presentation: unit.presentationTime, decode: unit.decodeTime, isKeyframe: unit.isKeyframe,
            video: video)
        deliver(unsafe unit.bytes.bytes, facts, ticket, encoded: encoded, source)
    }

    func deliver(
        _ bytes: RawSpan, _ unit: CodedUnit, _ ticket: consuming FrameTicket, encoded: MonotonicTime, _ source: SourceTime
    ) {
        var pending: FrameTicket? = consume ticket
        let hasMore = state.withLock { state in
            guard var ticket = pending.take() else { return false }
            var unit = unit
            unit.layoutNumber = unit.layoutNumber ?? state.program.preparedNumber
            state.times.settle(&unit)
            ticket.stamp(.encodeOut, at: encoded)
            state.outputs.countOffered()
            _ = state.settings.refresh()
            let stamp = state.times.stamp(ticket.record, source, now: encoded)
            let turn =
                switch state.settings.value.pacing {
                case .eager: encoded
                case .paced: CadenceClock.turn(stamp, deadline: ticket.record.deadline, now: encoded)
                }
            guard turn > encoded || waiting.count > 0 else {
                send(bytes, unit, stamp, ticket, due: encoded, &state)
                return state.sendPassing(all: false)
            }
            if waiting.count == waiting.capacity { sendOldest(&state) }
            enqueue(bytes, unit, stamp, ticket, turn: turn)
            state.outputs.setQueued(waiting.count)
            return waiting.count == 1
        }
        if hasMore { passing.wake.raise() }
    }

    func skipPicture(at time: MediaTime) {
        let hasMore = state.withLock { state in
            guard waiting.count == 0 else { return false }
            state.times.skip(to: time)
            return state.sendPassing(all: false)
        }
        if hasMore { passing.wake.raise() }
    }

    func finish() {
        state.withLock { $0.isFinished = true }
        passing.wake.raise()
    }

    // MARK: From ingest: the source's own pictures, for some

    var sendsToViewers: Bool { viewersWantSent.load(ordering: .relaxed) }

    func sendToViewers(_ bytes: RawSpan, _ unit: CodedUnit, source: MonotonicTime) {
        let mask = settings.maskNumber
        state.withLock { state in
            // A mask that was set meanwhile has another number.
            guard !settings.holdsBypass, mask >= settings.maskNumber else { return state.outputs.sentIsLeftOut() }
            let count = unsafe bytes.withUnsafeBytes { bytes in
                let media = unsafe MediaUnit(
                    kind: .video, bytes: bytes, presentation: unit.presentation,
                    captureTime: captures.time(of: unit.presentation))
                return state.outputs.sendSent(isKeyframe: unit.isKeyframe, stamp: source, media)
            }
            if count > 0 { books.counters.add(.picturesToViewers) }
            state.countRefusals()
            followLayers(&state)
        }
    }

    // MARK: From the one more encode

    func deliverExtra(
        _ unit: borrowing EncodedUnit, _ codec: ExtraEncoding.Codec, maskNumber: Int, turn: MonotonicTime
    ) -> Bool {
        let facts = unsafe CodedUnit(
            presentation: unit.presentationTime, decode: unit.decodeTime, isKeyframe: unit.isKeyframe)
        return deliverExtra(unsafe unit.bytes.bytes, facts, codec, maskNumber: maskNumber, turn: turn)
    }

    private func deliverExtra(
        _ bytes: RawSpan, _ unit: CodedUnit, _ codec: ExtraEncoding.Codec, maskNumber: Int, turn: MonotonicTime
    ) -> Bool {
        state.withLock { state in
            let now = MonotonicTime.now()
            guard maskNumber >= settings.maskNumber else {
                state.outputs.extraIsLeftOut(at: now)
                return false
            }
            unsafe bytes.withUnsafeBytes { bytes in
                let media = unsafe MediaUnit(
                    kind: .video, bytes: bytes, presentation: unit.presentation,
                    captureTime: captures.time(of: unit.presentation), isVP8: codec == .vp8)
                _ = state.outputs.sendExtra(codec, isKeyframe: unit.isKeyframe, stamp: turn, media, at: now)
            }
            state.countRefusals()
            followLayers(&state)
            requestKeyframe(&state)
            return true
        }
    }

    // MARK: From ingest: other programs

    func adopt(_ multiplex: Multiplex?) {
        guard takesOtherPrograms, state.withLock({ $0.program.adopt(multiplex) }) else { return }
        // Receivers begin anew where the video is now.
        keyframes.want()
    }

    func pass(_ packets: RawSpan, arrival: MonotonicTime, source: MonotonicTime) -> Bool {
        state.withLock { $0.sendOthers(packets, arrival: arrival, source: source) }
    }

    // MARK: From the observer

    /// What became of the units that were delivered, for each output.
    var outputBooks: [OutputBooks] {
        state.withLock { state in
            state.outputs.setQueued(waiting.count)
            return state.outputs.books
        }
    }

    /// The source time that went out with the newest picture. It lies ahead where the picture came early.
    var newestSourceTime: MonotonicTime? { state.withLock { $0.times.newestStamp } }

    var unitsWaiting: Int { waiting.count }

    // MARK: The connection

    func followConnection() { state.withLock { followConnection(&$0) } }

    /// What happens when a receiver comes, for tests.
    func beginReceiver() {
        state.withLock { state in
            state.outputs.restart()
            begin(1, &state)
        }
    }

    /// Receivers that have just come need the tables and a keyframe. Those that were there get the tables once more.
    private func begin(_ receivers: Int, _ state: inout State) {
        books.counters.add(.outputConnections, UInt64(receivers))
        state.program.muxer?.restart()
        for _ in 0..<receivers { connection.countReceiver() }
        requestKeyframe(&state)
    }

    private func followConnection(_ state: inout State) {
        let come = state.outputs.follow { [control] in control.report(.output($0, number: $1)) }
        if state.outputs.hasMediaReceivers {
            state.outputs.extraOffer = path.isBypassed ? ExtraOffer() : extra.offer
            state.outputs.followPaces(
                floor: state.settings.value.bitRateFloor, ceiling: outputRate.ceiling,
                input: path.mayBeSentToViewers ? outputRate.input : nil, at: .now()
            ) { [control, books] event, number in
                if case .viewerLayer(_, let layer, _) = event {
                    books.counters.add(Self.counter(of: layer))
                }
                control.report(.output(event, number: number))
            }
        }
        followLayers(&state)
        if come > 0 { begin(come, &state) } else { requestKeyframe(&state) }
        // Nobody makes pictures for those who get sound alone. A recording needs no receiver.
        let takesEncoded =
            (path.isBypassed ? state.outputs.hasPictureReceivers : state.outputs.needsEncoder) || state.recording.units.isOpen
        connection.takesEncoded = takesEncoded
        connection.isConnected = takesEncoded || extra.wanted != nil
        if state.outputs.isBroken, !control.isStopping {
            let place = state.outputs.sinks.map { "\($0.url)" }.joined(separator: ", ")
            control.fail(.transport(TransportError(.inaccessible, place: place, "nothing more can be written to it")))
        }
    }

    private static func counter(of layer: ViewerLayer) -> StreamCounters.Counter {
        switch layer {
        case .enhanced: .viewersToEnhanced
        case .sent: .viewersToSent
        case .small: .viewersToSmall
        case .sound: .viewersToSound
        }
    }

    /// Asks for a keyframe where a receiver waits for one, and it is time.
    private func requestKeyframe(_ state: inout State) {
        if state.outputs.claimKeyframe() { keyframes.want() }
        if state.outputs.claimSourceKeyframe() { keyframes.wantOfSource() }
        if state.outputs.claimExtraKeyframe() { extra.wantKeyframe() }
    }

    /// Tells the other stages what viewers get beside the encoder's pictures, or are to get.
    private func followLayers(_ state: inout State) {
        viewersWantSent.store(state.outputs.wantsSent, ordering: .relaxed)
        path.viewersWantBypass = state.outputs.allWantSent && !state.recording.units.isOpen
        extra.wanted = state.outputs.wantedExtra
        let now = MonotonicTime.now()
        if let time = state.outputs.claimKeyframeBehind(.enhanced, at: now) { keyframes.wantOfEncoder(behind: time) }
        if let time = state.outputs.claimKeyframeBehind(.small, at: now) { extra.wantKeyframe(behind: time) }
    }

    // MARK: Units of the video

    private func enqueue(
        _ bytes: RawSpan, _ unit: CodedUnit, _ stamp: MonotonicTime, _ ticket: consuming FrameTicket, turn: MonotonicTime
    ) {
        let buffer = buffers.claim()!
        unsafe bytes.withUnsafeBytes { unsafe buffer.fill($0) }
        if waiting.offer(WaitingUnit(ticket: ticket, buffer: buffer, unit: unit, stamp: stamp, turn: turn)) != nil {
            preconditionFailure("the caller has made room in the queue, and nobody closes it")
        }
    }

    private func sendOldest(_ state: inout State) {
        guard let unit = waiting.pop(until: MonotonicTime(nanoseconds: 0)) else { return }
        let (buffer, facts, stamp) = (unit.buffer, unit.unit, unit.stamp)
        // It may wait beyond its turn for the unit before it, and leave before its turn where the queue is full. Neither is work.
        let due = min(max(unit.turn, state.times.newestSent), .now())
        state.outputs.setQueued(waiting.count)
        send(unsafe buffer.bytes.bytes, facts, stamp, unit.intoTicket(), due: due, &state)
        buffers.recycle(buffer)
    }

    /// Sends a unit and ends its ticket.
    /// - Parameter due: when its turn came.
    private func send(
        _ bytes: RawSpan, _ unit: CodedUnit, _ stamp: MonotonicTime, _ ticket: consuming FrameTicket, due: MonotonicTime,
        _ state: inout State
    ) {
        guard ticket.record.maskNumber >= settings.maskNumber else { return withhold(unit, ticket, &state) }
        let muxer = state.program.multiplexer(for: unit)
        state.sound.follow(state.program)
        state.times.pictureGoes(unit, stamp)
        let outcome = unsafe bytes.withUnsafeBytes { bytes in
            let media =
                unsafe unit.video == .h264
                ? MediaUnit(
                    kind: .video, bytes: bytes, presentation: unit.presentation,
                    captureTime: captures.time(of: unit.presentation)) : nil
            return unsafe state.outputs.sendVideo(
                isKeyframe: unit.isKeyframe || unit.beginsAnywhere, isSent: unit.fate == .bypassed, stamp: stamp, media: media
            ) { emit in
                unsafe muxer.writeVideo(
                    bytes, presentationTime: unit.presentation, decodeTime: unit.decode, isKeyframe: unit.isKeyframe,
                    isTimed: unit.isTimed, emit: emit)
            }
        }
        state.keeper?.keep(bytes, unit, ticket.record, muxer, sent: outcome.sent)
        let isRecorded =
            state.recording.units.isOpen && state.recording.keep(bytes, unit, ticket.record, muxer, sent: outcome.sent)
        if ticket.record.kind == .repeated { state.sendSilence(upTo: unit.presentation) }
        state.times.newestSent = outcome.sent
        ticket.stamp(.sent, at: outcome.sent)
        if outcome.receivers > 0 {
            state.recordPicture(ticket.record, unit, stamp, sent: outcome.sent, muxer)
            if unit.fate == .emitted { reportCosts(of: ticket.record, outcome, due: due) }
        }
        state.countRefusals()
        if unit.isKeyframe || unit.beginsAnywhere { keyframes.hasGoneOut() }
        requestKeyframe(&state)
        if outcome.whole > 0 || isRecorded {
            books.ledger.close(ticket, as: unit.fate)
        } else {
            books.drop(ticket, .outputDown)
        }
    }

    /// Drops a unit that was made before the mask was set that holds now. The encoder goes on with a keyframe.
    private func withhold(_ unit: CodedUnit, _ ticket: consuming FrameTicket, _ state: inout State) {
        state.outputs.withhold()
        state.times.skip(to: unit.presentation)
        books.drop(ticket, .masked)
    }

    /// What was waited for a frame's turn is no work, and took nothing from its slack. What a repeated frame costs says nothing
    /// of the others.
    private func reportCosts(of record: FrameRecord, _ outcome: FanOut.Outcome, due: MonotonicTime) {
        guard record.kind != .repeated, let encoded = record[.encodeOut] else { return }
        _ = schedule.withScheduler {
            $0.observe(.emit, outcome.end - due)
            if record.kind == .original, let deadline = record.deadline {
                $0.emitted(slack: deadline - (encoded + (outcome.sent - due)))
            }
        }
    }
}
