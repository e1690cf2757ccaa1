import Synchronization

/// Channel: who wants the pictures to go out as they came, and whether they do.
///
/// - Writers: enhance (``ladderWantsBypass``), decode and encode (``obstacles``), ingest (``isBypassed``).
/// - Readers: ingest (both wishes, for each picture), encode (``isBypassed``: it fills no slots then), the observer.
/// - Read together: nothing.
///
/// The operator's wish is a setting (``LiveSettings``). Ingest decides between them in ``PathSwitch``.
///
/// Thread-safe; one atomic each.
final class PicturePath: Sendable {
    /// Why pictures cannot be enhanced, whatever anybody wants.
    struct Obstacles: OptionSet, Sendable {
        let rawValue: UInt8
        /// The decoder cannot decode this stream.
        static let decoder = Obstacles(rawValue: 1)
        /// The encoder refuses these pictures, or fails.
        static let encoder = Obstacles(rawValue: 2)
    }

    private let ladder = Atomic<Bool>(false)
    private let found = Atomic<UInt8>(0)
    private let bypassed = Atomic<Bool>(false)

    /// The ladder's lowest rung: nothing less than bypass fits the machine.
    var ladderWantsBypass: Bool {
        get { ladder.load(ordering: .relaxed) }
        set { ladder.store(newValue, ordering: .relaxed) }
    }

    var obstacles: Obstacles { Obstacles(rawValue: found.load(ordering: .relaxed)) }
    func insert(_ obstacle: Obstacles) { found.bitwiseOr(obstacle.rawValue, ordering: .relaxed) }
    func remove(_ obstacle: Obstacles) { found.bitwiseAnd(~obstacle.rawValue, ordering: .relaxed) }

    /// Whether the newest picture goes out as it came.
    var isBypassed: Bool {
        get { bypassed.load(ordering: .relaxed) }
        set { bypassed.store(newValue, ordering: .relaxed) }
    }
}
