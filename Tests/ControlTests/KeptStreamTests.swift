import Foundation
import ServiceConfiguration
import Testing

@testable import Control

/// Streams of the API that survive the service.
@Suite(.timeLimit(.minutes(10))) struct KeptStreamTests {
    private static let secret = "correct-horse-battery"

    private func ends(_ port: Int) -> [String: String] {
        ["input": "srt://127.0.0.1:\(port)?mode=listener", "output": "udp://127.0.0.1:\(port + 2)"]
    }

    /// A service that finds what an earlier one left.
    private func bench(_ streams: [String], state: String) throws -> SupervisorBench {
        try SupervisorBench(streams) { $0.stateDirectory = state }
    }

    @Test func aStreamOfTheInterfaceSurvivesWithItsSecretsAndChanges() async throws {
        let folder = try Folder()
        let state = folder.path + "/state"
        var first = try bench(["a"], state: state)
        await first.supervisor.start()
        var values = ends(18300)
        values["passphrase"] = Self.secret
        values["sharpness"] = "0.5"
        let added = try await first.supervisor.add("x", values)
        let path = state + "/streams.json"
        #expect(added.kept == path && !added.isFromFile)
        #expect(!"\(added)".contains(Self.secret))
        let mode = try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: state).sorted() == ["streams.json"])
        await #expect(throws: ServiceFault(.exists, "there is a stream of this name already: change or remove it")) {
            _ = try await first.supervisor.add("x", values)
        }
        _ = try await first.supervisor.change("x", ["budget": "100ms", "sharpness": nil], restarting: false)
        _ = try await first.supervisor.change("x", ["scale": "1"], restarting: true)
        // What the interface changes of the file's own streams does not survive.
        #expect(try await first.supervisor.change("a", ["sharpness": "0.5"], restarting: false).isFromFile)
        _ = try await first.supervisor.add("y", ends(18310))
        _ = try await first.supervisor.add("z", ends(18320))
        #expect(try await first.supervisor.stop("z").state == .stopped)
        try await first.supervisor.remove("y")
        await first.supervisor.end()

        first = try bench(["a"], state: state)
        let supervisor = first.supervisor
        await supervisor.start()
        #expect(await supervisor.streams().map(\.name) == ["a", "x", "z"])
        let again = try await supervisor.stream("x")
        #expect(again.settings["budget"] == "100ms" && again.settings["scale"] == "1" && again.settings["sharpness"] == "0.125")
        #expect(again.kept == path && again.ends.first?.hasPassphrase == true)
        #expect(try await supervisor.stream("a").settings["sharpness"] == "0.125")
        #expect(try await supervisor.stream("z").state == .stopped)
        #expect(await supervisor.health().checks.first { $0.name == "stream z" }?.isGood == true)
        try await supervisor.restart("z")
        #expect(try await supervisor.stream("z").state != .stopped)
        await supervisor.end()
    }

    @Test func aStreamOfTheFileWins() async throws {
        let folder = try Folder()
        let state = folder.path + "/state"
        let first = try bench([], state: state)
        await first.supervisor.start()
        _ = try await first.supervisor.add("a", ends(18330))
        // The file names it while it runs.
        first.write(["a"])
        try await first.supervisor.reload()
        let taken = try await first.supervisor.stream("a")
        #expect(taken.isFromFile && taken.kept == nil && taken.outputs != ["udp://127.0.0.1:18332"])
        _ = try await first.supervisor.add("b", ends(18340))
        await first.supervisor.end()

        let second = try bench(["a"], state: state)
        await second.supervisor.start()
        #expect(await second.supervisor.streams().map(\.name) == ["a", "b"])
        #expect(try await second.supervisor.stream("a").isFromFile)
        await second.supervisor.end()

        // Without the file's, the kept one is there again.
        let third = try bench([], state: state)
        await third.supervisor.start()
        #expect(await third.supervisor.streams().map(\.name) == ["a", "b"])
        #expect(try await third.supervisor.stream("a").outputs == ["udp://127.0.0.1:18332"])
        await third.supervisor.end()
    }

    @Test(arguments: ["", "{\"burnish\": \"streams 1\", \"streams\": [{\"na", "{\"streams\": []}", "large"])
    func aFileThatCannotBeUsedIsSetAsideAndNotLost(content: String) async throws {
        let folder = try Folder()
        let state = folder.path + "/state"
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        let bytes = content == "large" ? Data(count: 10 << 20) : Data(content.utf8)
        let path = state + "/streams.json"
        #expect(FileManager.default.createFile(atPath: path, contents: bytes))
        let bench = try bench(["a"], state: state)
        await bench.supervisor.start()
        #expect(await bench.supervisor.streams().map(\.name) == ["a"])
        #expect(FileManager.default.contents(atPath: path) == bytes)
        #expect(try await bench.supervisor.add("x", ends(18350)).kept == path)
        #expect(FileManager.default.contents(atPath: path + ".unusable-1") == bytes)
        await bench.supervisor.end()
    }

    /// What the interface refuses, a file in the state directory does not bring in.
    @Test func aNameThatLeadsElsewhereIsNoStream() async throws {
        let folder = try Folder()
        let state = folder.path + "/state"
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        let kept = [("../x", 18380), ("y", 18384)].map { name, port in
            #"{"name": "\#(name)", "input": {"url": "udp://127.0.0.1:\#(port)"}, "outputs": [{"url": "udp://127.0.0.1:\#(port + 2)"}], "#
                + #""settings": {}, "isStopped": false}"#
        }
        let text = #"{"burnish": "streams 1", "streams": [\#(kept.joined(separator: ", "))]}"#
        #expect(FileManager.default.createFile(atPath: state + "/streams.json", contents: Data(text.utf8)))
        let bench = try bench(["a"], state: state)
        await bench.supervisor.start()
        #expect(await bench.supervisor.streams().map(\.name) == ["a", "y"])
        for name in ["../x", "..", "/x", "x/../y", ""] {
            await #expect(throws: ServiceFault.self, "\(name)") { _ = try await bench.supervisor.add(name, ends(18390)) }
        }
        #expect(await bench.supervisor.streams().map(\.name) == ["a", "y"])
        await bench.supervisor.end()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["state"])
    }

    /// A form that is sent twice: one request makes the stream, the others are told that it is there.
    @Test func requestsAtOnceMakeOneStream() async throws {
        let folder = try Folder()
        let bench = try bench(["a"], state: folder.path + "/state")
        let supervisor = bench.supervisor
        await supervisor.start()
        let values = ends(18400)
        let outcomes = await withTaskGroup(of: ServiceFault.Kind?.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    do throws(ServiceFault) {
                        _ = try await supervisor.add("x", values)
                        return nil
                    } catch {
                        return error.kind
                    }
                }
            }
            return await group.reduce(into: [ServiceFault.Kind?]()) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == nil } == 1 && outcomes.count { $0 == .exists } == 7)
        #expect(await supervisor.streams().map(\.name) == ["a", "x"])
        await supervisor.end()
    }

    @Test func withoutAStateDirectoryNothingIsKept() async throws {
        let bench = try SupervisorBench([]) { $0.stateDirectory = nil }
        await bench.supervisor.start()
        #expect(try await bench.supervisor.add("x", ends(18360)).kept == nil)
        await bench.supervisor.end()
    }

    @Test func aStateDirectoryThatCannotBeWrittenKeepsNothing() async throws {
        let folder = try Folder()
        // A file stands where the folder should be.
        let state = folder.path + "/state"
        #expect(FileManager.default.createFile(atPath: state, contents: nil))
        let bench = try bench([], state: state)
        await bench.supervisor.start()
        #expect(try await bench.supervisor.add("x", ends(18370)).kept == nil)
        #expect(await bench.supervisor.streams().map(\.name) == ["x"])
        await bench.supervisor.end()
    }
}
