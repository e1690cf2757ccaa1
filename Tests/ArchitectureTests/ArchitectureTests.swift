import Foundation
import Testing

/// The map in docs/design/architecture.md, as a test: the page and the code agree, dependencies point down only, each C module
/// has one importer, and raw memory stays where it is allowed.
@Suite struct ArchitectureTests {
    /// The modules of ours that each module may import, from the top of the map to its bottom.
    static let allowed: [String: Set<String>] = [
        "burnishd": ["Web", "Control", "ServiceConfiguration", "Telemetry", "Media"],
        "Web": [
            "Control", "QRCodes", "RoomLinks", "ServiceConfiguration", "WorkerProtocol", "Settings", "Endpoint", "Telemetry",
            "Schedule",
            "Media",
        ],
        "QRCodes": ["CQREncode"],
        "RoomLinks": ["CHMAC"],
        "ServiceConfiguration": ["Settings", "Endpoint"],
        "Control": [
            "CProcess", "RoomLinks", "ServiceConfiguration", "WorkerProtocol", "Settings", "Packets", "Endpoint", "Telemetry",
            "Machine",
            "Schedule",
            "Media",
        ],
        "Worker": [
            "Relay", "WorkerProtocol", "Settings", "WebRTC", "Transport", "SRT", "Packets", "Endpoint", "Overlays", "Codec",
            "Schedule", "Telemetry",
            "CSandbox",
            "Media",
        ],
        "WorkerProtocol": ["Media"],
        "burnish": [
            "Bench", "Measure", "Worker", "WorkerProtocol", "Settings", "Relay", "Offline", "Simulation", "Transport",
            "Packets",
            "Endpoint", "Container", "Bitstream", "Overlays", "Codec", "Schedule",
            "EnhanceNetworks", "Enhance", "Telemetry", "KernelChecks", "Kernels", "Media",
        ],
        "Relay": [
            "Settings", "Transport", "SRT", "Packets", "Endpoint", "Container", "Bitstream", "Codec", "Machine", "Schedule",
            "EnhanceNetworks", "Enhance", "Telemetry",
            "Media",
        ],
        "Offline": ["Codec", "EnhanceNetworks", "Enhance", "Telemetry", "Media"],
        "Simulation": ["Schedule", "Telemetry", "Media"],
        "Measure": ["Transport", "Packets", "Endpoint", "Container", "Bitstream", "Codec", "Media"],
        "Bench": ["EnhanceNetworks", "Enhance", "Simulation", "Telemetry", "Schedule", "KernelChecks", "Kernels", "Media"],
        "KernelChecks": ["Kernels", "CKernels", "CKernelChecks", "Media"],
        "EnhanceNetworks": ["Enhance", "CWeights"],
        "Enhance": ["Kernels", "Media"],
        "Settings": ["Schedule", "Media"],
        "Machine": ["CAffinity", "Schedule", "Media"],
        "Schedule": ["Media"],
        "Transport": ["SRT", "Packets", "Endpoint", "Media"],
        "SRT": ["Packets", "Endpoint", "CSRT", "CSRTArrival", "Media"],
        "Packets": ["Endpoint", "Media"],
        "WebRTC": ["Packets", "Endpoint", "CDTLS", "CSRTP", "Media"],
        "Endpoint": ["Media"],
        "Container": ["Bitstream", "Media"],
        "Overlays": ["Codec", "Bitstream", "CFont", "Media"],
        "Codec": ["CFFmpeg", "Kernels", "Bitstream", "Media"],
        "Bitstream": ["Media"],
        "Telemetry": ["Schedule", "Media"],
        "Kernels": ["CKernels", "Media"],
        "Media": [],
    ]

