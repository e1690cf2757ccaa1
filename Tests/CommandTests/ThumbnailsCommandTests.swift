import Foundation
import Testing

/// What `burnish thumbnails` takes and says.
@Suite struct ThumbnailsCommandTests {
    @Test func picturesAreWrittenAndNamed() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let bad = folder.appending(path: "bad.ts")
        try Data("nonsense".utf8).write(to: bad)
        let posters = folder.appending(path: "posters")
        // A file that fails does not stop the others, and decides the exit code.
        let outcome = try Program.run([
            "thumbnails", "--input", bad.path, CommandTests.stream, "--output-directory", posters.path, "--count", "2",
            "--json",
        ])
        #expect(outcome.reason == .exit && outcome.code == 65, "\(outcome.errors)")
        #expect(outcome.complaints.count == 1 && outcome.errors.contains("bad.ts"))
        let list = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [[String: Any]])
        #expect(list.count == 2)
        for chosen in list {
            #expect(FileManager.default.fileExists(atPath: try #require(chosen["output"] as? String)))
            #expect(chosen["score"] is Double && chosen["time"] is Double && chosen["merit"] is [String: Any])
        }
    }

    @Test(arguments: [["--count", "0"], ["--width", "8"], ["--candidates", "0"]])
    func wrongValuesAreRefused(arguments: [String]) throws {
        let outcome = try Program.run(
            ["thumbnails", "--input", CommandTests.stream, "--output-directory", "/nowhere"] + arguments)
        #expect(outcome.reason == .exit && outcome.code == 64, "\(outcome.errors)")
    }
}
