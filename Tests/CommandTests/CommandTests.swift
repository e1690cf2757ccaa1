import Foundation
import Testing

/// The program as a user's shell sees it: exit codes of sysexits.h, and one line that says what is wrong.
@Suite(.timeLimit(.minutes(2))) struct CommandTests {
    struct Outcome {
        var code: Int32
        var reason: Process.TerminationReason
        var output: String
        var errors: String
    }

    /// The executable that was built beside the tests.
    static let burnish: URL = {
        var folder = Bundle.main.executableURL!.deletingLastPathComponent()
        while !FileManager.default.isExecutableFile(atPath: folder.appending(path: "burnish").path), folder.path != "/" {
            folder = folder.deletingLastPathComponent()
        }
        return folder.appending(path: "burnish")
    }()

    private func run(_ arguments: [String], input: Data = Data()) throws -> Outcome {
        let process = Process()
        process.executableURL = Self.burnish
        process.arguments = arguments
        let (output, errors, feed) = (Pipe(), Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = feed
        try process.run()
        // Small enough for the pipe's buffer.
        try feed.fileHandleForWriting.write(contentsOf: input)
        try feed.fileHandleForWriting.close()
        let out = output.fileHandleForReading.readDataToEndOfFile()
        let err = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(
            code: process.terminationStatus, reason: process.terminationReason,
            output: String(decoding: out, as: UTF8.self), errors: String(decoding: err, as: UTF8.self))
    }

    private let nonsense = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) })

    @Test func helpIsNoError() throws {
        let outcome = try run(["--help"])
        #expect(outcome.code == 0 && outcome.output.contains("relay"))
    }

    @Test(arguments: [
        ["relay", "--input", "srt://:0?mode=listener&lattency=20", "--output", "udp://127.0.0.1:9"],
        ["relay", "--input", "srt://:0?mode=sometimes", "--output", "udp://127.0.0.1:9"],
        ["relay", "--input", "ftp://127.0.0.1/a", "--output", "udp://127.0.0.1:9"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--scale", "3"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--budget", "80"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--fps", "60", "--interpolate", "2"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--fps", "0.5"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--fps", "600011/10000"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--hold", "2s"],
        ["relay", "--input", "-"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--bitrate", "2500"],
        ["testsrc", "--output", "udp://127.0.0.1:9", "--size", "640"],
        ["testsrc", "--output", "udp://127.0.0.1:9", "--fps", "inf"],
        ["testsrc", "--output", "udp://127.0.0.1:9", "--fps", "1e30"],
        ["testsrc", "--output", "udp://127.0.0.1:9", "--fps", "0.0001"],
        ["testsrc", "--output", "udp://127.0.0.1:9", "--bitrate", "0.0001k"],
        ["nonsense"],
    ])
    func badUsageIs64(arguments: [String]) throws {
        let outcome = try run(arguments)
        #expect(outcome.reason == .exit && outcome.code == 64)
        #expect(!outcome.errors.isEmpty)
    }

    @Test func badInputIs65WithOneLine() throws {
        let outcome = try run(
            ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--quiet"], input: nonsense)
        #expect(outcome.reason == .exit && outcome.code == 65)
        #expect(outcome.errors.split(separator: "\n").last?.hasPrefix("burnish: ") == true)
    }

    @Test(arguments: [
        ["relay", "--input", "/nowhere/in.ts", "--output", "udp://127.0.0.1:9"],
        ["relay", "--input", "-", "--output", "/nowhere/out.ts"],
        ["relay", "--input", "-", "--output", "udp://127.0.0.1:9", "--report", "/nowhere/report.json"],
        ["enhance", "--input", "/nowhere/in.mp4", "--output", "-"],
        ["relay", "--input", "-", "--output", "srt://127.0.0.1:9?passphrase=secret-secret"],
    ])
    func whatCannotBeReachedIs69(arguments: [String]) throws {
        let outcome = try run(arguments)
        #expect(outcome.reason == .exit && outcome.code == 69)
        #expect(!outcome.errors.contains("secret"))
    }

    /// Two libsrts in one process crash at exit (docs/architecture.md): a run that has used ours must end with 0.
    @Test(arguments: [SIGINT, SIGTERM])
    func aSignalEndsCleanly(signal: Int32) throws {
        let process = Process()
        process.executableURL = Self.burnish
        process.arguments = ["relay", "--input", "srt://127.0.0.1:0?mode=listener", "--output", "udp://127.0.0.1:9"]
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        // The first line says that it listens; from then on it can be ended.
        var text = ""
        while !text.contains("listening") {
            let some = errors.fileHandleForReading.availableData
            if some.isEmpty { break }
            text += String(decoding: some, as: UTF8.self)
        }
        kill(process.processIdentifier, signal)
        text += String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
        #expect(text.contains("books: "))
    }
}
