import Codec
import Container
import Media
import Schedule
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
    /// What the source time that goes out with a picture is made from.
    enum SourceTime {
        /// The picture's own time, so that its cadence is restored.
        case turn(MonotonicTime)
        /// The time of the picture that a repeated one stands for.
        case repeated(MonotonicTime)
        /// A repeated picture for a slot that is overdue: it leaves now.
        case overdue(MonotonicTime)
    }

    /// A coded unit that waits for its turn.
    private struct WaitingUnit: ~Copyable, Sendable {
        let ticket: FrameTicket
        let buffer: UnitBuffer
        let times: UnitTimes
        let stamp, turn: MonotonicTime

        consuming func intoTicket() -> FrameTicket { ticket }
    }

    /// What the multiplexer has to know of a unit beside its bytes.
    private struct UnitTimes {
        let presentation, decode: MediaTime
        let isKeyframe: Bool
    }

    fileprivate struct State: ~Copyable {
        var muxer: TransportStreamMuxer?
        /// The number of the layout that the multiplexer has. A passing unit that came under another one has no place in
        /// its program map.
        var layoutNumber = -1
        var clock = CadenceClock()
        /// The source clock of the newest picture.
        var sourceClock: UInt32 = 0
        /// The presentation time of the newest picture that was sent.
        var newest = MediaTime(ticks: .min)
        /// A passing unit that waits for the picture of its time.
        var held: PassingUnit?
        /// A receiver has come and has had no keyframe yet: no other unit is of use to it.
        var awaitsKeyframe = false
        var isFinished = false
        var books = OutputBooks()
    }

    private let sink: Sink
    private let passing: PassingStreams
    private let isPaced: Bool
    private let books: StreamBooks
    private let schedule: SharedScheduler
    private let keyframes: KeyframeRequests
    private let connection: OutputConnection
    private let control: StreamControl
    private let state = Lock(State())
    /// In the order in which they leave. No unit waits beyond its frame's deadline, and when the queue is full the oldest
    /// unit leaves at once.
    private let waiting = BoundedQueue<WaitingUnit>(capacity: 64)
    private let buffers = UnitBufferPool(count: 65, capacity: 16 * 1024)

    /// How often the stage asks the output whether a receiver has come or gone. The transport has no call to wait for that.
    private static let connectionPollInterval = Nanoseconds.milliseconds(20)

    init(sink: Sink, passing: PassingStreams, channels: StreamChannels) {
        self.sink = sink
        self.passing = passing
        isPaced = channels.configuration.pacing == .paced
        books = channels.books
        schedule = channels.schedule
        keyframes = channels.keyframes
        connection = channels.connection
        control = channels.control
    }

    /// What became of the units that were delivered.
    var outputBooks: OutputBooks {
        state.withLock { state in
            var books = state.books
            books.queued = UInt64(waiting.count)
            return books
        }
    }

    // MARK: The stage's own thread

    /// Runs until ``finish()`` was called and everything has left.
    func run() {
        while let next = state.withLock({ sendWhatIsDue(&$0) }) { passing.unitArrived.wait(until: next) }
    }

    /// - Returns: when something may be due again; nil at the end.
    private func sendWhatIsDue(_ state: inout State) -> MonotonicTime? {
        followConnection(&state)
        var next = MonotonicTime.now() + Self.connectionPollInterval
        while let turn = waiting.first({ $0.turn }) {
            guard turn <= .now() else {
                next = min(next, turn)
                break
            }
            sendOldest(&state)
        }
        if state.isFinished, waiting.count == 0 {
            sendPassing(&state, all: true)
            return nil
        }
        sendPassing(&state, all: false)
        return state.held.map { min(next, $0.emitBy) } ?? next
    }

    // MARK: From the encode thread

    /// Looks whether a receiver has come or gone. Called between two units, so that nobody begins with half of one.
    func followConnection() { state.withLock { followConnection(&$0) } }

    /// Makes the multiplexer ready for the next picture.
    /// - Throws: `unsupportedFormat` when the program map cannot hold the passing streams.
    func prepare() throws(ContainerError) {
        try state.withLock { state throws(ContainerError) in
            let (layout, number) = passing.numberedLayout
            if state.muxer?.layout != layout {
                state.muxer = try TransportStreamMuxer(layout, continuing: state.muxer)
                keyframes.request()
            }
            state.layoutNumber = number
        }
    }

    /// Sends a coded unit, or queues a copy until its turn. Never waits.
    /// - Parameters:
    ///   - unit: borrowed for the call.
    ///   - ticket: ends when the unit has left.
    ///   - encoded: when the encoder gave the unit.
    func deliver(
        _ unit: borrowing EncodedUnit, _ ticket: consuming FrameTicket, encoded: MonotonicTime, _ source: SourceTime
    ) {
        var pending: FrameTicket? = consume ticket
        let bytes = unsafe unit.bytes.bytes
        let times = unsafe UnitTimes(
            presentation: unit.presentationTime, decode: unit.decodeTime, isKeyframe: unit.isKeyframe)
        let isQueued = state.withLock { state in
            guard var ticket = pending.take() else { return false }
            ticket.stamp(.encodeOut, at: encoded)
            state.books.offered += 1
            let stamp = state.stamp(ticket.record, source, now: encoded)
            let turn = isPaced ? CadenceClock.turn(stamp, deadline: ticket.record.deadline, now: encoded) : encoded
            guard turn > encoded || waiting.count > 0 else {
                send(bytes, times, ticket, stamp, due: encoded, &state)
                sendPassing(&state, all: false)
                return false
            }
            if waiting.count == waiting.capacity { sendOldest(&state) }
            enqueue(bytes, times, ticket, stamp: stamp, turn: turn)
            return true
        }
        if isQueued { passing.unitArrived.raise() }
    }

    /// Nothing more will be delivered.
    func finish() {
        state.withLock { $0.isFinished = true }
        passing.unitArrived.raise()
    }

    // MARK: The connection

    /// A receiver that has just come needs the tables and a keyframe.
    private func followConnection(_ state: inout State) {
        while let event = sink.nextEvent() {
            if case .connected = event {
                books.counters.add(.outputConnections)
                state.muxer?.restart()
                state.awaitsKeyframe = true
                keyframes.request()
                connection.countReceiver()
            }
            control.report(.output(event))
        }
        connection.isConnected = sink.isConnected
        if sink.isBroken, !control.isStopping {
            control.fail(
                .transport(TransportError(.inaccessible, place: "\(sink.url)", "nothing more can be written to it")))
        }
    }

    // MARK: Units of the video

    private func enqueue(
        _ bytes: RawSpan, _ times: UnitTimes, _ ticket: consuming FrameTicket, stamp: MonotonicTime, turn: MonotonicTime
    ) {
        let buffer = buffers.claim()!
        unsafe bytes.withUnsafeBytes { unsafe buffer.fill($0) }
        let unit = WaitingUnit(ticket: ticket, buffer: buffer, times: times, stamp: stamp, turn: turn)
        if let refused = waiting.offer(unit) { books.drop(refused.intoTicket(), .shutdown) }
    }

    private func sendOldest(_ state: inout State) {
        guard let unit = waiting.pop(until: MonotonicTime(nanoseconds: 0)) else { return }
        let (buffer, times, stamp, turn) = (unit.buffer, unit.times, unit.stamp, unit.turn)
        send(unsafe buffer.bytes.bytes, times, unit.intoTicket(), stamp, due: turn, &state)
        buffers.recycle(buffer)
    }

    /// Sends a unit and ends its ticket.
    /// - Parameter due: when its turn came.
    private func send(
        _ bytes: RawSpan, _ times: UnitTimes, _ ticket: consuming FrameTicket, _ stamp: MonotonicTime,
        due: MonotonicTime, _ state: inout State
    ) {
        state.newest = times.presentation
        if times.isKeyframe { state.awaitsKeyframe = false }
        var isWhole = !state.awaitsKeyframe
        if isWhole {
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe state.muxer!.writeVideo(
                    bytes, presentationTime: times.presentation, decodeTime: times.decode, isKeyframe: times.isKeyframe
                ) { message in
                    if unsafe !send(message, stamp) { isWhole = false }
                }
            }
        }
        let sent = MonotonicTime.now()
        ticket.stamp(.sent, at: sent)
        reportCosts(of: ticket.record, sending: sent - due)
        if isWhole {
            state.books.sent += 1
            books.ledger.close(ticket, as: .emitted)
        } else {
            state.books.dropped += 1
            books.drop(ticket, .outputDown)
            // The pictures after a unit that went out in part cannot be decoded until the next keyframe.
            keyframes.request()
        }
    }

    private func send(_ message: UnsafeRawBufferPointer, _ stamp: MonotonicTime) -> Bool {
        if unsafe sink.send(message, sourceTime: stamp) == .sent { return true }
        books.counters.add(.outputMessagesRefused)
        return false
    }

    /// What was waited for a frame's turn is no work, and took nothing from its slack. What a repeated frame costs says nothing
    /// of the others.
    private func reportCosts(of record: FrameRecord, sending: Nanoseconds) {
        guard record.kind != .repeated, let encoded = record[.encodeOut] else { return }
        _ = schedule.withScheduler {
            $0.observe(.emit, sending)
            if record.kind == .original, let deadline = record.deadline {
                $0.emitted(slack: deadline - (encoded + sending))
            }
        }
    }

    // MARK: Units of passing streams

    /// Sends the passing units that belong beside the pictures sent so far. Each is as late as the picture of its time, so that
    /// the two keep their offset, but none waits beyond its own deadline for a picture that does not come.
    private func sendPassing(_ state: inout State, all: Bool) {
        while let unit = state.held ?? passing.next() {
            state.held = unit
            // A new layout's program map goes out with the next picture.
            let isDue =
                unit.layoutNumber <= state.layoutNumber
                && passing.presentation(of: unit).map { $0 <= state.newest } ?? true
            guard all || isDue || MonotonicTime.now() >= unit.emitBy else { return }
            books.counters.add(send(unit, &state) ? .passingOut : .passingDropped)
            passing.recycle(unit)
            state.held = nil
        }
    }

    /// - Returns: false when the unit did not go out whole.
    private func send(_ unit: PassingUnit, _ state: inout State) -> Bool {
        guard connection.isConnected, let muxer = state.muxer, unit.layoutNumber == state.layoutNumber,
            unit.stream < muxer.layout.passedStreams.count
        else { return false }
        let stamp = state.clock.stamp(passing: unit.sourceTime ?? unit.arrival)
        var isWhole = true
        unsafe muxer.writePassed(
            stream: unit.stream, unit.buffer.bytes, presentationTime: passing.presentation(of: unit)
        ) { message in
            if unsafe !send(message, stamp) { isWhole = false }
        }
        return isWhole
    }
}

extension SendStage.State {
    /// The source time to send with a picture.
    fileprivate mutating func stamp(
        _ record: FrameRecord, _ source: SendStage.SourceTime, now: MonotonicTime
    ) -> MonotonicTime {
        if record.kind != .repeated, record.sourceClock != sourceClock {
            sourceClock = record.sourceClock
            clock.restart()
        }
        return switch source {
        case .turn(let time): clock.stamp(source: time, now: now, isLateUnit: record.isLateUnit)
        case .repeated(let time): clock.stamp(repeated: time)
        case .overdue(let time): clock.stamp(repeated: time - (clock.delay ?? .zero))
        }
    }
}
