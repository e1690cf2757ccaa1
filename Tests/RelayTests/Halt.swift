import Media

/// Where one thread stops until another lets it go on.
final class Halt: Sendable {
    private let (reached, left) = (BoundedQueue<Bool>(capacity: 1), BoundedQueue<Bool>(capacity: 1))

    /// Stops here.
    func pass() {
        _ = reached.push(true)
        _ = left.pop()
    }

    /// Waits until the other thread has stopped.
    func await() { _ = reached.pop() }
    func goOn() { _ = left.push(true) }
}
