import Foundation
import Media
import Testing

@testable import Settings

/// The names of recordings, and what is deleted of them.
@Suite struct RecordSettingTests {
    private let text = "/srv/{stream}/%Y-%m-%d/%H%M%S.ts"

    private static func folder() throws -> String {
        let path = NSTemporaryDirectory() + "burnish-record-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    @Test func namesAreOfTheLocalTime() throws {
        let pattern = try RecordPattern("/srv/{stream}/%Y-%m-%d/%H%M%S-%j-%s-100%%.mp4")
        let time: Int64 = 1_700_000_000
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "'/srv/cam1/'yyyy-MM-dd'/'HHmmss-DDD"
        let expected = format.string(from: Date(timeIntervalSince1970: Double(time))) + "-\(time)-100%"
        #expect(pattern.path(stream: "cam1", time: time) == expected + ".mp4")
        #expect(pattern.path(stream: "cam1", time: time, copy: 2) == expected + "-2.mp4")
        #expect(pattern.container == .mp4 && pattern.depth == 1 && pattern.root(stream: "cam1") == "/srv/cam1")
    }

    @Test(arguments: [
        ("srv/%H.ts", "absolute path"), ("/srv/%H.mkv", ".ts or .mp4"), ("/srv/cam.ts", "needs the time"),
        ("/srv/../%H.ts", "plainly"), ("/srv/../\u{301}x/%H.ts", "plainly"),
        ("/srv//%H.ts", "plainly"), ("/srv/%q.ts", "knows %Y"), ("/srv/%", ".ts or .mp4"),
        ("/srv/{name}/%H.ts", "knows {stream}"), ("/srv/}%H.ts", "too many"), ("/srv/%s%s.ts", "at most once"),
        ("/%H/.ts", "no name"),
        ("/srv/%H\u{1b}.ts", "control"), ("/" + String(repeating: "a", count: 2000) + "%H.ts", "absolute path"),
    ])
    func badPatternsAreRefused(text: String, reason: String) {
        #expect { try RecordPattern(text) } throws: { ($0 as? RecordPattern.Fault)?.text.contains(reason) == true }
        #expect { try StreamValues(["record": text]) } throws: { ($0 as? SettingFault)?.text.contains(reason) == true }
    }

    @Test func settingsAreReadAndWritten() throws {
        let texts = [
            "record": text, "record-every": "90m", "record-size": "2GB", "record-keep": "7d", "record-keep-size": "1TB",
        ]
        let values = try StreamValues(texts)
        #expect(values.texts == texts)
        #expect(values.settings.record.every == .seconds(5400) && values.settings.record.size == 2_000_000_000)
        #expect(values.settings.record.keep == .seconds(604_800) && values.settings.record.keepSize == 1_000_000_000_000)
        #expect(try values.applying(["record": nil]).settings.record.pattern == nil)
        #expect(StreamValues().difference(to: values).restart.isEmpty)
        for (key, value) in [
            ("record-every", "0s"), ("record-size", "1kB"), ("record-keep", "1s"), ("record-keep", "-1d"),
            ("record-size", "nanMB"),
            ("record-keep", "infd"),
        ] {
            #expect(throws: SettingFault.self) { try StreamValues([key: value]) }
        }
    }

    @Test func onlyNamesOfThePatternMatch() throws {
        let pattern = try RecordPattern("/srv/{stream}/%Y/x%m/{stream}-%H%M%S.ts")
        #expect(pattern.depth == 2)
        let names: [(String, Int, Bool)] = [
            ("2026", 0, true), ("226", 0, false), ("20261", 0, false), ("x11", 1, true), ("11", 1, false),
            ("cam-120000.ts", 2, true), ("cam-120000-2.ts", 2, true), ("cam-120000-99.ts", 2, true),
            ("cam-120000-1.ts", 2, false),
            ("cam-120000-100.ts", 2, false), ("cam-12000.ts", 2, false), ("other-120000.ts", 2, false),
            ("cam-120000.mp4", 2, false),
            ("cam-120000.ts.part", 2, false), ("cam-120000-2.ts", 1, false), ("2026", 3, false), ("2026", -1, false),
        ]
        for (name, level, expected) in names {
            #expect(pattern.matches(name, level: level, stream: "cam") == expected, "\(name) at \(level)")
        }
    }

