import Foundation
import Media
import Telemetry
import Testing

/// `burnish relay --telemetry`, `burnish top` and `burnish records`.
@Suite(.timeLimit(.minutes(10))) struct TelemetryCommandTests {
    private static let stream = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "GoldenStreams/ffmpeg.ts").path
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func path(_ name: String) -> String { folder.appending(path: name).path }
    private func removeFolder() { try? FileManager.default.removeItem(at: folder) }

    private func relayArguments(_ map: String) -> [String] {
        ["relay", "--input", Self.stream, "--output", path("out.ts"), "--budget", "60s", "--quiet", "--telemetry", map]
    }

    @Test func recordsAndFiguresAreReadFromTheFile() throws {
        defer { removeFolder() }
        let map = path("map")
        #expect(try Program.run(relayArguments(map)).code == 0)
        let originals = try TelemetryMap.Reader(path: map).snapshot().books.originals
        let table = try Program.run(["records", map])
        let lines = table.output.split(separator: "\n")
        #expect(table.code == 0 && UInt64(lines.count) == originals + 1 && originals > 0)
        #expect(lines.allSatisfy { $0.split(separator: ",", omittingEmptySubsequences: false).count == 32 })
        let trace = try Program.run(["records", map, "--format", "perfetto", "--output", path("trace")])
        #expect(trace.code == 0 && trace.errors.isEmpty)
        #expect(try Data(contentsOf: folder.appending(path: "trace")).starts(with: [0x0A]))
        #expect(try Program.run(["records", map, "--output", map]).code == 64)

        let text = try Program.run(["top", map, "--once", "--interval", "50ms"])
        #expect(text.code == 0 && text.output.contains("books ") && !text.output.contains("\u{1B}"))
        let json = try Program.run(["top", map, "--json", "--interval", "50ms"])
        let figures = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        #expect(json.code == 0 && figures["books_balance"] as? Bool == true && figures["faults"] as? Int == 0)
        #expect((figures["stages"] as? [Any])?.count == 9)
    }

    /// The books and records outlive a relay that is killed.
    @Test func aKilledRelayLeavesItsBooks() throws {
        defer { removeFolder() }
        let map = path("map")
        let relay = try Program(relayArguments(map))
        var reader: TelemetryMap.Reader?
        while reader.map({ $0.snapshot().books.emitted < 3 }) ?? true {
            if reader == nil { reader = try? TelemetryMap.Reader(path: map) }
            (MonotonicTime.now() + .milliseconds(2)).sleep()
        }
        #expect(relay.end(with: SIGKILL).reason == .uncaughtSignal)
        let found = try #require(reader).snapshot()
        #expect(found.faults == 0 && found.books.emitted >= 3)
        let file = try FileHandle(forUpdating: URL(filePath: map))
        _ = try TelemetryMap.Writer(file.fileDescriptor)
        let after = try #require(reader).snapshot()
        #expect(after.books.balance && after.books.inFlight == 0 && after.output.balance && after.output.queued == 0)
        #expect(after.books.emitted == found.books.emitted && after.books.originals == found.books.originals)
        let (frames, torn) = try #require(reader).records()
        #expect(UInt64(frames.count) == found.recordsWritten && torn <= 1)
    }

    @Test func whatCannotBeReadIsSaidInOneLine() throws {
        defer { removeFolder() }
        try Data("a letter".utf8).write(to: folder.appending(path: "letter"))
        for (arguments, code) in [
            (["top", path("letter"), "--once"], 65), (["records", path("letter")], 65), (["records", path("none")], 69),
            (["top", "--stream", "no-such-stream-\(UUID().uuidString)", "--once"], 69), (["top", "--stream", "a/b"], 64),
            (["records", path("letter"), "--stream", "a"], 64), (["top", path("letter"), "--interval", "1ms"], 64),
            (relayArguments(path("letter")), 64), (relayArguments(path("none/map")), 69),
        ] as [([String], Int32)] {
            let outcome = try Program.run(arguments)
            #expect(outcome.code == code, "\(arguments): \(outcome.errors)")
            #expect(code == 64 && outcome.complaints.isEmpty || outcome.complaints.count == 1, "\(outcome.errors)")
        }
        #expect(try String(contentsOfFile: path("letter"), encoding: .utf8) == "a letter")
    }
}
