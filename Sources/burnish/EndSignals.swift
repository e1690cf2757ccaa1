import Foundation

/// SIGINT and SIGTERM as a wish to end cleanly. A second one ends the program at once.
enum EndSignals {
    /// Keeps the signals from killing the program. Call before any thread is started: threads inherit it.
    static func hold() {
        var signals = set
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        // A pipe whose reader has gone is an error of the write, not the end of the program.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Calls `action`, on a thread of its own, when one of the signals comes.
    static func onArrival(_ action: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            var signals = set
            var number: Int32 = 0
            sigwait(&signals, &number)
            action()
            sigwait(&signals, &number)
            exit(128 + number)
        }
    }

    private static var set: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        return signals
    }
}
