import ArgumentParser
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
        StandardError.line("burnish: \(error)")
        return error.code == .badURL ? badUsage : error.code == .system ? internalError : unavailable
    }

    static func exit(_ error: RelayError) -> ExitCode {
        if case .transport(let error) = error { return exit(error) }
        StandardError.line("burnish: \(error)")
        return badInput
    }
}

extension JSONEncoder {
    /// Sorted keys and snake case: what scripts compare and people read.
    static var forReports: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return encoder
    }
}
