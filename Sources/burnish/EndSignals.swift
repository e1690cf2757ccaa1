import Foundation
import Synchronization

/// SIGINT and SIGTERM as a wish to end cleanly. A second one ends the program at once, unless it follows the first so
/// closely that one wish came twice: `timeout` signals its child and then the child's group, a terminal and a
/// supervisor may both pass on the same Ctrl-C.
enum EndSignals {
    /// A signal this soon after the first one belongs to it.
    private static let oneWish = Duration.milliseconds(500)

    /// The writing end of a pipe: all that a signal handler may use.
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
        // A pipe whose reader has gone is an error of the write, not the end of the program.
        signal(SIGPIPE, SIG_IGN)
        Thread.detachNewThread {
            // A program started from a thread that blocks signals inherits that; here they are wanted.
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
            } while ContinuousClock.now - first < oneWish
            // At once: other threads still use what `exit` would take down.
            _exit(128 + Int32(number))
        }
    }
}

/// SIGINT and SIGTERM as a flag, for commands that look at it between two steps of their work.
enum StopRequest {
    private static let made = Atomic<Bool>(false)

    static var isMade: Bool { made.load(ordering: .relaxed) }

    static func install() {
        EndSignals.onArrival { made.store(true, ordering: .relaxed) }
    }
}
