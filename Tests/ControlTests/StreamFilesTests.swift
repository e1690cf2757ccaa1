import Foundation
import ServiceConfiguration
import Testing
import WorkerProtocol

@testable import Control

@Suite struct StreamFilesTests {
    private func definition(input: String, output: String = "udp://127.0.0.1:9") throws -> StreamDefinition {
        StreamDefinition(name: "a", input: try StreamLeg(input), outputs: [try StreamLeg(output)])
    }

    private func target(_ number: Int32) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
    }

    @Test func theInputComesFirstAndAnOutputIsAppendedTo() throws {
        let folder = try Folder()
        try Data("in".utf8).write(to: folder.file("in.ts"))
        try Data("old".utf8).write(to: folder.file("out.ts"))
        let both = try definition(input: folder.path + "/in.ts", output: folder.path + "/out.ts")
        let files = try StreamFiles.open(of: both, configured: both, below: [])
        #expect(try files.map { try target($0.number) } == [folder.path + "/in.ts", folder.path + "/out.ts"])
        #expect(write(files[1].number, "new", 3) == 3)
        #expect(try String(contentsOf: folder.file("out.ts"), encoding: .utf8) == "oldnew")
        #expect(try StreamFiles.open(of: definition(input: "srt://127.0.0.1:9"), configured: nil, below: []).isEmpty)
    }

    /// The worker waits for the reader, and the other outputs need not.
    @Test func aPipeThatNobodyReadsIsOpened() throws {
        let folder = try Folder()
        #expect(mkfifo(folder.path + "/out", 0o600) == 0)
        let stream = try definition(input: "srt://127.0.0.1:9", output: folder.path + "/out")
        let files = try StreamFiles.open(of: stream, configured: stream, below: [])
        #expect(try files.map { try target($0.number) } == [folder.path + "/out"])
    }

    @Test func theFaultNamesTheFile() throws {
        let missing = try definition(input: "/nowhere/in.ts")
        do {
            _ = try StreamFiles.open(of: missing, configured: missing, below: [])
            Issue.record("a file that is not there was opened")
        } catch {
            #expect(error.description == "/nowhere/in.ts: No such file or directory")
        }
    }

    /// Every way out of the folder that a path or a link could be.
    @Test func nothingLeadsOutOfTheFolders() throws {
        let (folder, outside) = (try Folder(), try Folder())
        let files = FileManager.default
        try files.createDirectory(atPath: folder.path + "/sub", withIntermediateDirectories: false)
        try Data("x".utf8).write(to: folder.file("sub/in.ts"))
        try Data("secret".utf8).write(to: outside.file("secret.ts"))
        try files.createSymbolicLink(atPath: folder.path + "/link.ts", withDestinationPath: outside.path + "/secret.ts")
        try files.createSymbolicLink(atPath: folder.path + "/way", withDestinationPath: outside.path)
        try files.createSymbolicLink(atPath: outside.path + "/back", withDestinationPath: folder.path)
        func open(_ path: String) throws {
            _ = try StreamFiles.open(
                of: definition(input: path), configured: nil, below: [folder.path])
        }
        try open(folder.path + "/sub/in.ts")
        // A link that leads back inside is not outside.
        try open(outside.path + "/back/sub/in.ts")
        for path in [
            "/link.ts", "/way/secret.ts", "/sub/../../\(outside.path.split(separator: "/").last!)/secret.ts", "-other/x.ts",
        ] {
            #expect(throws: StreamFiles.Fault.self, "\(path)") { try open(folder.path + path) }
        }
        let output = try definition(input: "udp://127.0.0.1:9", output: folder.path + "/way/new.ts")
        #expect(throws: StreamFiles.Fault.self) { _ = try StreamFiles.open(of: output, configured: nil, below: [folder.path]) }
        #expect(!files.fileExists(atPath: outside.path + "/new.ts"), "a refused output must not be made")
        #expect(throws: StreamFiles.Fault.self) {
            _ = try StreamFiles.open(
                of: definition(input: folder.path + "/sub/in.ts"), configured: nil, below: [])
        }
    }

    /// The API changes one leg of a stream of the configuration: the other may stay where the configuration put it.
    @Test func eachLegIsJudgedByItself() throws {
        let (folder, outside) = (try Folder(), try Folder())
        try Data("x".utf8).write(to: outside.file("in.ts"))
        let configured = try definition(input: outside.path + "/in.ts")
        let changed = try definition(input: outside.path + "/in.ts", output: folder.path + "/out.ts")
        #expect(try StreamFiles.open(of: changed, configured: configured, below: [folder.path]).count == 2)
        let other = try definition(input: outside.path + "/other.ts", output: folder.path + "/out.ts")
        #expect(throws: StreamFiles.Fault.self) {
            _ = try StreamFiles.open(of: other, configured: configured, below: [folder.path])
        }
        // A configured input is no permission to write there.
        let output = try definition(input: outside.path + "/in.ts", output: outside.path + "/in.ts")
        #expect(throws: StreamFiles.Fault.self) {
            _ = try StreamFiles.open(of: output, configured: configured, below: [folder.path])
        }
    }
}
