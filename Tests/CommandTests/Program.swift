import Foundation
import Media

/// The executable that was built together with the tests, run as a shell runs it.
final class Program {
    struct Outcome {
        var code: Int32
        var reason: Process.TerminationReason
        var output: String
        var errors: String
        /// The lines of error messages.
        var complaints: [Substring] { errors.split(separator: "\n").filter { $0.hasPrefix("burnish: ") } }
    }

    static let executable: URL = {
        var folder = Bundle.main.executableURL!.deletingLastPathComponent()
        while !FileManager.default.isExecutableFile(atPath: folder.appending(path: "burnish").path), folder.path != "/" {
            folder = folder.deletingLastPathComponent()
        }
        return folder.appending(path: "burnish")
    }()

    private let process = Process()
    private let errors = Pipe()
    private var text = ""

    /// Starts a program that runs until a signal ends it.
    init(_ arguments: [String]) throws {
        process.executableURL = Self.executable
        process.arguments = arguments
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// Reads its messages until a text appears, or it has ended.
    func read(until wanted: String) -> String {
        while !text.contains(wanted) {
            let some = errors.fileHandleForReading.availableData
            if some.isEmpty { break }
            text += String(decoding: some, as: UTF8.self)
        }
        return text
    }

    /// Reads its messages until a condition holds for them, or it has ended.
    func read(until isThere: (String) -> Bool) -> String {
        while !isThere(text) {
            let some = errors.fileHandleForReading.availableData
            if some.isEmpty { break }
            text += String(decoding: some, as: UTF8.self)
        }
        return text
    }

    /// The port that it listens on, by its messages.
    func listeningPort() throws -> UInt16 {
        let text = read { Self.port(": listening on ", in: $0) != nil }
        guard let port = Self.port(": listening on ", in: text) else { throw CocoaError(.fileReadCorruptFile) }
        return port
    }

    /// The port at the end of the first whole line that has a mark: `input: listening on srt://127.0.0.1:9000`.
    private static func port(_ mark: String, in text: String) -> UInt16? {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        return lines.first { $0.contains(mark) }.flatMap { UInt16($0.split(separator: ":").last!) }
    }

    /// The ports that its input and output listen on, by its messages.
    func listeningPorts(_ ends: [String]) throws -> [UInt16] {
        func port(_ end: String, in text: String) -> UInt16? { Self.port("\(end): listening on ", in: text) }
        let text = read { text in ends.allSatisfy { port($0, in: text) != nil } }
        return try ends.map { end in
            guard let port = port(end, in: text) else { throw CocoaError(.fileReadCorruptFile) }
            return port
        }
    }

    /// Waits until it handles signals itself.
    func awaitSignalHandlers() {
        let status = "/proc/\(process.processIdentifier)/status"
        while process.isRunning {
            let line = (try? String(contentsOfFile: status, encoding: .utf8))?.split(separator: "\n")
                .first { $0.hasPrefix("SigCgt:") }
            let caught = line.flatMap { UInt64($0.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16) } ?? 0
            if caught & 1 << UInt64(SIGINT - 1) != 0, caught & 1 << UInt64(SIGTERM - 1) != 0 { return }
            (MonotonicTime.now() + .milliseconds(1)).sleep()
        }
    }

    /// Sends a signal and waits for the end.
    func end(with signal: Int32) -> Outcome {
        kill(process.processIdentifier, signal)
        text += String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Outcome(
            code: process.terminationStatus, reason: process.terminationReason, output: "", errors: text)
    }

    /// Runs to the end.
    /// - Parameter input: its standard input, small enough for a pipe's buffer.
    static func run(_ arguments: [String], input: Data = Data()) throws -> Outcome {
        let feed = Pipe()
        return try run(arguments, standardInput: feed) {
            try feed.fileHandleForWriting.write(contentsOf: input)
            try feed.fileHandleForWriting.close()
        }
    }

    /// Runs to the end with files or devices as standard input and output.
    static func run(_ arguments: [String], from input: String = "/dev/null", to output: String) throws -> Outcome {
        let (reading, writing) = (open(input, O_RDONLY), open(output, O_WRONLY))
        guard reading >= 0, writing >= 0 else { throw CocoaError(.fileNoSuchFile) }
        return try run(
            arguments, standardInput: FileHandle(fileDescriptor: reading, closeOnDealloc: true),
            standardOutput: FileHandle(fileDescriptor: writing, closeOnDealloc: true)
        ) {}
    }

    /// Runs to the end in a folder, with a file as standard input.
    static func run(_ arguments: [String], in folder: URL, input: URL) throws -> Outcome {
        try run(arguments, in: folder, standardInput: try FileHandle(forReadingFrom: input)) {}
    }

    private static func run(
        _ arguments: [String], in folder: URL? = nil, standardInput: Any, standardOutput: Any? = nil,
        started: () throws -> Void
    ) throws -> Outcome {
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = arguments
        if let folder { process.currentDirectoryURL = folder }
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = standardOutput ?? output
        process.standardError = errors
        process.standardInput = standardInput
        try process.run()
        try started()
        if standardOutput != nil { try output.fileHandleForWriting.close() }
        let out = output.fileHandleForReading.readDataToEndOfFile()
        let err = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(
            code: process.terminationStatus, reason: process.terminationReason,
            output: String(decoding: out, as: UTF8.self), errors: String(decoding: err, as: UTF8.self))
    }
}
