import Foundation
import TestSupport
import Testing

/// What `burnish enhance` takes and says.
@Suite struct EnhanceCommandTests {
    private func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    @Test func severalFilesGoToAFolder() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["a.ts", "b.ts"] {
            try FileManager.default.copyItem(atPath: CommandTests.stream, toPath: folder.appending(path: name).path)
        }
        try Data("nonsense".utf8).write(to: folder.appending(path: "bad.ts"))
        let out = folder.appending(path: "new/larger")
        let report = folder.appending(path: "report.json")
        func enhance(_ names: [String]) throws -> Program.Outcome {
            try Program.run(
                ["enhance", "--tier", "base", "--output-directory", out.path, "--report", report.path, "--input"]
                    + names.map { folder.appending(path: $0).path })
        }
        // One that fails does not stop the others, and its error decides.
        let outcome = try enhance(["a.ts", "bad.ts", "b.ts"])
        #expect(outcome.reason == .exit && outcome.code == 65, "\(outcome.errors)")
        #expect(outcome.complaints.count == 1 && outcome.errors.contains("bad.ts: "), "\(outcome.errors)")
        #expect(
            outcome.errors.hasSuffix("1 of 3 files failed: \(folder.appending(path: "bad.ts").path)\n"), "\(outcome.errors)")
        // No progress where nobody watches.
        #expect(!outcome.errors.contains(" left") && !outcome.errors.contains("\u{1B}"), "\(outcome.errors)")
        for name in ["a.ts", "b.ts"] {
            #expect(FileManager.default.fileExists(atPath: out.appending(path: name).path))
        }
        let list = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: report)) as? [[String: Any]])
        #expect(list.count == 3 && list[1]["error"] is String)
        let last = try #require(list[2]["report"] as? [String: Any])
        #expect((last["totals"] as? [String: Double])?["encode"] ?? 0 > 0)
        #expect((last["enlarge"] as? [String: Any])?["p95"] is Double)
    }

    /// Files and relays read the table before anything else. One that gives everything the same colour shows it.
    @Test func aTableChangesColours() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let (good, bad) = (folder.appending(path: "grey.cube"), folder.appending(path: "bad.cube"))
        try Data("LUT_1D_SIZE 2\n0.5 0.5 0.5\n0.5 0.5 0.5\n".utf8).write(to: good)
        try Data("LUT_1D_SIZE 2\n0.5 0.5 nan\n".utf8).write(to: bad)
        let out = folder.appending(path: "out.y4m")
        for command in ["enhance", "relay"] {
            let outcome = try Program.run([command, "--input", CommandTests.stream, "--output", out.path, "--lut", bad.path])
            #expect(outcome.code == 65 && outcome.complaints == ["burnish: --lut: \(bad.path): line 2: nan is no number"])
            #expect(!FileManager.default.fileExists(atPath: out.path))
        }
        let arguments = ["--input", CommandTests.stream, "--scale", "1", "--tier", "base", "--lut", good.path]
        let outcome = try Program.run(["enhance", "--output", out.path, "--saturation", "0"] + arguments)
        #expect(outcome.code == 0, "\(outcome.errors)")
        // (0.5 * 219 + 16), and no colour.
        let end = [UInt8](try Data(contentsOf: out).suffix(1000))
        #expect(end.allSatisfy { $0 == 128 })
        let same = try Program.run(["enhance", "--output", good.path] + arguments)
        #expect(same.code == 64, "\(same.errors)")
    }

    /// A bad file is named before anything else is done. A line of text stands where it was put, and nothing changes elsewhere.
    @Test func textStandsOnPictures() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let (bad, out, plain) = (
            folder.appending(path: "bad.png"), folder.appending(path: "a.y4m"), folder.appending(path: "b.y4m")
        )
        try Data("GIF89a".utf8).write(to: bad)
        let overlay = "+0%+0%:image=\(bad.path)"
        for command in ["enhance", "relay"] {
            let outcome = try Program.run([command, "--input", CommandTests.stream, "--output", out.path, "--overlay", overlay])
            #expect(outcome.code == 65 && outcome.complaints == ["burnish: --overlay: \(bad.path): is no PNG file"])
        }
        let arguments = ["enhance", "--input", CommandTests.stream, "--scale", "1", "--tier", "base", "--output"]
        let outcome = try Program.run(arguments + [out.path, "--overlay", "-0%-0%:size=10%:box=1:text={stream} {frame}"])
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(try Program.run(arguments + [plain.path]).code == 0)
        let (a, b) = ([UInt8](try Data(contentsOf: out)), [UInt8](try Data(contentsOf: plain)))
        let header = try #require(a.firstIndex(of: 10)) + 1 + 6
        let fields = String(decoding: a[..<header], as: UTF8.self).split(separator: " ")
        let width = try #require(fields.first { $0.first == "W" }.flatMap { Int($0.dropFirst()) })
        let height = try #require(fields.first { $0.first == "H" }.flatMap { Int($0.dropFirst()) })
        let changed = (0..<width * height).filter { a[header + $0] != b[header + $0] }
        #expect(changed.count > width * height / 100 && a.count == b.count)
        #expect(changed.allSatisfy { $0 / width >= height * 9 / 10 - 1 })
        // The box is black.
        #expect(a[header + width * height - 1] == 16)
    }

    /// The files of several that were finished are not done again, and nothing is left of them in the end.
    @Test func severalFilesGoOn() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let (good, late) = (folder.appending(path: "a.ts"), folder.appending(path: "b.ts"))
        let out = folder.appending(path: "out")
        try FileManager.default.copyItem(atPath: CommandTests.stream, toPath: good.path)
        try Data("nonsense".utf8).write(to: late)
        func enhance() throws -> Program.Outcome {
            try Program.run([
                "enhance", "--tier", "base", "--quiet", "--resume", "--output-directory", out.path, "--input", good.path,
                late.path,
            ])
        }
        let first = try enhance()
        #expect(first.code == 65 && !first.errors.contains("before"), "\(first.errors)")
        try FileManager.default.removeItem(at: late)
        try FileManager.default.copyItem(atPath: CommandTests.stream, toPath: late.path)
        let second = try enhance()
        #expect(second.code == 0 && second.errors == "\(good.path) was finished before\n", "\(second.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: out.path).sorted() == ["a.ts", "b.ts"])
    }

    /// A thousand files leave no descriptor and no empty file behind.
    @Test(.timeLimit(.minutes(5))) func aThousandTinyFiles() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let picture = Data("YUV4MPEG2 W16 H16 F25:1 Ip A1:1 C420jpeg\nFRAME\n".utf8) + Data(repeating: 90, count: 384)
        let names = (0..<1000).map { folder.appending(path: "\($0).y4m").path }
        for (index, name) in names.enumerated() {
            try (index % 250 == 3 ? picture.prefix(40) : picture).write(to: URL(filePath: name))
        }
        let out = folder.appending(path: "out").path
        let script = "ulimit -n 64; exec \"$0\" enhance --tier base --quiet --threads 1 --output-directory \"$@\""
        let outcome = try runTool(["sh", "-c", script, Program.executable.path, out, "--input"] + names)
        #expect(outcome.status == 65 && outcome.errors.contains("4 of 1000 files failed: "), "\(outcome.errors.suffix(2000))")
        #expect(try FileManager.default.contentsOfDirectory(atPath: out).count == 996)
    }

    @Test(arguments: [
        ["--input", "a.ts", "b.ts", "--output", "c.mp4"], ["--input", "a.ts"],
        ["--input", "a.ts", "--output", "b.mp4", "--output-directory", "."], ["--input", "-", "--output-directory", "."],
        ["--input", "x/a.ts", "y/a.ts", "--output-directory", "."], ["--input", "a.ts", "--output-directory", "."],
        ["--input", "a.ts", "--output", "b.mp4", "--compare", "sideways"],
        ["--input", "a.ts", "--output", "b.mp4", "--restore", "s"],
        ["--input", "a.ts", "--output", "b.mp4", "--scale", "1", "--restore", "l"],
        ["--input", "a.ts", "--output", "b.mp4", "--fps", "fast"],
        ["--input", "a.ts", "--output", "b.mp4", "--fps", "60", "--interpolate", "2"],
        ["--input", "a.ts", "--output", "b.mp4", "--slow", "17"],
        ["--input", "a.ts", "--output", "b.mp4", "--gaps", "keep"],
        ["--input", "a.ts", "--output", "b.mp4", "--sound", "stretch"],
        ["--input", "a.ts", "--output", "b.mp4", "--for", "archive", "--crf", "18"],
        ["--input", "a.ts", "--output", "b.mp4", "--for", "phone", "--size", "320x180"],
        ["--input", "a.ts", "--output", "b.mp4", "--for", "slow-motion", "--interpolate", "2"],
        ["--input", "a.ts", "--output", "b.mp4", "--for", "fun"],
        ["--input", "a.ts", "--output", "b.mp4", "--fps", "60", "--gaps", "close"],
        ["--input", "a.ts", "--output", "b.y4m", "--resume"], ["--input", "-", "--output", "b.mp4", "--resume"],
        ["--input", "a.ts", "--output", "b.mp4", "--motion-blur", "0"],
        ["--input", "a.ts", "--output", "b.mp4", "--motion-blur", "50", "--fps", "60"],
        ["--input", "a.ts", "--output", "b.mp4", "--motion-blur-light", "linear"],
        ["--input", "a.ts", "--output", "b.mp4", "--from", "2", "--to", "1"],
        ["--input", "a.ts", "--output", "b.mp4", "--from", "1:75"], ["--input", "a.ts", "--output", "b.mp4", "--crf", "52"],
        ["--input", "a.ts", "--output", "b.mp4", "--slow", "2", "--interpolate", "2"],
    ])
    func wrongFilesAreRefused(arguments: [String]) throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let input = folder.appending(path: "a.ts")
        try FileManager.default.copyItem(atPath: CommandTests.stream, toPath: input.path)
        for name in ["x", "y"] {
            try FileManager.default.createDirectory(at: folder.appending(path: name), withIntermediateDirectories: true)
        }
        let outcome = try Program.run(["enhance"] + arguments, in: folder, input: input)
        #expect(outcome.reason == .exit && outcome.code == 64, "\(outcome.errors)")
        #expect(FileManager.default.contentsEqual(atPath: input.path, andPath: CommandTests.stream))
    }

    /// It says which options it stands for, the help does as well, and they do what the same options do.
    @Test func aPresetIsItsOptions() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let help = try Program.run(["enhance", "--help"]).output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        for (name, options) in [
            ("phone", "--scale 1 --restore m --crf 24"), ("archive", "--scale 2 --tier quality --crf 14"),
            ("slow-motion", "--scale 1 --slow 4 --sound stretch"),
        ] {
            #expect(help.contains("\(name) is \(options)") || help.contains("\(name) \(options)"), "\(help)")
            guard name == "phone" else { continue }
            func enhance(_ arguments: [String], _ output: String) throws -> Program.Outcome {
                try Program.run(["enhance", "--input", CommandTests.stream, "--to", "0.3", "--output", output] + arguments)
            }
            let (one, other) = (folder.appending(path: "one.mp4"), folder.appending(path: "other.mp4"))
            let outcome = try enhance(["--for", name], one.path)
            #expect(outcome.code == 0 && outcome.errors.hasPrefix("--for \(name) is \(options)\n"), "\(outcome.errors)")
            #expect(try enhance(options.split(separator: " ").map(String.init), other.path).code == 0)
            #expect(try Data(contentsOf: one).count == Data(contentsOf: other).count)
        }
    }

    @Test func aFileThatWasCutOffIs65() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let whole = folder.appending(path: "whole.y4m")
        #expect(
            try Program.run([
                "enhance", "--input", CommandTests.stream, "--output", whole.path, "--tier", "base", "--scale", "1",
            ]).code == 0)
        let bytes = try Data(contentsOf: whole)
        let part = folder.appending(path: "part.y4m")
        try bytes.prefix(bytes.count / 2 + 7).write(to: part)
        let out = folder.appending(path: "out.y4m")
        let outcome = try Program.run([
            "enhance", "--input", part.path, "--output", out.path, "--tier", "base", "--scale", "1", "--json",
        ])
        #expect(outcome.reason == .exit && outcome.code == 65, "\(outcome.errors)")
        #expect(outcome.complaints.count == 1 && outcome.errors.contains("ends too soon"), "\(outcome.errors)")
        #expect(outcome.output.contains("\"is_cut_off\" : true"))
        // A picture's bytes or so less than what was read.
        #expect(try Data(contentsOf: out).count <= bytes.count / 2 + 7)
        #expect(try Data(contentsOf: out).count > bytes.count / 4)
    }

    @Test func theHelpNamesTheTiers() throws {
        let help = try Program.run(["enhance", "--help"]).output.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        #expect(help.contains("(default: neural-m) (values: base, neural-s, neural-m, quality)"), "\(help)")
        #expect(help.contains("(values: split, wipe)"))
        #expect(help.contains("--restore") && help.contains("(values: s, m)"))
    }
}
