import Glibc

/// How a process ended.
enum ProcessExit: Hashable, Sendable, CustomStringConvertible {
    /// With an exit code, of sysexits where the program is ours.
    case code(Int32)
    case signal(Int32)

    var isClean: Bool { self == .code(0) }

    var description: String {
        switch self {
        case .code(let code): "exit code \(code)"
        case .signal(let signal): "signal \(signal)" + (Self.names[signal].map { " (\($0))" } ?? "")
        }
    }

    private static let names = [
        SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL", SIGTRAP: "SIGTRAP", SIGABRT: "SIGABRT",
        SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGSEGV: "SIGSEGV", SIGPIPE: "SIGPIPE", SIGTERM: "SIGTERM",
        SIGSYS: "SIGSYS", SIGXCPU: "SIGXCPU",
    ]
}