    static let cModules: Set<String> = [
        "CSRT", "CSRTArrival", "CDTLS", "CSRTP", "CProcess", "CFFmpeg", "CKernels", "CKernelChecks", "CSandbox", "CWeights",
        "CQREncode", "CFont", "CHMAC", "CAffinity",
    ]

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
        imports(in: try String(contentsOf: file, encoding: .utf8))
    }

    /// The modules that a source file names in its imports: whole ones, parts of them, and single declarations.
    static func imports(in text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            var words = line.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == ";" })[...]
            guard let at = words.firstIndex(of: "import"), words[..<at].allSatisfy({ Self.mayPrecede($0) }) else {
                return nil
            }
            words = words[(at + 1)...]
            if let kind = words.first, kinds.contains(kind) { words.removeFirst() }
            return words.first.map { String($0.prefix { $0 != "." }) }
        }
    }

    /// The word before the name in the import of a single declaration.
    private static let kinds: Set<Substring> = ["typealias", "struct", "class", "enum", "protocol", "let", "var", "func"]

    /// Attributes and access levels may stand before `import`.
    static func mayPrecede(_ word: Substring) -> Bool {
        word.hasPrefix("@") || ["public", "internal", "private", "fileprivate", "package"].contains(word)
    }

    @Test func everyWayToImportIsSeen() {
        let text = """
            import Media
            @testable import Codec
            private import struct Telemetry.Ledger
            @_spi(Tests) public import func Relay.relay
            import enum Schedule.Tier // a comment
            import class Foundation.Process; import Nothing
            // import Kernels
            let text = "import Enhance"
            """
        #expect(Self.imports(in: text) == ["Media", "Codec", "Telemetry", "Relay", "Schedule", "Foundation"])
    }

    /// Swift packages with unsafe flags in a target that a product needs cannot be depended on by version.
    @Test func theEnhanceLibraryNeedsNoUnsafeFlags() throws {
        let manifest = try String(contentsOf: Self.root.appending(path: "Package.swift"), encoding: .utf8)
        // Settings that have such flags by name, and those made of them.
        let settings = manifest.components(separatedBy: "\n\n").compactMap { part in
            part.firstMatch(of: /let (\w+): \[/).map { (part, $0.1) }
        }
        var unsafe: Set<String> = ["unsafeFlags"]
        func isUnsafe(_ text: some StringProtocol) -> Bool { unsafe.contains { text.contains($0) } }
        for _ in settings { for each in settings where isUnsafe(each.0) { unsafe.insert(String(each.1)) } }
        #expect(settings.count == 5 && unsafe.count == 2)
        func target(_ name: String) throws -> Substring {
            let start = try #require(
                manifest.matches(of: /\.(?:target|systemLibrary)\(\s*name: "(\w+)"/).first { $0.1 == name }?.range)
            var depth = 0
            for at in manifest[start.lowerBound...].indices {
                if manifest[at] == "(" { depth += 1 }
                if manifest[at] == ")" { depth -= 1 }
                if manifest[at] == ")", depth == 0 { return manifest[start.lowerBound...at] }
            }
            return manifest[start]
        }
        var wanted: Set<String> = ["Enhance"]
        for _ in Self.allowed { for module in wanted { wanted.formUnion(Self.allowed[module] ?? []) } }
        #expect(wanted == ["Enhance", "Kernels", "CKernels", "Media"])
        for module in wanted { #expect(!isUnsafe(try target(module)), "\(module) has unsafe flags") }
        #expect(isUnsafe(try target("SRT")))
    }

    /// Who links the product `Enhance` alone gets no weights: they are in targets that nothing in it needs.
    @Test func theEnhanceLibraryHasNoWeights() throws {
        let manifest = try String(contentsOf: Self.root.appending(path: "Package.swift"), encoding: .utf8)
        #expect(manifest.contains(".library(name: \"Enhance\", targets: [\"Enhance\", \"Media\"])"))
        let paths = try #require(FileManager.default.enumerator(atPath: Self.sources.path)).compactMap { $0 as? String }
        let weights = paths.filter { $0.hasSuffix(".bnw") || $0.hasSuffix(".bnf") }
        #expect(weights.count >= 2 && weights.allSatisfy { $0.hasPrefix("EnhanceNetworks/Weights/") }, "\(weights)")
        var linked: Set<String> = ["Enhance", "Media"]
        for _ in Self.allowed { for module in linked { linked.formUnion(Self.allowed[module] ?? []) } }
        #expect(linked.isDisjoint(with: ["EnhanceNetworks", "CWeights"]))
        // The manifest agrees with the map: no target of it has resources.
        for module in linked.subtracting(["CKernels"]) {
            let line = try #require(
                manifest.split(separator: "\n").first { $0.contains(".target(name: \"\(module)\"") }, "\(module)")
            #expect(!line.contains("resources") && !line.contains("EnhanceNetworks"), "\(module)")
        }
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

    /// The schedule decides only from the numbers that it receives, so it needs no clock, no input and no output.
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
        let page = try String(contentsOf: Self.root.appending(path: "docs/design/architecture.md"), encoding: .utf8)
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

    /// Only the kernels have a second importer: their checks call them one by one.
    @Test(arguments: cModules.sorted()) func aCModuleHasOneImporter(module: String) throws {
        let importers = try Self.allowed.keys.filter { importer in
            try Self.swiftFiles(of: importer).contains { try Self.imports(of: $0).contains(module) }
        }
        let checks: Set<String> = module == "CKernels" ? ["KernelChecks"] : []
        #expect(checks.isSubset(of: importers))
        #expect(Set(importers).subtracting(checks).count == 1, "\(module) is imported by \(importers.sorted())")
    }

    /// The modules that the compiler does not check with `strictMemorySafety` have no raw memory to check.
    @Test(arguments: ["Endpoint", "Schedule", "burnish"]) func nothingIsUnsafe(module: String) throws {
        for file in try Self.swiftFiles(of: module) {
            let text = try String(contentsOf: file, encoding: .utf8)
            for word in ["unsafe", "Unsafe"] {
                #expect(!text.contains(word), "\(module)/\(file.lastPathComponent) contains \(word)")
            }
        }
    }

    /// Stages return facts, and only the relay writes telemetry. Others may read reports, traces and
    /// telemetry maps; the benchmark times the ledger.
    @Test func onlyTheRelayWritesTelemetry() throws {
        for module in Self.allowed.keys where !["Relay", "Telemetry", "Bench"].contains(module) {
            for file in try Self.swiftFiles(of: module) {
                let text = try String(contentsOf: file, encoding: .utf8)
                for word in [": Ledger", "FrameTicket", "StreamCounters("] {
                    #expect(!text.contains(word), "\(module)/\(file.lastPathComponent) uses \(word)")
                }
            }
        }
    }

    /// Each of a stream's channels has the writers that its file names. A call that writes stands in no other stage.
    @Test(arguments: [
        ("arrivals.record(", ["Ingest"]), ("arrivals.declaredRate =", ["Ingest"]),
        (".frameInside =", ["Decode"]), (".framesKept =", ["Decode"]), (".busySince =", ["Encode"]),
        ("filledSlot.newest =", ["Encode"]), ("path.beginBypass(", ["Ingest"]),
        ("path.insert(", ["Decode", "Encode", "Enhance", "Ingest"]),
        ("path.beginRun()", ["Ingest"]), ("path.beginMaking()", ["Decode", "Encode", "Enhance"]),
        ("keyframes.want()", ["Recording", "Send"]), ("keyframes.wantOfEncoder()", ["Send"]),
        ("keyframes.wantOfEncoder(behind:", ["Send"]), ("keyframes.wantOfSource()", ["Send"]),
        ("keyframes.claim(at:", ["Encode"]), ("keyframes.sourceHasCome()", ["Ingest"]),
        ("path.viewersWantBypass =", ["Send"]), ("path.mayBeSentToViewers =", ["Ingest"]),
        ("keyframes.wasDropped()", ["Channels"]),
        ("keyframes.claimDropped()", ["Encode"]),
        ("keyframes.claim()", ["Encode"]), ("keyframes.cannotDecode(", ["Decode"]),
        ("keyframes.hasGoneOut()", ["Ingest", "Send"]), (".countReceiver()", ["Send"]), (".countUnseen()", ["Enhance"]),
        ("schedule.plan(", ["Enhance"]),
        ("schedule.configure(", ["Enhance"]), ("chosen.begin(", ["Ingest"]), ("chosen.update(", ["Relay"]),
        ("captures.record(", ["Ingest"]), ("captures.forget()", ["Ingest"]),
        ("captions.record(", ["Encode", "Ingest"]),
        ("format.forget()", ["Ingest"]),
        ("format.recordSound(", ["Ingest"]), ("format.recordKeyframe(", ["Ingest"]),
    ]) func aChannelHasItsWriters(call: String, folders: [String]) throws {
        let writers = try Self.swiftFiles(of: "Relay").filter {
            try String(contentsOf: $0, encoding: .utf8).contains(call)
        }
        #expect(Set(writers.map { $0.deletingLastPathComponent().lastPathComponent }) == Set(folders))
    }
}
