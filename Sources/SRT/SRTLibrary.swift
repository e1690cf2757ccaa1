import CSRT
import Glibc
import Media

/// Something whose threads call libsrt.
protocol SRTLibraryUser: AnyObject, Sendable {
    /// Ends its threads. May be called more than once.
    func stop()
}

/// libsrt, started once for the process and shut down when it exits.
enum SRTLibrary {
    /// Touch it before any other call.
    static let started: Void = {
        srt_startup()
        // What libsrt prints about refused connections becomes events here. Without this it would go to standard error too.
        srt_setloglevel(LOG_CRIT)
        atexit {
            // A thread that still calls libsrt while its globals are destroyed would crash the exit.
            for user in SRTLibrary.users.withLock({ $0 }) { user.stop() }
            srt_cleanup()
        }
    }()

    private static let users = Lock<[any SRTLibraryUser]>([])

    /// Has the user stopped before the process exits.
    static func add(_ user: any SRTLibraryUser) { users.withLock { $0.append(user) } }
    static func remove(_ user: any SRTLibraryUser) { users.withLock { $0.removeAll { $0 === user } } }

    /// Whether a message may take several packets. From 1.5.4 on libsrt refuses to send such messages live, but still receives them.
    static let spreadsMessages = srt_getversion() < 0x01_05_04

    /// libsrt's clock minus ours, in nanoseconds: zero in the usual build, which reads CLOCK_MONOTONIC too.
    static func clockOffset() -> Int64 {
        let before = MonotonicTime.now()
        let theirs = srt_time_now()
        let after = MonotonicTime.now()
        let offset = theirs * 1_000 - (before.nanoseconds + after.nanoseconds) / 2
        return offset.magnitude < 1_000_000 ? 0 : offset
    }
}

/// A failed libsrt call: the library's own code and text.
struct SRTFailure: Error {
    let code: Int32
    let systemCode: Int32

    /// The calling thread's last failure.
    static var last: SRTFailure {
        var systemCode: Int32 = 0
        let code = unsafe srt_getlasterror(&systemCode)
        return SRTFailure(code: code, systemCode: systemCode)
    }

    var text: String { unsafe String(cString: srt_strerror(code, systemCode)) }
}
