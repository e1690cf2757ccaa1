import Foundation
import Testing

/// The map in docs/architecture.md, as a test: the page and the code agree, dependencies point down only, each C module
/// has one importer, and what is raw stays where it may be.
@Suite struct ArchitectureTests {
    /// What each module may import of ours, from the top of the map to its bottom.
    static let allowed: [String: Set<String>] = [
        "burnish": ["Measure", "Relay", "Transport", "Codec", "Schedule", "Enhance", "Kernels", "Media"],
        "Relay": ["Transport", "Codec", "Schedule", "Enhance", "Telemetry", "Media"],
        "Measure": ["Transport", "Codec", "Media"],
        "Enhance": ["Kernels", "Media"],
        "Schedule": ["Media"],
        "Transport": ["CSRT", "CSRTArrival", "Media"],
        "Codec": ["CFFmpeg", "Media"],
        "Telemetry": ["Media"],
        "Kernels": ["CKernels", "Media"],
        "Media": [],
    ]

    static let cModules: Set<String> = ["CSRT", "CSRTArrival", "CFFmpeg", "CKernels"]

    static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    static let sources = root.appending(path: "Sources")

    static func swiftFiles(of module: String) throws -> [URL] {
        let folder = sources.appending(path: module)
        let paths = try #require(FileManager.default.enumerator(atPath: folder.path))
        return paths.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }
            .map { folder.appending(path: $0) }
    }

    static func imports(of file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard let at = words.firstIndex(of: "import"), words[..<at].allSatisfy({ Self.mayPrecede($0) }),
                at + 1 < words.count
            else { return nil }
            return String(words[at + 1])
        }
    }

    /// Attributes and access levels may stand before `import`.
    static func mayPrecede(_ word: Substring) -> Bool {
        word.hasPrefix("@") || ["public", "internal", "private", "fileprivate", "package"].contains(word)
    }

    @Test(arguments: allowed.keys.sorted()) func importsPointDown(module: String) throws {
        let ours = Self.cModules.union(Self.allowed.keys)
        let files = try Self.swiftFiles(of: module)
        #expect(!files.isEmpty)
        for file in files {
            let bad = try Self.imports(of: file).filter { ours.contains($0) && !Self.allowed[module]!.contains($0) }
            #expect(bad.isEmpty, "\(module)/\(file.lastPathComponent) imports \(bad)")
        }
    }

    @Test func everyModuleIsOnTheMap() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.sources.path)
        #expect(Set(folders) == Self.cModules.union(Self.allowed.keys))
    }

    /// The schedule decides from numbers that it is given: no clock, no input or output.
    @Test func theScheduleReadsNoClock() throws {
        for file in try Self.swiftFiles(of: "Schedule") {
            let text = try String(contentsOf: file, encoding: .utf8)
            for word in ["import Foundation", "import Glibc", "import Dispatch", ".now()", "ContinuousClock"] {
                #expect(!text.contains(word), "\(file.lastPathComponent) contains \(word)")
            }
        }
    }

    /// The page's table has a row for every module, with what the tests above let it import.
    @Test func thePageSaysTheSame() throws {
        let page = try String(contentsOf: Self.root.appending(path: "docs/architecture.md"), encoding: .utf8)
        var listed: [String: Set<String>] = [:]
        for line in page.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3 else { continue }
            // Names stand between backticks; a row may be for more than one.
            let names = cells[0].split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }.map { String($0.element) }
            let imports = cells[2] == "–" ? [] : cells[2].components(separatedBy: ", ")
            for name in names where Self.allowed[name] != nil || Self.cModules.contains(name) {
                listed[name] = Set(imports)
            }
        }
        // The executable wires all the others.
        let executable = listed.removeValue(forKey: "burnish")
        #expect(executable == ["all it wires"])
        var expected = Self.allowed
        expected["burnish"] = nil
        for module in Self.cModules { expected[module] = [] }
        #expect(listed == expected)
    }

    @Test(arguments: cModules.sorted()) func aCModuleHasOneImporter(module: String) throws {
        let importers = try Self.allowed.keys.filter { importer in
            try Self.swiftFiles(of: importer).contains { try Self.imports(of: $0).contains(module) }
        }
        #expect(importers.count == 1, "\(module) is imported by \(importers.sorted())")
    }

    /// The modules that the compiler does not check with `strictMemorySafety` have no raw memory to check.
    @Test(arguments: ["Schedule", "burnish"]) func nothingIsUnsafe(module: String) throws {
        for file in try Self.swiftFiles(of: module) {
            let text = try String(contentsOf: file, encoding: .utf8)
            for word in ["unsafe", "Unsafe"] {
                #expect(!text.contains(word), "\(module)/\(file.lastPathComponent) contains \(word)")
            }
        }
    }

    /// Stages return facts: of what a stream is made of, only the relay writes telemetry.
    @Test func onlyTheRelayWritesTelemetry() throws {
        for module in Self.allowed.keys where !["Relay", "Telemetry"].contains(module) {
            for file in try Self.swiftFiles(of: module) {
                let imports = try Self.imports(of: file)
                #expect(!imports.contains("Telemetry"), "\(module)/\(file.lastPathComponent) imports Telemetry")
            }
        }
    }
}
