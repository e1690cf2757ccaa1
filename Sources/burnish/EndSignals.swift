import Foundation
import Synchronization

/// SIGINT and SIGTERM as requests to end cleanly. A second signal ends the program at once, unless it follows the first
/// so closely that both are one request: `timeout` signals its child and then the child's group, and a terminal and a
/// supervisor may both pass on the same Ctrl-C.
enum EndSignals {
    /// A signal that follows the first one within this time belongs to it.
    private static let sameRequestInterval = Duration.milliseconds(500)

    /// The writing end of a pipe. A signal handler may use little else.
    private static let pipeEnd = Atomic<Int32>(-1)

    /// Calls `action`, on a thread of its own, when one of the signals comes.
    static func onArrival(_ action: @escaping @Sendable () -> Void) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return }
        let readEnd = ends[0]
        pipeEnd.store(ends[1], ordering: .releasing)
        var handler = sigaction()
        handler.__sigaction_handler.sa_handler = { number in
            var byte = UInt8(truncatingIfNeeded: number)
            _ = write(EndSignals.pipeEnd.load(ordering: .acquiring), &byte, 1)
        }
        handler.sa_flags = SA_RESTART
        sigaction(SIGINT, &handler, nil)
        sigaction(SIGTERM, &handler, nil)
        // When the reader of a pipe has gone, the write fails. The program goes on.
        signal(SIGPIPE, SIG_IGN)
        Thread.detachNewThread {
            // A program inherits blocked signals from the thread that starts it. This thread wants them.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGINT)
            sigaddset(&signals, SIGTERM)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            var number: UInt8 = 0
            while read(readEnd, &number, 1) != 1 {}
            let first = ContinuousClock.now
            action()
            repeat {
                while read(readEnd, &number, 1) != 1 {}
            } while ContinuousClock.now - first < sameRequestInterval
            // Not `exit`: it would free what other threads still use.
            _exit(128 + Int32(number))
        }
    }
}

/// SIGINT and SIGTERM as a flag, for commands that check it between two steps of their work.
enum StopRequest {
    private static let made = Atomic<Bool>(false)

    static var isMade: Bool { made.load(ordering: .relaxed) }

    static func install() {
        EndSignals.onArrival { made.store(true, ordering: .relaxed) }
    }
}
