import Media
import Settings
import Synchronization

/// Channel: the settings that may change while the stream runs.
///
/// - Writer: ``Relay/change(_:)``, on any thread.
/// - Readers: ingest (the budget), decode (the tier, deinterlacing), enhance (tier, content, steps, interpolation,
///   caution), encode (bit rate, interpolation) and send (pacing). Each has a ``Copy`` and refreshes it once for each frame or unit.
/// - Read together: all settings of one change.
///
/// Thread-safe. Without a change a reader loads one atomic.
final class LiveSettings: Sendable {
    private let newest: Lock<StreamSettings>
    private let changes = Atomic<Int>(0)

    init(_ settings: StreamSettings) { newest = Lock(settings) }

    var current: StreamSettings { newest.withLock { $0 } }

    func change(to settings: StreamSettings) {
        newest.withLock {
            $0 = settings
            changes.add(1, ordering: .releasing)
        }
    }

    /// What one stage works with.
    struct Copy: Sendable {
        private let live: LiveSettings
        private var seen: Int
        private(set) var value: StreamSettings

        init(of live: LiveSettings) {
            self.live = live
            (seen, value) = live.newest.withLock { (live.changes.load(ordering: .relaxed), $0) }
        }

        /// Takes over the newest settings.
        /// - Returns: whether they have changed since the last call.
        mutating func refresh() -> Bool {
            guard live.changes.load(ordering: .acquiring) != seen else { return false }
            (seen, value) = live.newest.withLock { (live.changes.load(ordering: .relaxed), $0) }
            return true
        }
    }
}
