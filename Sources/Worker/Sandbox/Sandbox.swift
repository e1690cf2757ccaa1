import CSandbox
import Glibc

/// Gives up what a worker does not need, for good: files, programs, other processes, and every socket but UDP.
///
/// What is open stays usable, and descriptors still arrive over the supervisor's socket. So a worker receives what it needs,
/// and a decoder that hostile input has taken over can use that and nothing else. docs/design/sandbox.md has the rules.
public enum Sandbox {
    /// What is in force.
    public struct Protection: Hashable, Sendable {
        /// The kernel's Landlock version; 0 where it has none.
        public let landlock: Int
        private static let newest = Int(burnish_landlock_newest)

        /// What is weaker on this kernel than it could be, in one line; nil where nothing is.
        public var missing: String? {
            switch landlock {
            case 0:
                "this kernel has no Landlock (Linux 5.13 or newer, with lsm=landlock): the system call filter denies files alone,"
                    + " so the worker does not see the machine's load"
            case ..<Self.newest:
                "this kernel's Landlock has version \(landlock) of \(Self.newest): the system call filter"
                    + " denies the rest alone"
            default: nil
            }
        }
    }

    /// Files and folders that threads open for reading while they run.
    static let readable = [
        // The load of the machine (`MachineMeter`) and its processors (glibc).
        "/proc/stat", "/proc/loadavg", "/sys/devices/system/cpu",
        // The limits of the control groups (`ProcessorLimit`).
        "/proc/self/cgroup", "/proc/self/mountinfo", "/sys/fs/cgroup",
        // glibc, when it gives memory back.
        "/proc/sys/vm/overcommit_memory",
        // OpenSSL, when libsrt first encrypts.
        "/etc/ssl/openssl.cnf",
    ]

    /// The kernel's Landlock version; 0 where it has none.
    static var landlockVersion: Int { Int(burnish_landlock_version()) }

    /// Enters. There is no way back. Call it once, before the process has a second thread: Landlock holds for the calling thread
    /// and for those that it starts.
    /// - Parameters:
    ///   - path: of a file that may be read, besides.
    ///   - output: the path of a file that is there and may be written. Without Landlock none can be.
    /// - Throws: why the process is not protected. It must not run streams then.
    public static func enter(reading path: String? = nil, writing output: String? = nil) throws(SandboxFault) -> Protection {
        guard burnish_thread_count() == 1 else { throw SandboxFault(step: .threads, code: 0) }
        // Swift's crash handler starts a program, which a sandbox denies. It would then swallow signals of others.
        // The process that started this one may have blocked them.
        var fatal = sigset_t()
        unsafe sigemptyset(&fatal)
        for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] {
            signal(number, SIG_DFL)
            unsafe sigaddset(&fatal, number)
        }
        unsafe pthread_sigmask(SIG_UNBLOCK, &fatal, nil)
        try check(burnish_forgo_privileges(), .privileges)
        let landlock = burnish_landlock_version()
        if landlock > 0 {
            let version = min(landlock, Int32(burnish_landlock_newest))
            let paths = unsafe (readable + (path.map { [$0] } ?? [])).map { unsafe UnsafePointer<CChar>(strdup($0)) }
            defer { unsafe paths.forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) } }
            try check(unsafe burnish_landlock_enter(version, paths, paths.count, output), .landlock)
        }
        try check(burnish_filter_enter(landlock > 0 ? output == nil ? 1 : 2 : 0), .filter)
        return Protection(landlock: Int(landlock))
    }

    private static func check(_ code: Int32, _ step: SandboxFault.Step) throws(SandboxFault) {
        guard code == 0 else { throw SandboxFault(step: step, code: code) }
    }
}

/// Why a process is not in its sandbox.
public struct SandboxFault: Error, CustomStringConvertible, Hashable {
    public enum Step: Hashable, Sendable { case threads, privileges, landlock, filter }

    public let step: Step
    /// The system's error number; 0 where there is none.
    public let code: Int32

    public var description: String {
        let reason = unsafe String(cString: strerror(code))
        let what =
            switch step {
            case .threads: "it has more than one thread already, or /proc is not mounted"
            case .privileges: "no_new_privs: \(reason)"
            case .landlock: "Landlock: \(reason)"
            case .filter: "the system call filter: \(reason)"
            }
        return "the worker cannot enter its sandbox: \(what)"
    }
}
