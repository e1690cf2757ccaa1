import Container
import Media
import Packets
import Settings
import Telemetry
import Transport

extension SendStage {
    /// What the threads that enter the stage share, under its lock. Messages of one unit are sent under one lock, and the sink is asked
    /// for events only between units, so that no receiver begins in the middle of a unit.
    struct State: ~Copyable {
        // What it shares with other stages.
        let passing: PassingStreams
        let books: StreamBooks
        let connection: OutputConnection
        let arrivals: Arrivals
        let record: OutputRecord
        /// Coded units that wait for their turn, in the order in which they leave. No unit waits beyond its frame's deadline, and when
        /// the queue is full the oldest unit leaves at once.
        let waiting: BoundedQueue<WaitingUnit>

        var program: OutputProgram
        var times = OutputTimes()
        var sound: OutputSound
        var shelf: PassingShelf
        var outputs: FanOut
        var calls: CallSender
        var keeper: OutputKeeper<PastRing>?
        var recording: OutputKeeper<Recording>
        let live: LiveSettings
        var settings: LiveSettings.Copy
        var isFinished = false

        init(_ sinks: [Sink], _ passing: PassingStreams, _ waiting: BoundedQueue<WaitingUnit>, _ channels: StreamChannels) {
            self.passing = passing
            self.waiting = waiting
            books = channels.books
            connection = channels.connection
            arrivals = channels.arrivals
            record = OutputRecord(channels.books.map)
            program = OutputProgram(resuming: channels.books.map?.resumePoint.multiplexEnd)
            sound = OutputSound(goesOn: channels.configuration.options.keepOutput)
            shelf = PassingShelf(capacity: passing.capacity)
            outputs = FanOut(sinks, map: channels.books.map)
            calls = CallSender(passing, channels.books.counters, channels.control)
            keeper = channels.past.map { OutputKeeper($0.output) }
            recording = OutputKeeper(channels.recording)
            live = channels.settings
            settings = LiveSettings.Copy(of: live)
        }
    }

    /// A coded unit that waits for its turn.
    struct WaitingUnit: ~Copyable, Sendable {
        let ticket: FrameTicket
        let buffer: UnitBuffer
        let unit: CodedUnit
        /// The source time that goes out with it.
        let stamp: MonotonicTime
        let turn: MonotonicTime

        consuming func intoTicket() -> FrameTicket { ticket }
    }
}

extension SendStage.State {
    mutating func countRefusals() {
        let count = outputs.drainRefusals()
        if count > 0 { books.counters.add(.outputMessagesRefused, count) }
    }

    /// Records how far the output has come with a unit of video.
    func recordPicture(
        _ frame: FrameRecord, _ unit: CodedUnit, _ stamp: MonotonicTime, sent: MonotonicTime, _ muxer: TransportStreamMuxer
    ) {
        record.record(
            frame, presentation: unit.presentation, decode: unit.decode, stamp: stamp, sent: sent,
            sourceOffset: arrivals.sourceOffset, muxer, rtpState)
    }

    /// The RTP sender of the first output, which the telemetry map has.
    var rtpState: RTPSenderState? { outputs.sinks[0].rtpState }
}
