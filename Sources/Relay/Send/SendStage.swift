import Codec
import Container
import Endpoint
import Media
import Schedule
import Settings
import Telemetry
import Transport

/// The send stage of one output: multiplexes coded units and the units of passing streams, and sends each when it is due.
///
/// Two threads come here, one at a time by a lock. The encode thread delivers a unit; when the unit is due at once and none
/// waits before it, that thread also sends it, uncopied. The stage's own thread (``run()``) sends what waits for its turn,
/// sends passing units as soon as they are due, and follows the connection. So a picture never waits for a thread to wake, and
/// sound never waits for a picture.
///
/// Thread-safe. Nothing here allocates in the steady state.
final class SendStage: Sendable {
    /// A coded unit that waits for its turn.
    private struct WaitingUnit: ~Copyable, Sendable {
        let ticket: FrameTicket
        let buffer: UnitBuffer
        let unit: CodedUnit
        /// The source time that goes out with it.
        let stamp: MonotonicTime
        let turn: MonotonicTime

        consuming func intoTicket() -> FrameTicket { ticket }
    }

    private let passing: PassingStreams
    private let books: StreamBooks
    private let schedule: SharedScheduler
    private let keyframes: KeyframeRequests
    private let sourceKeyframes: SourceKeyframes
    private let connection: OutputConnection
    private let outputRate: OutputRate
    private let control: StreamControl
    private let turns: StageTurns
    private let arrivals: Arrivals
    private let captures: CaptureClock
    private let record: OutputRecord
    /// Whether receivers of calls are among those that it sends to.
    let feedsCalls: Bool
    /// Whether any output is a multiplex, which other programs can go out in.
    let takesOtherPrograms: Bool
    /// Messages of one unit are sent under one lock, and the sink is asked for events only between units, so that no receiver
    /// begins in the middle of a unit.
    private let state: Lock<State>
    /// In the order in which they leave. No unit waits beyond its frame's deadline, and when the queue is full the oldest
    /// unit leaves at once.
    private let waiting = BoundedQueue<WaitingUnit>(capacity: 64)
    private let buffers = UnitBufferPool(count: 65, capacity: 16 * 1024)

    /// The most passing units that are sent under one lock, so that the encode thread never waits for a burst.
    private static let passingBatch = 16
    /// When a program has lost its video and other streams have run on for so long (1 s) since the newest picture, no more come.
    private static let videoTimeout = MediaTime.ticksPerSecond
    /// How often the stage asks the output whether a receiver has come or gone. SRT has no call to wait for that. Receivers of calls
    /// wake the stage.
    private static let connectionPollInterval = Nanoseconds.milliseconds(20)

    /// - Parameter sinks: at least one.
    init(sinks: [Sink], passing: PassingStreams, channels: StreamChannels) {
        self.passing = passing
        books = channels.books
        state = Lock(
            State(
                shelf: PassingShelf(capacity: passing.capacity), outputs: FanOut(sinks, map: channels.books.map),
                calls: CallSender(passing, channels.books.counters, channels.control),
                settings: LiveSettings.Copy(of: channels.settings),
                multiplexEnd: channels.books.map?.resumePoint.multiplexEnd,
                keepsSound: channels.configuration.options.keepOutput))
        record = OutputRecord(channels.books.map)
        arrivals = channels.arrivals
        captures = channels.captures
        schedule = channels.schedule
        keyframes = channels.keyframes
        sourceKeyframes = channels.sourceKeyframes
        connection = channels.connection
        outputRate = channels.outputRate
        control = channels.control
        turns = channels.turns
        feedsCalls = sinks.contains(where: \.takesMedia)
        takesOtherPrograms = sinks.contains { !$0.takesMedia }
        for sink in sinks { sink.wake(passing.wake) }
    }

    /// What became of the units that were delivered, for each output.
    var outputBooks: [OutputBooks] {
        state.withLock { state in
            state.outputs.setQueued(waiting.count)
            return state.outputs.books
        }
    }

    /// The source time that went out with the newest picture. It lies ahead where the picture came early.
    var newestSourceTime: MonotonicTime? { state.withLock { $0.newestStamp } }

