import Media
import Schedule
import Telemetry

/// Channel: the stream's telemetry. Every stage opens and closes frames here, and counts what it sees.
///
/// - Writers: all stages.
/// - Readers: the observer, for status, report and trace.
///
/// Thread-safe; a call holds a lock for well under a microsecond.
final class StreamBooks: Sendable {
    let ledger: Ledger
    let counters: StreamCounters
    /// The stream's telemetry map; nil where no other process reads it.
    let map: TelemetryMap.Writer?
    private let keyframes: Keyframes

    init(keyframes: Keyframes, map: TelemetryMap.Writer? = nil) {
        self.keyframes = keyframes
        self.map = map
        ledger = Ledger(map: map)
        counters = StreamCounters(map: map)
    }

    /// Ends a frame that does not go out. When it was a keyframe of the source, one of the next pictures
    /// has to be one (``KeyframePace``): its receivers would wait for the source's next keyframe otherwise.
    func drop(_ ticket: consuming FrameTicket, _ reason: DropReason) {
        if ticket.record.isKeyframe, ticket.record.kind == .original { keyframes.wasDropped() }
        ledger.close(ticket, as: .dropped(reason))
    }
}
