import Synchronization

/// Stops the program where two threads use a session at once.
struct OneAtATime: ~Copyable, Sendable {
    private let isBusy = Atomic<Bool>(false)

    borrowing func begin(_ unit: StaticString = "frame") {
        precondition(
            isBusy.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged,
            "a session takes one \(unit) at a time")
    }

    borrowing func end() { isBusy.store(false, ordering: .releasing) }
}
