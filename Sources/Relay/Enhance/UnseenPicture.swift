import Codec
import Media
import Schedule
import Telemetry

/// The newest picture, where nobody received it. Whoever comes in a pause of the source, as of a shared screen that stands still,
/// gets it at once and need not wait for the source's next picture.
///
/// Confined to the enhance thread.
struct UnseenPicture: ~Copyable {
    /// What the frame that shows the picture needs to know of the one that nobody received.
    private struct Facts {
        var record: FrameRecord
        /// When it would have been enhanced.
        var since: MonotonicTime
        /// How often a bypass had ended then.
        var runs: Int
    }

    /// How often the thread looks whether somebody has come.
    static let pollInterval = Nanoseconds.milliseconds(50)
    /// No picture has come for so long: the next one may be far.
    private static let pause = Nanoseconds.milliseconds(500)
    /// So long before the present it is shown, so that a picture which is on its way lies behind it.
    private static let room = Nanoseconds.milliseconds(200)

    private var picture: DecodedPicture?
    private var facts: Facts?

    init() {}

    var isKept: Bool { facts != nil }

    /// Whether the source has paused since it came.
    func isDue(at now: MonotonicTime) -> Bool { facts.map { now - $0.since >= Self.pause } ?? false }

    /// Keeps a picture in place of the one before.
    /// - Parameter runs: how often a bypass had ended when it came.
    mutating func keep(_ picture: consuming DecodedPicture, of record: FrameRecord, runs: Int, at now: MonotonicTime) {
        self.picture = consume picture
        facts = Facts(record: record, since: now, runs: runs)
    }

    /// Somebody gets the pictures that come from now on, or none are decoded.
    mutating func forget() {
        picture = nil
        facts = nil
    }

    /// Takes the picture out, in a frame of its own.
    /// - Parameters:
    ///   - runs: how often a bypass has ended. What came before a bypass is not shown after it.
    ///   - deadline: when the frame is to have left.
    /// - Returns: nil where there is nothing to show.
    mutating func take(runs: Int, at now: MonotonicTime, deadline: MonotonicTime, _ ledger: Ledger) -> DecodedFrame? {
        let found = facts
        facts = nil
        guard let picture = picture.take(), let found, found.runs == runs else { return nil }
        let passed = MediaTime.ticks(in: now - found.since - Self.room)
        var ticket = ledger.open(.repeated, presentation: found.record.presentation + passed)
        ticket.record.epoch = found.record.epoch
        ticket.record.maskNumber = found.record.maskNumber
        ticket.record.sourceClock = found.record.sourceClock
        ticket.record.deadline = deadline
        return DecodedFrame(ticket: ticket, picture: picture)
    }
}
