/// Wakes one thread that waits for several things at once.
///
/// A wake-up that comes while nobody waits is kept, and the next wait returns at once. Several count as one.
///
/// Thread-safe; never allocates after `init`.
public final class WakeUp: Sendable {
    private let raised = BoundedQueue<Bool>(capacity: 1)

    public init() {}

    /// Ends the present wait, or the next one.
    public func raise() { _ = raised.offer(true) }

    /// Waits until it is raised or the time comes.
    public func wait(until time: MonotonicTime) { _ = raised.pop(until: time) }
}
