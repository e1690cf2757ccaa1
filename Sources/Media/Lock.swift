public import Synchronization

/// A value that one thread at a time may use.
///
/// It is `Synchronization.Mutex`, and costs the same. On Linux the thread sanitizer does not see that a `Mutex` orders
/// anything, and would report a race for every value in one. It does see atomics, so this type adds one that orders what the
/// mutex orders already.
@frozen public struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<Value>
    /// Stored at the end of every turn and loaded at the beginning of the next. What it holds means nothing.
    @usableFromInline let order = Atomic<UInt8>(0)

    @inlinable public init(_ value: consuming sending Value) { mutex = Mutex(value) }

    /// Waits until no other thread is inside, then runs `body` with the value. Calls on the same lock must not be nested.
    @inlinable public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { (value: inout sending Value) throws(Failure) -> sending Result in
            _ = order.load(ordering: .acquiring)
            defer { order.store(0, ordering: .releasing) }
            return try body(&value)
        }
    }
}
