import ArgumentParser
import Control

/// The service: supervises streams, each in a worker process of its own.
@main
struct Burnishd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "burnishd",
        abstract: "Relays live streams as a service: upscales them, interpolates them and sends them on.",
        discussion: "Without --config everything is on the loopback address: an SRT input, an SRT output and the page.",
        subcommands: [RunCommand.self, ReloadCommand.self], defaultSubcommand: RunCommand.self)
}

/// Ends the program with lines on standard error and the exit code that sysexits.h has for it.
enum ServiceFailure {
    static let unavailable = ExitCode(69)
    static let badConfiguration = ExitCode(78)

    static func exit(_ code: ExitCode, _ lines: String...) -> ExitCode {
        for line in lines { ServiceLog.writeToStandardError("burnishd: \(line)\n") }
        return code
    }
}
