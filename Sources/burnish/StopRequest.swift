import Synchronization

/// SIGINT and SIGTERM as a flag, for commands that look at it between two steps of their work.
enum StopRequest {
    private static let made = Atomic<Bool>(false)

    static var isMade: Bool { made.load(ordering: .relaxed) }

    static func install() {
        EndSignals.onArrival { made.store(true, ordering: .relaxed) }
    }
}
