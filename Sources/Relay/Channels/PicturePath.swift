import Media
import Synchronization

/// Channel: who wants the pictures to go out as they came, and whether they do.
///
/// - Writers: ingest and the observer (``ladderWantsBypass``), send (``viewersWantBypass``), ingest (``mayBeSentToViewers``), ingest, decode, enhance and encode (``insert(_:from:)``), ingest
///   (``beginBypass()``, ``beginRun()``, ``removeObstacles(from:besides:)``), decode, enhance and encode (``beginMaking()``,
///   ``endMaking()``).
/// - Readers: ingest (the wishes, for each picture), send (``mayBeSentToViewers``), enhance and encode (``runs``, for each picture), encode (``isBypassed``: it
///   fills no slots then), the observer.
/// - Read together: obstacles, and the frame that they hold from.
///
/// The operator's wish is a setting (``LiveSettings``). Ingest decides between them in ``PathSwitch``.
///
/// Thread-safe; one atomic each, and a lock where an obstacle is found.
final class PicturePath: Sendable {
    /// Why pictures cannot be enhanced, whatever anybody wants.
    struct Obstacles: OptionSet, Sendable {
        let rawValue: UInt8
        /// The decoder cannot decode this stream.
        static let decoder = Obstacles(rawValue: 1)
        /// The encoder refuses these pictures, or fails.
        static let encoder = Obstacles(rawValue: 2)
        /// Pictures of this size cannot be enhanced.
        static let enhancement = Obstacles(rawValue: 4)
        /// The decoder has had nothing that it could begin with. The next entry point removes this one.
        static let start = Obstacles(rawValue: 8)
        /// Pictures of this size are too large to decode, as their headers say. Another attempt changes nothing.
        static let size = Obstacles(rawValue: 16)
    }

    private let ladder = Atomic<Bool>(false)
    private let viewers = Atomic<Bool>(false)
    private let mayBeSent = Atomic<Bool>(false)
    private let found = Atomic<UInt8>(0)
    /// The first frame of the present format.
    private let first = Lock<UInt64>(0)
    private let begun = Atomic<Int>(0)
    private let bypassed = Atomic<Bool>(false)
    private let makingsBegun = Atomic<Int>(0)
    private let makingsEnded = Atomic<Int>(0)

    /// The ladder's lowest rung: nothing less than bypass fits the machine.
    var ladderWantsBypass: Bool {
        get { ladder.load(ordering: .relaxed) }
        set { ladder.store(newValue, ordering: .relaxed) }
    }

    /// Nobody gets the encoder's pictures: the links of all viewers carry the publisher's alone.
    var viewersWantBypass: Bool {
        get { viewers.load(ordering: .relaxed) }
        set { viewers.store(newValue, ordering: .relaxed) }
    }

    /// Whether viewers of calls can show the source's own pictures, and may.
    var mayBeSentToViewers: Bool {
        get { mayBeSent.load(ordering: .relaxed) }
        set { mayBeSent.store(newValue, ordering: .relaxed) }
    }

    var obstacles: Obstacles { Obstacles(rawValue: found.load(ordering: .relaxed)) }

    /// Pictures cannot be enhanced.
    /// - Parameter frame: the number of one that could not be. Nothing happens where it is of a former format. Nil: the newest.
    func insert(_ obstacle: Obstacles, from frame: UInt64?) {
        first.withLock { first in
            if frame ?? first >= first { found.bitwiseOr(obstacle.rawValue, ordering: .relaxed) }
        }
    }

    /// Pictures of another format begin with this frame, or the operator wants another attempt.
    /// - Parameter lasting: those that stay where they are.
    func removeObstacles(from frame: UInt64, besides lasting: Obstacles = []) {
        first.withLock { first in
            first = frame
            found.bitwiseAnd(lasting.rawValue, ordering: .relaxed)
        }
    }

    /// How often pictures have begun to be enhanced again after they were bypassed. It changes while none is on its way.
    var runs: Int { begun.load(ordering: .acquiring) }

    /// Pictures are enhanced again. Whoever reads ``isBypassed`` as false after this reads the new ``runs``, too.
    func beginRun() {
        begun.add(1, ordering: .releasing)
        bypassed.store(false, ordering: .sequentiallyConsistent)
    }

    /// Whether pictures go out as they came. It stays true until a run begins.
    var isBypassed: Bool { bypassed.load(ordering: .sequentiallyConsistent) }
    func beginBypass() { bypassed.store(true, ordering: .sequentiallyConsistent) }

    // MARK: Frames that have no ticket yet

    /// A stage begins to make a frame of its own, whose ticket it opens later. Encode asks for ``isBypassed`` after this.
    func beginMaking() { makingsBegun.add(1, ordering: .sequentiallyConsistent) }
    /// The frame has its ticket, or there is none.
    func endMaking() { makingsEnded.add(1, ordering: .sequentiallyConsistent) }

    /// Whether a condition on the tickets holds while no stage makes a frame that has none yet.
    func isQuiet(_ condition: () -> Bool) -> Bool {
        let ended = makingsEnded.load(ordering: .sequentiallyConsistent)
        guard makingsBegun.load(ordering: .sequentiallyConsistent) == ended, condition() else { return false }
        return makingsBegun.load(ordering: .sequentiallyConsistent) == ended
    }
}
