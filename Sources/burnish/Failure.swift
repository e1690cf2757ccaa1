import ArgumentParser
import Codec
import Endpoint
import Foundation
import Measure
import Offline
import Packets
import Relay
import Transport

/// Ends the program with one line on standard error and the exit code that sysexits.h has for it.
enum Failure {
    static let badUsage = ExitCode(64)
    static let badInput = ExitCode(65)
    static let unavailable = ExitCode(69)
    static let internalError = ExitCode(70)

    /// Returns the result of `body`, or reports its error and throws the exit code.
    static func checked<Result>(_ body: () throws(TransportError) -> Result) throws -> Result {
        do throws(TransportError) {
            return try body()
        } catch {
            throw exit(error)
        }
    }

    static func exit(_ error: TransportError) -> ExitCode {
        StandardError.line("burnish: \(error)")
        return error.code == .badURL ? badUsage : error.code == .system ? internalError : unavailable
    }

    static func exit(_ error: RelayError) -> ExitCode {
        switch error {
        case .transport(let error): return exit(error)
        case .codec(let error): return exit(error)
        case .input:
            StandardError.line("burnish: \(error)")
            return badInput
        }
    }

    /// - Parameter input: the file that was to be enhanced.
    static func exit(_ error: FileEnhancementError, in input: String) -> ExitCode {
        switch error {
        case .codec(let error): return exit(error)
        case .enhance:
            StandardError.line("burnish: \(input): \(error)")
            return badInput
        }
    }

    static func exit(_ error: CodecError) -> ExitCode {
        StandardError.line("burnish: \(error)")
        return switch error.kind {
        case .cannotOpen, .writeFailed: unavailable
        case .noVideo, .invalidData, .unsupportedFormat, .unsupportedCodec: badInput
        case .outOfMemory, .library: internalError
        }
    }

    static func exit(_ error: RawVideoError) -> ExitCode {
        StandardError.line("burnish: \(error)")
        return unavailable
    }

    /// For a sink that cannot send any more.
    static func exit(brokenOutput sink: Sink) -> ExitCode {
        var reason = "nothing more can be written to it"
        while let event = sink.nextEvent() {
            if case .disconnected(let cause) = event { reason = "cannot be written any more: \(cause)" }
        }
        return exit(TransportError(.inaccessible, place: "\(sink.url)", reason))
    }

    /// For a report that cannot be written to its file.
    static func exit(report path: String, _ error: any Error) -> ExitCode {
        StandardError.line("burnish: cannot write the report to \(path): \(error.localizedDescription)")
        return unavailable
    }
}

extension Encodable {
    /// As JSON for people and programs: sorted keys and snake case, for scripts to compare.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
