import Synchronization

/// Channel: whether the next coded picture must be a keyframe.
///
/// - Writers: whoever drops a keyframe of the source (``StreamBooks/drop(_:_:)``), and send (a receiver has come, a unit
///   went out in part, or the program map has changed).
/// - Reader: encode, which claims both before it encodes a picture.
/// - Read together: nothing. A request is always answered, a dropped keyframe as often as the source's others (``KeyframePace``).
///
/// Thread-safe; one atomic each.
final class KeyframeRequests: Sendable {
    private let isPending = Atomic<Bool>(false)

    /// Asks for a keyframe. Requests that come before the next picture count as one.
    func request() { isPending.store(true, ordering: .releasing) }

    private let wasDropped = Atomic<Bool>(false)

    /// A keyframe of the source was dropped.
    func recordDropped() { wasDropped.store(true, ordering: .releasing) }

    /// Whether a keyframe of the source was dropped since the last call.
    func claimDropped() -> Bool { wasDropped.exchange(false, ordering: .acquiring) }

    /// Whether one is asked for, and no picture has come to the encoder since.
    var isPendingNow: Bool { isPending.load(ordering: .relaxed) }

    /// Whether a keyframe was requested since the last call.
    func claim() -> Bool { isPending.exchange(false, ordering: .acquiring) }
}
