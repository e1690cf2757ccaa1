import Foundation

/// Runs a program found on the path and returns its exit status and output. For tests that check our streams with other
/// people's programs (`tools/test` installs them).
public func runTool(_ arguments: [String], input: URL? = nil) throws -> (status: Int32, output: String, errors: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    let folder = try TemporaryFolder()
    let (out, err) = (folder.file("out"), folder.file("err"))
    for url in [out, err] { _ = FileManager.default.createFile(atPath: url.path, contents: nil) }
    process.standardOutput = try FileHandle(forWritingTo: out)
    process.standardError = try FileHandle(forWritingTo: err)
    process.standardInput = try input.map { try FileHandle(forReadingFrom: $0) } ?? FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return (
        process.terminationStatus, try String(contentsOf: out, encoding: .utf8),
        try String(contentsOf: err, encoding: .utf8)
    )
}

/// A folder that goes away with the value.
public final class TemporaryFolder {
    public let url: URL

    public init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("burnish-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    public func file(_ name: String) -> URL { url.appendingPathComponent(name) }
}
