import Foundation
import TestSupport

/// Tests/SandboxedRelay in a process of its own, with tools/check/sandbox_attempts.c inside.
final class SandboxedRelay {
    private let process = Process()
    private let (input, errors) = (Pipe(), Pipe())
    private let folder: TemporaryFolder
    private var lines: [String] = []
    private var rest = ""

    struct Attempt: Hashable {
        var thread: Substring
        var name: Substring
        /// The system's error number; 0 when the attempt succeeded.
        var code: Int32
    }

    /// - Parameter deadly: the system call that the decoder's thread is to make; nil for all attempts that must only fail.
    init(input inputURL: String, output outputURL: String, deadly: String? = nil) throws {
        folder = try TemporaryFolder()
        let source = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "tools/check/sandbox_attempts.c")
        let library = folder.file("attempts.so").path
        let compiled = try run("/usr/bin/env", ["clang", "-O1", "-shared", "-fPIC", "-o", library, source.path, "-ldl"])
        guard compiled.status == 0 else { throw CocoaError(.executableLoad, userInfo: ["output": compiled.output]) }

        var executable = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        while !FileManager.default.isExecutableFile(atPath: executable.appending(path: "sandboxed-relay").path),
            executable.path != "/"
        { executable = executable.deletingLastPathComponent() }
        process.executableURL = executable.appending(path: "sandboxed-relay")
        process.arguments = [inputURL, outputURL]
        var environment = ProcessInfo.processInfo.environment.merging(["LD_PRELOAD": library]) { $1 }
        environment["BURNISH_DEADLY"] = deadly
        process.environment = environment
        process.standardInput = input
        process.standardError = errors
        try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// Reads its lines until one begins as asked; nil when it ends before.
    func line(_ beginning: String) -> String? {
        var seen = 0
        while true {
            if let found = lines[seen...].first(where: { $0.hasPrefix(beginning) }) { return found }
            seen = lines.count
            let some = errors.fileHandleForReading.availableData
            if some.isEmpty { return nil }
            rest += String(decoding: some, as: UTF8.self)
            let parts = rest.split(separator: "\n", omittingEmptySubsequences: false)
            lines += parts.dropLast().map(String.init)
            rest = String(parts.last ?? "")
        }
    }

    /// The ports of its input and its output.
    func ports() throws -> (input: UInt16, output: UInt16) {
        let words = (line("input ") ?? "").split(separator: " ")
        guard words.count == 4, let input = UInt16(words[1]), let output = UInt16(words[3]) else {
            throw CocoaError(.fileReadCorruptFile, userInfo: ["lines": lines])
        }
        return (input, output)
    }

    func send(signal: Int32) { kill(process.processIdentifier, signal) }

    var attempts: [Attempt] {
        lines.compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 4, words[0] == "attempt", let code = Int32(words[3]) else { return nil }
            return Attempt(thread: words[1], name: words[2], code: code)
        }
    }

    /// Closes its standard input and waits for its end.
    /// - Returns: its exit status, or the signal that ended it; and its last line.
    func end() throws -> (reason: Process.TerminationReason, status: Int32, last: String) {
        try input.fileHandleForWriting.close()
        _ = line("\u{0}")
        process.waitUntilExit()
        return (process.terminationReason, process.terminationStatus, lines.last ?? "")
    }
}
