import Foundation
import Media
import TestSupport
import Testing
import WorkerProtocol

@testable import Control

/// Files of recordings, which the supervisor opens for workers.
@Suite(.timeLimit(.minutes(3))) struct RecordingFileTests {
    @Test func aWorkerGetsFiles() async throws {
        let folder = try Folder()
        let bench = try SupervisorBench(["record-1"], settings: ["record": folder.path + "/{stream}/%Y/%H%M%S.ts"])
        await bench.supervisor.start()
        let first = await bench.event(.recording, of: "record-1") { $0.text.hasPrefix("wrote /") }
        let second = await bench.event(.recording, of: "record-1", after: first.number) { $0.text.hasPrefix("wrote /") }
        for (number, event) in [first, second].enumerated() {
            let path = String(event.text.dropFirst("wrote ".count))
            #expect(path.hasPrefix(folder.path + "/record-1/") && path.hasSuffix(".ts"))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "recording \(number + 1)")
        }
        #expect(first.text != second.text)
        await bench.supervisor.end()
    }

    @Test func aStreamThatRecordsNothingGetsNone() async throws {
        let bench = try SupervisorBench(["record-1"])
        await bench.supervisor.start()
        let event = await bench.event(.recording, of: "record-1")
        #expect(event.text == "nothing is to be recorded")
        await bench.supervisor.end()
    }

    /// The API may name folders that the configuration allows, and links lead nowhere else.
    @Test func theAPINamesAllowedFolders() async throws {
        let (allowed, other) = (try Folder(), try Folder())
        let bench = try SupervisorBench([])
        bench.write(text: "files:\n  folders: [\(allowed.path)]\nstreams: {}\n")
        let supervisor = bench.supervisor
        await supervisor.start()
        try await supervisor.reload()
        let ends = ["input": "srt://127.0.0.1:0?mode=listener", "output": "srt://127.0.0.1:0?mode=listener"]
        await #expect {
            try await supervisor.add("record-1", ends.merging(["record": other.path + "/%H%M%S.ts"]) { $1 })
        } throws: {
            ($0 as? ServiceFault)?.key == "record"
        }
        try FileManager.default.createSymbolicLink(atPath: allowed.path + "/out", withDestinationPath: other.path)
        _ = try await supervisor.add("record-1", ends.merging(["record": allowed.path + "/out/%H%M%S.ts"]) { $1 })
        let event = await bench.event(.recording, of: "record-1")
        #expect(event.text.contains("is not below one of the configuration's files.folders"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: other.path).isEmpty)
        await supervisor.end()
    }
}
