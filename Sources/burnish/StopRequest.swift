import Glibc
import Synchronization

/// SIGINT and SIGTERM ask a command to finish cleanly: it looks at ``isMade`` and returns.
enum StopRequest {
    private static let made = Atomic<Bool>(false)

    static var isMade: Bool { made.load(ordering: .relaxed) }

    /// Takes the two signals over, interrupting blocking reads; a second one kills as usual. SIGPIPE becomes an error
    /// code of the write.
    static func install() {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in StopRequest.made.store(true, ordering: .relaxed) }
        action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
        sigaction(SIGINT, &action, nil)
        sigaction(SIGTERM, &action, nil)
        signal(SIGPIPE, SIG_IGN)
    }
}
