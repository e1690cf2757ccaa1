import Media
import Schedule

/// Channel: the newest slot of a constant rate that was filled because nothing had come for it.
///
/// - Writer: encode.
/// - Readers: enhance (drops a frame for a slot that is gone before it costs anything), ingest (notices a source whose clock
///   stood still).
/// - Read together: the slot and its deadline.
///
/// Thread-safe; each call holds a lock for well under a microsecond.
final class FilledSlot: Sendable {
    private let slot = Lock<Repeater.Filled?>(nil)

    /// Nil where no slot has been filled, and without a constant rate.
    var newest: Repeater.Filled? {
        get { slot.withLock { $0 } }
        set { slot.withLock { $0 = newValue } }
    }
}
