import Synchronization

/// State that belongs to one thread at a time, inside an object that any thread may hold.
///
/// The owner's documentation names the calls that belong to that thread: ``Source/receive(into:until:)`` and
/// ``Sink/send(_:sourceTime:)``. A debug build checks that they do not overlap.
///
/// Unchecked because the compiler cannot see that rule: whoever calls these functions keeps it.
package final class ThreadConfined<Value: ~Copyable>: @unchecked Sendable {
    private var value: Value
    #if DEBUG
    private let isInUse = Atomic<Bool>(false)
    #endif

    package init(_ value: consuming Value) { self.value = value }

    package func use<Result>(_ body: (inout Value) -> Result) -> Result {
        #if DEBUG
        precondition(!isInUse.exchange(true, ordering: .acquiring), "two threads use what belongs to one")
        defer { isInUse.store(false, ordering: .releasing) }
        #endif
        return body(&value)
    }
}
