public import CThreadSanitizer
public import Synchronization

/// A value that one thread at a time may use.
///
/// It is `Synchronization.Mutex` and costs the same. On Linux the thread sanitizer does not see that a `Mutex` orders
/// anything, so this type tells it, and what the sanitizer still reports is real.
@frozen public struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<Value>

    @inlinable public init(_ value: consuming sending Value) { mutex = Mutex(value) }

    /// Waits until no other thread is inside, then runs `body` with the value. Calls on the same lock must not be nested.
    @inlinable public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { (value: inout sending Value) throws(Failure) -> sending Result in
            unsafe withUnsafeMutablePointer(to: &value) { unsafe burnish_tsan_acquire($0) }
            defer { unsafe withUnsafeMutablePointer(to: &value) { unsafe burnish_tsan_release($0) } }
            return try body(&value)
        }
    }
}
