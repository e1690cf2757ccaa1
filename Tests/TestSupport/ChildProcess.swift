import Foundation

/// Runs a program to its end.
public func run(_ program: String, _ arguments: [String], _ environment: [String: String] = [:]) throws
    -> (status: Int32, output: String)
{
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
}

/// Runs one suite of this test program in a process of its own.
public func runChild(_ suite: String, _ environment: [String: String]) throws -> (status: Int32, output: String) {
    try run(CommandLine.arguments[0], ["--testing-library", "swift-testing", "--filter", suite], environment)
}

/// Begins one suite of this test program in a process of its own. The caller ends it.
public func startChild(_ suite: String, _ environment: [String: String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = ["--testing-library", "swift-testing", "--filter", suite]
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
}
