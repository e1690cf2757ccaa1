import Synchronization

/// Channel: what the decode thread has in its hands.
///
/// - Writer: decode.
/// - Readers: enhance (``holdsAnother(than:)``, to count the originals behind a frame); ingest and encode
///   (``framesKept``, to tell frames that are on their way from those that the decoder keeps); enhance and encode
///   (``picturesPerUnit``, for the rate of pictures).
/// - Read together: nothing. Each figure is right on its own.
///
/// Thread-safe; one atomic each.
final class DecoderActivity: Sendable {
    private let frame = Atomic<Int64>(-1)
    private let kept = Atomic<Int>(0)
    private let perUnit = Atomic<Int>(1)

    /// The frame whose unit is inside the decode thread: at work, or with its picture waiting for room.
    var frameInside: UInt64? {
        get { UInt64(exactly: frame.load(ordering: .relaxed)) }
        set { frame.store(newValue.map { Int64($0) } ?? -1, ordering: .relaxed) }
    }

    /// Whether the decode thread has another frame inside than this one. The thread may still show a frame inside after
    /// enhance has popped its picture.
    func holdsAnother(than id: UInt64) -> Bool { frameInside.map { $0 != id } ?? false }

    /// Frames that the decoder keeps until it gets more units.
    var framesKept: Int {
        get { kept.load(ordering: .relaxed) }
        set { kept.store(newValue, ordering: .relaxed) }
    }

    /// Pictures that a unit gives: two where each field becomes a frame.
    var picturesPerUnit: Int {
        get { perUnit.load(ordering: .relaxed) }
        set { perUnit.store(newValue, ordering: .relaxed) }
    }
}
