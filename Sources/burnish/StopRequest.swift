import Synchronization

/// SIGINT and SIGTERM as a flag, for commands that look at it between two steps of their work.
enum StopRequest {
    private static let made = Atomic<Bool>(false)

    static var isMade: Bool { made.load(ordering: .relaxed) }

    /// Call before any thread is started, see ``EndSignals/hold()``.
    static func install() {
        EndSignals.hold()
        EndSignals.onArrival { made.store(true, ordering: .relaxed) }
    }
}
