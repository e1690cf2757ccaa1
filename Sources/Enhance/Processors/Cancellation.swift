import Synchronization

/// Ends a session's work. Thread-safe: keep it where another thread can reach it, while the session itself stays with one.
public final class Cancellation: Sendable {
    private let requested = Atomic<Bool>(false)

    public init() {}

    public var isRequested: Bool { requested.load(ordering: .relaxed) }

    /// The call under way ends after the step that it is at, and throws. So does every call after it, until the session's
    /// ``FrameProcessor/reset()``.
    public func cancel() { requested.store(true, ordering: .relaxed) }

    /// For sessions: to be used again.
    public func clear() { requested.store(false, ordering: .relaxed) }

    /// For sessions, before and between the steps of a call.
    /// - Throws: `cancelled`.
    public func check() throws(EnhanceError) {
        guard isRequested else { return }
        throw EnhanceError(.cancelled, "the session was cancelled: call reset() to use it again, or make another")
    }
}
