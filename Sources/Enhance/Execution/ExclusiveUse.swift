import Synchronization

/// Stops the program when two threads use a session at once.
struct ExclusiveUse: ~Copyable, Sendable {
    private let isInUse = Atomic<Bool>(false)

    borrowing func begin(_ unit: StaticString = "frame") {
        precondition(
            isInUse.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged,
            "a session processes one \(unit) at a time")
    }

    borrowing func end() { isInUse.store(false, ordering: .releasing) }
}
