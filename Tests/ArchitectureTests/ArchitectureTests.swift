import Foundation
import Testing

/// The map in docs/architecture.md, as a test: dependencies point down only, each C module has one importer, and what
/// is raw stays where it may be.
@Suite struct ArchitectureTests {
    /// What each module may import of ours, from the top of the map to its bottom.
    static let allowed: [String: Set<String>] = [
        "burnish": [
            "Measure", "Relay", "Transport", "Codec", "Schedule", "Enhance", "Telemetry", "Kernels", "Media",
        ],
        "Relay": ["Transport", "Codec", "Schedule", "Enhance", "Telemetry", "Media"],
        "Measure": ["Transport", "Codec", "Telemetry", "Media"],
        "Enhance": ["Kernels", "Media"],
        "Schedule": ["Media"],
        "Transport": ["CSRT", "CSRTArrival", "Media"],
        "Codec": ["CFFmpeg", "Media"],
        "Telemetry": ["Media"],
        "Kernels": ["CKernels", "Media"],
        "Media": [],
    ]

    static let sources = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")

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
        let ours = Set(Self.allowed.keys).union(["CSRT", "CSRTArrival", "CFFmpeg", "CKernels"])
        let files = try Self.swiftFiles(of: module)
        #expect(!files.isEmpty)
        for file in files {
            let bad = try Self.imports(of: file).filter { ours.contains($0) && !Self.allowed[module]!.contains($0) }
            #expect(bad.isEmpty, "\(module)/\(file.lastPathComponent) imports \(bad)")
        }
    }

    @Test func everyModuleIsOnTheMap() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.sources.path)
        let known = Set(Self.allowed.keys).union(["CSRT", "CSRTArrival", "CFFmpeg", "CKernels"])
        #expect(Set(folders).subtracting(known).isEmpty)
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

    /// Only the relay (and the instruments that stand outside of it) writes telemetry.
    @Test func stagesReturnFacts() {
        for module in ["Transport", "Codec", "Enhance", "Schedule", "Kernels"] {
            #expect(Self.allowed[module]!.contains("Telemetry") == false)
        }
    }
}
