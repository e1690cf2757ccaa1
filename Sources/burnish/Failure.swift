import ArgumentParser
import Codec
import Foundation
import Relay
import Transport

/// Ends the program with one line on standard error and the exit code that sysexits.h has for it.
enum Failure {
    static let badUsage = ExitCode(64)
    static let badInput = ExitCode(65)
    static let unavailable = ExitCode(69)
    static let internalError = ExitCode(70)

    static func exit(_ error: TransportError) -> ExitCode {
        report(error.description)
        return error.code == .badURL ? badUsage : error.code == .system ? internalError : unavailable
    }

    static func exit(_ error: RelayError) -> ExitCode {
        if case .transport(let error) = error { return exit(error) }
        report(error.description)
        return badInput
    }

    static func report(_ line: String) {
        FileHandle.standardError.write(Data("burnish: \(line)\n".utf8))
    }
}
