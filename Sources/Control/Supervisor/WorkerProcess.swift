import CProcess
import Glibc
import WorkerProtocol

/// A worker process, seen from the supervisor: its channel, its standard error, and a descriptor that tells its end.
///
/// The process leads a process group. When this value goes away while the process still runs, the group is killed.
final class WorkerProcess {
    let identifier: pid_t
    let channel: SupervisorChannel
    /// Readable when the process has ended. Call ``reap()`` then.
    let exitDescriptor: Int32
    /// The read end of the process's standard error. Does not block.
    let errorDescriptor: Int32
    private var isReaped = false

    struct Fault: Error, CustomStringConvertible {
        var description: String

        init(_ what: String, _ code: Int32) { description = unsafe "\(what): \(String(cString: strerror(code)))" }
        init(_ description: String) { self.description = description }
    }

    /// - Parameter environment: as `NAME=value`.
    init(executable: String, arguments: [String], environment: [String]) throws(Fault) {
        let parent: SupervisorChannel
        let child: PassedDescriptor
        do throws(MessageFault) {
            (parent, child) = try SupervisorChannel.pair()
        } catch {
            throw Fault(error.description)
        }
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw Fault("no pipe for a worker", errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        defer { close(ends[1]) }

        var process: pid_t = 0
        let code = unsafe withCStrings([executable] + arguments) { arguments in
            unsafe withCStrings(environment) { environment in
                unsafe burnish_spawn(executable, arguments, environment, child.number, ends[1], &process)
            }
        }
        guard code == 0 else {
            close(ends[0])
            throw Fault(executable, code)
        }
        let exit = burnish_process_descriptor(process)
        guard exit >= 0 else {
            let code = errno
            close(ends[0])
            kill(-process, SIGKILL)
            _ = waitpid(process, nil, 0)
            throw Fault("no descriptor for the process of a worker", code)
        }
        identifier = process
        channel = parent
        exitDescriptor = exit
        errorDescriptor = ends[0]
    }

    deinit {
        if !isReaped {
            kill(-identifier, SIGKILL)
            _ = waitpid(identifier, nil, 0)
        }
        close(exitDescriptor)
        close(errorDescriptor)
    }

    /// Sends a signal to the process and to those that it has started.
    func signal(_ number: Int32) {
        guard !isReaped else { return }
        kill(-identifier, number)
        // A stopped process does not see SIGABRT before it goes on.
        if number == SIGABRT { kill(-identifier, SIGCONT) }
    }

    /// How the process ended; nil while it runs. What it has started is killed.
    func reap() -> ProcessExit? {
        guard !isReaped else { return nil }
        var status: Int32 = 0
        var information = unsafe siginfo_t()
        // The number stays this process's until it is waited for, so the group is its own.
        let options = Int32(WEXITED | WNOHANG | WNOWAIT)
        guard unsafe waitid(P_PID, id_t(identifier), &information, options) == 0, unsafe information.si_signo == SIGCHLD
        else { return nil }
        kill(-identifier, SIGKILL)
        guard unsafe waitpid(identifier, &status, 0) == identifier else { return nil }
        isReaped = true
        let signal = status & 0x7F
        return signal == 0 ? .code(status >> 8 & 0xFF) : .signal(signal)
    }
}

/// Calls `body` with C strings and a null pointer behind them.
private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var copies = unsafe strings.map { unsafe strdup($0) }
    unsafe copies.append(nil)
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe copies.withUnsafeBufferPointer { unsafe body($0.baseAddress!) }
}
