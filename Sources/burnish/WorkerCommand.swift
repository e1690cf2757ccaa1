import ArgumentParser
import Foundation
import Worker
import WorkerProtocol

/// The worker process. `burnishd` starts it; nobody else has a use for it, so the help does not show it.
struct WorkerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker", abstract: "Runs streams for burnishd, which starts it.", shouldDisplay: false)

    @Option(help: "The worker's end of a SOCK_SEQPACKET pair, from burnishd.") var controlDescriptor: Int32 = 3

    func run() throws {
        var type: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(controlDescriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0,
            type == Int32(SOCK_SEQPACKET.rawValue)
        else {
            StandardError.line(
                "burnish: burnishd starts burnish worker; descriptor \(controlDescriptor) is not the socket that it passes")
            throw Failure.badUsage
        }
        let worker = Worker(control: WorkerChannel(owning: controlDescriptor))
        EndSignals.onArrival { worker.end() }
        let (code, fault) = worker.run()
        if let fault { StandardError.line("burnish: \(fault)") }
        // Not `exit`: it would free what other threads still use.
        _exit(code)
    }
}
