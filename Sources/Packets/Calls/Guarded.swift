import Media

/// A value that one thread at a time may use, where the compiler cannot see that nothing of it gets out: sessions hold objects
/// of their own, and hand packets to closures.
///
/// Unchecked for that reason. The value is only ever used under the lock.
final class Guarded<Value: ~Copyable>: @unchecked Sendable {
    private let lock = Lock(())
    private var value: Value

    init(_ value: consuming Value) { self.value = value }

    /// Waits until no other thread is inside, then runs `body`. Calls must not be nested.
    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        lock.withLock { _ in body(&value) }
    }
}
