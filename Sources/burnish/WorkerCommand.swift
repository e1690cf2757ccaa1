import ArgumentParser
import Foundation
import Media
import Worker
import WorkerProtocol

/// The worker process. `burnishd` starts it; nobody else has a use for it, so the help does not show it.
struct WorkerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker", abstract: "Runs streams for burnishd, which starts it.", shouldDisplay: false)

    @Option(help: "The worker's end of a SOCK_SEQPACKET pair, from burnishd.") var controlDescriptor: Int32 = 3
    @Flag(help: "Keep all rights of the process. A decoder that hostile input has taken over has them too.")
    var noSandbox = false

    func run() throws {
        FreedMemory.keep()
        var type: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(controlDescriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0,
            type == Int32(SOCK_SEQPACKET.rawValue)
        else {
            StandardError.line(
                "burnish: burnishd starts burnish worker; descriptor \(controlDescriptor) is not the socket that it passes")
            throw Failure.badUsage
        }
        // Before the sandbox: it loads libraries.
        let calls = WorkerCalls()
        if calls == nil { StandardError.line("burnish: OpenSSL or libsrtp cannot be used: this worker answers no calls") }
        WallClock.prepare()
        try enterSandbox()
        let worker = Worker(control: try openChannel(), desk: calls)
        worker.resolveNames()
        EndSignals.onArrival { worker.interrupt() }
        let (code, fault) = worker.run()
        if let fault { StandardError.line("burnish: \(fault)") }
        // Not `exit`: it would free what other threads still use.
        _exit(code)
    }

    private func openChannel() throws -> WorkerChannel {
        do throws(MessageFault) {
            return try WorkerChannel(owning: controlDescriptor)
        } catch {
            StandardError.line("burnish: \(error)")
            throw Failure.internalError
        }
    }

    /// Before anything starts a thread.
    private func enterSandbox() throws {
        guard !noSandbox else {
            StandardError.line("burnish: this worker has no sandbox (--no-sandbox)")
            return
        }
        do throws(SandboxFault) {
            if let missing = try Sandbox.enter().missing { StandardError.line("burnish: \(missing)") }
        } catch {
            StandardError.line("burnish: \(error); --no-sandbox runs it without")
            throw Failure.internalError
        }
    }
}
