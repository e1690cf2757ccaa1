import Media
import Settings
import Synchronization

/// Channel: the settings that may change while the stream runs.
///
/// - Writer: ``Relay/change(_:)``, on any thread.
/// - Readers: ingest (the budget), decode (the tier, deinterlacing, the mask), enhance (tier, content, steps, interpolation,
///   caution), encode (bit rate, interpolation) and send (pacing). Each has a ``Copy`` and refreshes it once for each frame or unit.
/// - Read together: all settings of one change, and the number of their mask.
///
/// *Masks have numbers.* A change after which more is hidden begins a new one. Each picture carries the number of the mask that it has
/// (``FrameRecord/maskNumber``), and each stage drops a picture with an older number than ``maskNumber``, whatever made it. So what is
/// on its way when a mask is set does not leave.
///
/// Thread-safe. Without a change a reader loads one atomic.
final class LiveSettings: Sendable {
    private let newest: Lock<StreamSettings>
    private let changes = Atomic<Int>(0)
    private let masks: Atomic<Int>
    private let holding: Atomic<Bool>

    init(_ settings: StreamSettings) {
        newest = Lock(settings)
        // A picture that nobody has masked has the number 0.
        masks = Atomic(settings.steps.holdsBypass ? 1 : 0)
        holding = Atomic(settings.steps.holdsBypass)
    }

    var current: StreamSettings { newest.withLock { $0 } }

    func change(to settings: StreamSettings) {
        newest.withLock {
            holding.store(settings.steps.holdsBypass, ordering: .sequentiallyConsistent)
            if !$0.steps.hides(allOf: settings.steps) { masks.add(1, ordering: .sequentiallyConsistent) }
            $0 = settings
            changes.add(1, ordering: .releasing)
        }
    }

    /// The number of the newest mask. Pictures with an older one must not leave.
    var maskNumber: Int { masks.load(ordering: .sequentiallyConsistent) }

    /// Whether no picture may go out as it came. Read ``maskNumber`` first, and give it to the picture: should a mask be set after both
    /// were read, the picture does not leave.
    var holdsBypass: Bool { holding.load(ordering: .sequentiallyConsistent) }

    /// What one stage works with.
    struct Copy: Sendable {
        private let live: LiveSettings
        private var seen: Int
        private(set) var value: StreamSettings
        /// The number of the mask in it.
        private(set) var maskNumber: Int

        init(of live: LiveSettings) {
            self.live = live
            (seen, maskNumber, value) = live.newest.withLock {
                (live.changes.load(ordering: .relaxed), live.maskNumber, $0)
            }
        }

        /// Takes over the newest settings.
        /// - Returns: whether they have changed since the last call.
        mutating func refresh() -> Bool {
            guard live.changes.load(ordering: .acquiring) != seen else { return false }
            (seen, maskNumber, value) = live.newest.withLock {
                (live.changes.load(ordering: .relaxed), live.maskNumber, $0)
            }
            return true
        }
    }
}
