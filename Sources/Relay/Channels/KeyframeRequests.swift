import Synchronization

/// Channel: whether the next coded picture must be a keyframe.
///
/// - Writers: whoever drops a keyframe of the source (``StreamBooks/drop(_:_:)``), and send (a receiver has come, a unit
///   went out in part, or the program map has changed).
/// - Reader: encode, which claims the request before it encodes a picture.
///
/// Thread-safe; one atomic.
final class KeyframeRequests: Sendable {
    private let isPending = Atomic<Bool>(false)

    /// Asks for a keyframe. Requests that come before the next picture count as one.
    func request() { isPending.store(true, ordering: .releasing) }

    /// Whether one is asked for, and no picture has come to the encoder since.
    var isPendingNow: Bool { isPending.load(ordering: .relaxed) }

    /// Whether a keyframe was requested since the last call.
    func claim() -> Bool { isPending.exchange(false, ordering: .acquiring) }
}