    private func settings(_ root: String, keep: Double? = nil, keepSize: Int64? = nil) throws -> RecordSettings {
        var settings = RecordSettings()
        settings.pattern = try RecordPattern(root + "/{stream}/%Y-%m-%d/%H%M%S.ts")
        settings.keep = keep.map { .seconds($0) }
        settings.keepSize = keepSize
        return settings
    }

    @Test func filesAreMadeWithTheirFolders() throws {
        let root = try Self.folder()
        defer { try? FileManager.default.removeItem(atPath: root) }
        let files = RecordFiles(try settings(root), stream: "cam", leastRoom: 0)
        let first = try files.open(now: 1_700_000_000)
        let second = try files.open(now: 1_700_000_000)
        #expect(second.path == first.path.replacing(".ts", with: "-2.ts"))
        for file in [first, second] { close(file.descriptor) }
        #expect(FileManager.default.fileExists(atPath: second.path))
        RecordFiles.removeEmpty(second.path)
        #expect(!FileManager.default.fileExists(atPath: second.path))
        #expect { try RecordFiles(try settings(root), stream: "cam", leastRoom: .max).open(now: 0) } throws: {
            "\($0)".contains("MB left: make room")
        }
        #expect(throws: RecordFiles.Fault.self) { try RecordFiles(try settings("/proc"), stream: "cam").open(now: 0) }
    }

    /// No link leads out of the folders that are allowed, neither to write nor to delete.
    @Test func linksDoNotLeadOut() throws {
        let (root, other) = (try Self.folder(), try Self.folder())
        defer { for path in [root, other] { try? FileManager.default.removeItem(atPath: path) } }
        try FileManager.default.createSymbolicLink(atPath: root + "/cam", withDestinationPath: other)
        let allowed = try #require(realpath(root, nil).map { String(cString: $0) })
        let files = RecordFiles(try settings(root, keep: 60), stream: "cam", leastRoom: 0) { $0.hasPrefix(allowed) }
        #expect { try files.open(now: 1_700_000_000) } throws: { "\($0)".contains("files.folders") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: other).isEmpty)
        try FileManager.default.createDirectory(atPath: other + "/2020-01-01", withIntermediateDirectories: true)
        try Data([1]).write(to: URL(filePath: other + "/2020-01-01/000000.ts"))
        #expect(files.tidy(now: Int64(Date().timeIntervalSince1970) + 100_000).isEmpty)
    }

    /// Of the files that the pattern names, the oldest are deleted.
    @Test func oldFilesAreDeleted() throws {
        let root = try Self.folder()
        defer { try? FileManager.default.removeItem(atPath: root) }
        let now: Int64 = 1_700_000_000
        func make(_ name: String, age: Int64, size: Int = 1000) throws -> String {
            let path = root + "/cam/" + name
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Data(count: size).write(to: URL(filePath: path))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: Double(now - age))], ofItemAtPath: path)
            return path
        }
        let others = [try make("2020-01-01/notes.txt", age: 9_000_000), try make("keep/000000.ts", age: 9_000_000)]
        let old = [try make("2020-01-01/000000.ts", age: 9_000_000), try make("2020-01-02/000000-2.ts", age: 8_000_000)]
        let young = (1...4).map { "2023-11-14/00000\($0).ts" }
        let paths = try young.enumerated().map { try make($0.element, age: 5000 - 1000 * Int64($0.offset), size: 500_000) }
        let files = RecordFiles(try settings(root, keep: 86_400), stream: "cam")
        #expect(files.tidy(now: now) == old)
        #expect((others + paths).allSatisfy { FileManager.default.fileExists(atPath: $0) })
        #expect(!FileManager.default.fileExists(atPath: root + "/cam/2020-01-02"), "its folder is empty")
        // By size, but for the one that is written.
        let small = RecordFiles(try settings(root, keepSize: 1_100_000), stream: "cam")
        #expect(small.tidy(now: now, sparing: paths[0]) == Array(paths[1...2]))
        #expect(small.tidy(now: now, sparing: paths[0]).isEmpty)
        #expect(RecordFiles(try settings(root), stream: "cam").tidy(now: now).isEmpty, "nothing is to be deleted")
        #expect(others.allSatisfy { FileManager.default.fileExists(atPath: $0) })
    }
}