    /// How many coded units wait for their turn.
    var unitsWaiting: Int { waiting.count }

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
        while state.withLock({ sendTranscoded(&$0) }) {}
    }

    /// Sends at most one coded unit and a batch of passing units.
    /// - Returns: when something may be due again; nil at the end.
    private func sendWhatIsDue(_ state: inout State) -> MonotonicTime? {
        followConnection(&state)
        let hasPackets = sendTranscoded(&state)
        let now = MonotonicTime.now()
        if let turn = waiting.first({ $0.turn }), turn <= now {
            sendOldest(&state)
            _ = sendPassing(&state, all: false)
            return now
        }
        let isLast = state.isFinished && waiting.count == 0
        if sendPassing(&state, all: isLast) || hasPackets { return now }
        if isLast { return nil }
        var next = now + Self.connectionPollInterval
        if let turn = waiting.first({ $0.turn }) { next = min(next, turn) }
        return state.shelf.first.map { min(next, $0.unit.emitBy) } ?? next
    }

    // MARK: From the encode thread

    /// Looks whether a receiver has come or gone. Called between two units, so that nobody begins with half of one.
    func followConnection() { state.withLock { followConnection(&$0) } }

    /// Records the program's layout, which the next picture brings along.
    /// - Throws: when the program map cannot hold the passing streams.
    func prepare() throws(ContainerError) {
        try state.withLock { state throws(ContainerError) in
            let (layout, number) = passing.numberedLayout
            guard number != state.prepared.number else { return }
            if let refused = state.refused, refused.number == number { throw refused.error }
            if state.prepared.number < 0 || state.prepared.layout != layout {
                // The multiplexer is made when the picture is sent: until then pictures of the present layout may wait.
                do throws(ContainerError) {
                    _ = try TransportStreamMuxer(layout)
                } catch {
                    state.refused = (number, error)
                    throw error
                }
                keyframes.request()
            }
            state.prepared = (layout, number)
        }
    }

    /// Sends the encoder's unit, or queues a copy until its turn.
    /// - Parameter unit: borrowed for the call.
    func deliver(
        _ unit: borrowing EncodedUnit, _ ticket: consuming FrameTicket, encoded: MonotonicTime, _ source: SourceTime
    ) {
        let facts = unsafe CodedUnit(
            presentation: unit.presentationTime, decode: unit.decodeTime, isKeyframe: unit.isKeyframe)
        deliver(unsafe unit.bytes.bytes, facts, ticket, encoded: encoded, source)
    }

    /// Sends a coded unit, or queues a copy until its turn. It never waits for a turn: at most for the send thread to finish the
    /// unit that it is sending. One thread at a time delivers, in decoding order.
    /// - Parameters:
    ///   - bytes: borrowed for the call.
    ///   - ticket: ends when the unit has left.
    ///   - encoded: when the unit was there.
    func deliver(
        _ bytes: RawSpan, _ unit: CodedUnit, _ ticket: consuming FrameTicket, encoded: MonotonicTime, _ source: SourceTime
    ) {
        var pending: FrameTicket? = consume ticket
        let hasMore = state.withLock { state in
            guard var ticket = pending.take() else { return false }
            var unit = unit
            unit.layoutNumber = unit.layoutNumber ?? state.prepared.number
            state.decodeTimes.settle(&unit)
            ticket.stamp(.encodeOut, at: encoded)
            state.outputs.countOffered()
            _ = state.settings.refresh()
            let stamp = state.stamp(ticket.record, source, now: encoded)
            let turn =
                switch state.settings.value.pacing {
                case .eager: encoded
                case .paced: CadenceClock.turn(stamp, deadline: ticket.record.deadline, now: encoded)
                }
            guard turn > encoded || waiting.count > 0 else {
                send(bytes, unit, stamp, ticket, due: encoded, &state)
                return sendPassing(&state, all: false)
            }
            if waiting.count == waiting.capacity { sendOldest(&state) }
            enqueue(bytes, unit, stamp, ticket, turn: turn)
            state.outputs.setQueued(waiting.count)
            return waiting.count == 1
        }
        if hasMore { passing.wake.raise() }
    }

    /// The encoder gave no unit for a picture: passing units no longer wait for it.
    func skipPicture(at time: MediaTime) {
        let hasMore = state.withLock { state in
            guard waiting.count == 0 else { return false }
            state.newest = max(state.newest, time)
            return sendPassing(&state, all: false)
        }
        if hasMore { passing.wake.raise() }
    }

    /// Nothing more will be delivered.
    func finish() {
        state.withLock { $0.isFinished = true }
        passing.wake.raise()
    }

    // MARK: The connection

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
        state.muxer?.restart()
        for _ in 0..<receivers { connection.countReceiver() }
        requestKeyframe(&state)
    }

    private func followConnection(_ state: inout State) {
        let come = state.outputs.follow { [control] in control.report(.output($0, number: $1)) }
        if state.outputs.hasMediaReceivers {
            state.outputs.followPaces(
                floor: state.settings.value.bitRateFloor, ceiling: outputRate.ceiling, at: .now()
            ) { [control] in control.report(.output($0, number: $1)) }
        }
        if come > 0 { begin(come, &state) } else { requestKeyframe(&state) }
        // Nobody makes pictures for those who get sound alone.
        connection.isConnected = state.outputs.hasPictureReceivers
        if state.outputs.isBroken, !control.isStopping {
            let place = state.outputs.sinks.map { "\($0.url)" }.joined(separator: ", ")
            control.fail(.transport(TransportError(.inaccessible, place: place, "nothing more can be written to it")))
        }
    }

    /// Asks for a keyframe where a receiver waits for one, and it is time: the encoder or, where pictures go out as they came, the
    /// source.
    private func requestKeyframe(_ state: inout State) {
        guard state.outputs.claimKeyframe() else { return }
        keyframes.request()
        sourceKeyframes.want()
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
        let due = min(max(unit.turn, state.newestSent), .now())
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
        let muxer = state.multiplexer(for: unit)
        // The source's own units come in decoding order.
        state.newest = unit.fate == .bypassed ? max(state.newest, unit.presentation) : unit.presentation
        state.newestStamp = stamp
        let outcome = unsafe bytes.withUnsafeBytes { bytes in
            let media =
                unsafe unit.video == .h264
                ? MediaUnit(
                    kind: .video, bytes: bytes, presentation: unit.presentation,
                    captureTime: captures.time(of: unit.presentation)) : nil
            return unsafe state.outputs.sendVideo(
                isKeyframe: unit.isKeyframe || unit.beginsAnywhere, stamp: stamp, media: media
            ) { emit in
                unsafe muxer.writeVideo(
                    bytes, presentationTime: unit.presentation, decodeTime: unit.decode, isKeyframe: unit.isKeyframe,
                    isTimed: unit.isTimed, emit: emit)
            }
        }
        if ticket.record.kind == .repeated { sendSilence(upTo: unit.presentation, &state) }
        state.newestSent = outcome.sent
        ticket.stamp(.sent, at: outcome.sent)
        if outcome.receivers > 0 {
            record.record(
                ticket.record, presentation: unit.presentation, decode: unit.decode, stamp: stamp, sent: outcome.sent,
                sourceOffset: arrivals.sourceOffset, muxer, state.outputs.sinks[0].rtpState)
            if unit.fate == .emitted { reportCosts(of: ticket.record, outcome, due: due) }
        }
        countRefusals(&state)
        if unit.isKeyframe || unit.beginsAnywhere { sourceKeyframes.keyframeCame() }
        requestKeyframe(&state)
        if outcome.whole > 0 { books.ledger.close(ticket, as: unit.fate) } else { books.drop(ticket, .outputDown) }
    }

    private func countRefusals(_ state: inout State) {
        let count = state.outputs.drainRefusals()
        if count > 0 { books.counters.add(.outputMessagesRefused, count) }
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

    // MARK: Units of passing streams

    /// Sends the passing units that belong beside the pictures sent so far. Each is as late as the picture of its time, so that
    /// the two keep their offset, but none waits beyond its own deadline for a picture that does not come.
    /// - Returns: whether more may be due because a batch is full. The send thread has to be woken for them.
    private func sendPassing(_ state: inout State, all: Bool) -> Bool {
        let hasMore = shelve(&state)
        for _ in 0..<Self.passingBatch {
            guard let entry = state.shelf.first else { return hasMore }
            let unit = entry.unit
            let isLate = all || MonotonicTime.now() >= unit.emitBy
            if unit.layoutNumber > state.layoutNumber || state.hasStrayVideo { adoptLayout(of: unit, isLate: isLate, &state) }
            let isDue =
                unit.layoutNumber <= state.layoutNumber
                && (state.muxer?.layout.video == nil
                    || passing.presentation(of: unit).map { $0 <= state.newest } ?? true)
            guard isLate || isDue else { return hasMore }
            books.counters.add(send(entry, &state) ? .passingOut : .passingDropped)
            passing.recycle(unit)
            state.shelf.removeFirst()
        }
        return true
    }

    /// Shelves the units that have come, and sends their sound to calls at once, also before the first picture. A browser puts sound
    /// and pictures together itself. Sound that left in bunches, with the pictures, would look to it like the jitter of a bad network.
    /// - Returns: whether more may be there because a batch is full.
    private func shelve(_ state: inout State) -> Bool {
        for _ in 0..<Self.passingBatch {
            guard !state.shelf.isFull, let unit = passing.next() else { return false }
            let isSettled = unit.layoutNumber == state.layoutNumber && unit.provisionalEpoch == nil
            let isFilled = isSettled ? !observe(unit, at: unit.presentation, &state) : hasFilled(unit, &state)
            if isSettled, isFilled {
                books.counters.add(.passingDropped)
                passing.recycle(unit)
                continue
            }
            let callsHaveIt = !isFilled && state.calls.send(unit, to: &state.outputs)
            countRefusals(&state)
            state.shelf.append(PassingShelf.Entry(unit: unit, isSettled: isSettled, callsHaveIt: callsHaveIt))
        }
        return true
    }

    /// Sends packets of Opus that have been transcoded for calls.
    /// - Returns: whether more may be there because a batch is full.
    private func sendTranscoded(_ state: inout State) -> Bool {
        defer { countRefusals(&state) }
        return state.calls.sendTranscoded(to: &state.outputs)
    }

    /// Whether silence was sent for the time of a unit that may still move.
    private func hasFilled(_ unit: PassingUnit, _ state: inout State) -> Bool {
        guard unit.layoutNumber == state.layoutNumber, state.sounds.indices.contains(unit.stream),
            let presentation = passing.presentation(of: unit)
        else { return false }
        return state.sounds[unit.stream]?.hasFilled(presentation, arrival: unit.arrival) == true
    }

    /// Has the sound's keeper learn from a unit.
    /// - Returns: false when silence was sent for its time.
    private func observe(_ unit: PassingUnit, at presentation: MediaTime?, _ state: inout State) -> Bool {
        guard unit.layoutNumber == state.layoutNumber, state.sounds.indices.contains(unit.stream) else { return true }
        if let presentation, state.sounds[unit.stream]?.hasFilled(presentation, arrival: unit.arrival) == true {
            return false
        }
        unsafe state.sounds[unit.stream]?.observe(
            Span(_unsafeElements: unit.bytes.assumingMemoryBound(to: UInt8.self)), at: presentation,
            arrival: unit.arrival)
        return true
    }

    /// A new layout's program map goes out with the next picture. It goes out with a passing unit that can wait for none any longer,
    /// and where the program has no video.
    private func adoptLayout(of unit: PassingUnit, isLate: Bool, _ state: inout State) {
        let (layout, number) = passing.numberedLayout
        let mayAdopt =
            if number == state.layoutNumber {
                // A repeated picture may come for long. Each change of the map disturbs receivers.
                !layout.hasVideo && passing.presentation(of: unit).map { $0 - state.newest > Self.videoTimeout } ?? false
            } else if layout.hasVideo {
                // A unit of a layout that is over has no place in the present one.
                isLate && number == unit.layoutNumber
            } else {
                unit.layoutNumber > state.layoutNumber && (isLate || state.muxer == nil || books.ledger.inFlight == 0)
            }
        if mayAdopt { state.adoptBeforePictures(layout, number) }
    }

    /// - Returns: false when the unit did not go out whole.
    private func send(_ entry: PassingShelf.Entry, _ state: inout State) -> Bool {
        let unit = entry.unit
        let presentation = passing.presentation(of: unit)
        if !entry.isSettled, !observe(unit, at: presentation, &state) { return false }
        guard connection.isConnected, let muxer = state.muxer, unit.layoutNumber == state.layoutNumber,
            unit.stream < muxer.layout.passedStreams.count
        else { return entry.callsHaveIt }
        let stamp = self.stamp(passing: unit.sourceTime ?? unit.arrival, state)
        let isWhole = unsafe state.outputs.sendPassing(stamp: stamp) { emit in
            unsafe muxer.writePassed(
                stream: unit.stream, header: unit.header, unit.bytes, presentationTime: presentation,
                decodeTime: unit.reordering > 0 ? presentation.map { $0 + -unit.reordering } : nil, emit: emit)
        }
        countRefusals(&state)
        record.record(muxer, state.outputs.sinks[0].rtpState)
        return isWhole || entry.callsHaveIt
    }

    /// The source time that goes out with what is no picture. It lies between those of the pictures that are sent before and after it,
    /// so that source times do not go back.
    private func stamp(passing source: MonotonicTime, _ state: borrowing State) -> MonotonicTime {
        let stamp = state.clock.stamp(passing: source, after: state.newestStamp)
        return waiting.first { $0.stamp }.map { min(stamp, $0) } ?? stamp
    }

    // MARK: Other programs

    /// Learns what the source's multiplex holds beside the program, at once: the packets that come next may use packet identifiers
    /// that were the program's own.
    /// - Parameter multiplex: nil where it holds nothing else.
    func adopt(_ multiplex: Multiplex?) {
        guard takesOtherPrograms, state.withLock({ $0.adopt(multiplex) }) else { return }
        // Receivers begin anew where the video is now.
        keyframes.request()
        sourceKeyframes.want()
    }

    /// Sends packets of other programs at once, on the caller's thread: no picture, deadline or queue holds them up.
    /// - Parameters:
    ///   - packets: one to seven; borrowed for the call.
    ///   - arrival: when they came.
    ///   - source: when they were sent, or else when they came.
    /// - Returns: whether a receiver got all of them.
    func pass(_ packets: RawSpan, arrival: MonotonicTime, source: MonotonicTime) -> Bool {
        state.withLock { pass(packets, arrival: arrival, source: source, &$0) }
    }

    private func pass(
        _ packets: RawSpan, arrival: MonotonicTime, source: MonotonicTime, _ state: inout State
    ) -> Bool {
        guard state.outputs.hasReceivers else { return false }
        if state.muxer == nil {
            let (layout, number) = passing.numberedLayout
            state.adoptBeforePictures(layout, number)
        }
        guard let muxer = state.muxer else { return false }
        let stamp = self.stamp(passing: source, state)
        let isWhole = unsafe packets.withUnsafeBytes { bytes in
            unsafe state.outputs.sendPassing(stamp: stamp) { emit in
                unsafe muxer.writePackets(bytes, arrival: arrival, emit: emit)
            }
        }
        countRefusals(&state)
        record.record(muxer, state.outputs.sinks[0].rtpState)
        return isWhole
    }

    /// Sends silence for streams of sound that have stopped, up to the time of a repeated picture.
    private func sendSilence(upTo time: MediaTime, _ state: inout State) {
        guard connection.isConnected, let muxer = state.muxer, state.shelf.count == 0, let stamp = state.newestStamp else {
            return
        }
        let now = MonotonicTime.now()
        for stream in state.sounds.indices where stream < muxer.layout.passedStreams.count {
            while let begin = state.sounds[stream]?.next(upTo: time, now: now) {
                let frame = state.sounds[stream]!.frame
                unsafe frame.withUnsafeBytes { bytes in
                    if let calls = state.callStream, calls.index == stream {
                        unsafe state.calls.sendSilence(bytes, calls.form, at: begin, stamp: stamp, to: &state.outputs)
                    }
                    _ = unsafe state.outputs.sendPassing(stamp: stamp) { emit in
                        unsafe muxer.writePassed(stream: stream, bytes, presentationTime: begin, emit: emit)
                    }
                }
                books.counters.add(.silentUnits)
            }
        }
        record.record(muxer, state.outputs.sinks[0].rtpState)
    }
}
