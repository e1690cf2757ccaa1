import Codec
import Enhance
import Foundation
import Media
import TestStreams
import TestSupport
import Testing

@testable import Offline

/// Files that are cut off, odd or empty, and disks that are full: an error says what to do, and what was made can be played.
@Suite(.timeLimit(.minutes(5))) struct FileFaultTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func ffmpeg(_ arguments: [String]) throws {
        let made = try runTool(["ffmpeg", "-v", "error", "-y"] + arguments)
        #expect(made.status == 0, "\(made.errors)")
    }

    private func probe(_ path: String, _ entries: String, _ stream: String = "v") throws -> [[String]] {
        let shown = try runTool([
            "ffprobe", "-v", "error", "-select_streams", stream, "-count_frames", "-show_entries", entries, "-of", "csv=p=0",
            path,
        ])
        #expect(shown.status == 0 && shown.errors.isEmpty, "\(path): \(shown.errors)")
        return shown.output.split(separator: "\n").map { $0.split(separator: ",").map(String.init) }
    }

    /// How many pictures a player shows, without an error.
    private func playable(_ path: String) throws -> Int {
        try probe(path, "stream=nb_read_frames").first?.first.flatMap { Int($0) } ?? 0
    }

    private func work(
        _ input: String, _ output: String, _ change: (inout FileEnhancement) -> Void = { _ in }
    ) -> FileEnhancement {
        var work = FileEnhancement(input: input, output: output)
        (work.tier, work.size, work.motion) = (.base, .same, .lowLatency)
        change(&work)
        return work
    }

    private func enhance(
        _ input: String, _ output: String, _ change: (inout FileEnhancement) -> Void = { _ in }
    ) throws -> (report: FileEnhancementReport, notices: [String]) {
        var notices: [String] = []
        let report = try work(input, output, change).run(notice: { notices.append($0) }) { _, _ in true }
        return (report, notices)
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    private func film(_ kind: String) throws -> String {
        let path = scratch.path("film.\(kind)")
        try ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25", "-f", "lavfi", "-i", "sine", "-t", "2", "-c:v", "libx264",
            "-c:a",
            "aac", path,
        ])
        return path
    }

    private static let places = [0, 18, 72, 250, 722, 1000, 1805, 2500, 5000, 10_001, 20_003, 30_000, -2000, -51, -1]

    /// Either pictures come, and the report says that they are not all, or the error says to get the whole file and nothing is left.
    @Test(arguments: ["mp4", "mkv", "ts"], [false, true]) func aFileCutOffAnywhere(kind: String, resumes: Bool) throws {
        let bytes = try Data(contentsOf: URL(filePath: try film(kind)))
        let (input, output) = (scratch.path("cut.\(kind)"), scratch.path("out.\(kind)"))
        var withPictures = 0
        for place in Self.places {
            try bytes.prefix(place < 0 ? bytes.count + place : place).write(to: URL(filePath: input))
            do {
                let report = try enhance(input, output) { $0.resumes = resumes }.report
                #expect(try report.picturesOut > 0 && playable(output) == report.picturesOut, "\(kind), \(place)")
                // Of the last bytes no picture is missing.
                #expect(report.isCutOff || report.picturesOut == 50, "\(kind), \(place): \(report.picturesOut)")
                withPictures += 1
            } catch {
                let text = "\(error)"
                let advice = ["get the whole file", "check that the file is complete", "of no kind", "is empty"]
                #expect(text.hasPrefix(input) && advice.contains { text.contains($0) } && !exists(output), "\(text)")
            }
            for path in [output, MediaFileWriter.resumePath(of: output)] { try? FileManager.default.removeItem(atPath: path) }
        }
        // The index of an MP4 file is its end.
        #expect(kind == "mp4" ? withPictures < 4 : withPictures > 6, "\(withPictures)")
    }

    @Test func soundThatBeginsBehindTheEndIsNamed() throws {
        let bytes = try Data(contentsOf: URL(filePath: try film("ts")))
        let input = scratch.path("cut.ts")
        try bytes.prefix(5000).write(to: URL(filePath: input))
        for kind in ["ts", "mp4", "y4m"] {
            let outcome = try enhance(input, scratch.path("out.\(kind)"))
            #expect(outcome.notices.count == 1 && outcome.notices[0].hasSuffix("sound 1 (aac)"), "\(outcome.notices)")
            #expect(try playable(scratch.path("out.\(kind)")) == outcome.report.picturesOut)
        }
    }

    @Test(arguments: ["zero", "cover"]) func aFileWithoutPictures(what: String) throws {
        let input = scratch.path(what == "zero" ? "zero.y4m" : "cover.mp3")
        if what == "zero" {
            _ = try scratch.write(Array("YUV4MPEG2 W32 H32 F25:1 Ip A1:1 C420jpeg\n".utf8), to: "zero.y4m")
        } else {
            try ffmpeg([
                "-f", "lavfi", "-i", "sine", "-f", "lavfi", "-i", "color=red:size=32x32", "-t", "1", "-map", "0", "-map", "1",
                "-c:v", "mjpeg", "-frames:v", "1", "-disposition:v", "attached_pic", input,
            ])
        }
        for kind in ["mp4", "y4m", "png"] {
            // What was there before stays as it was.
            let kept = try scratch.write(Array("mine".utf8), to: "kept.\(kind)")
            for output in [scratch.path("out.\(kind)"), kept] {
                let failure = #expect(throws: FileEnhancementError.self) { _ = try enhance(input, output) }
                let text = "\(String(describing: failure))"
                #expect(text.contains(what == "zero" ? "no picture could be decoded" : "only a cover"), "\(text)")
            }
            #expect(!exists(scratch.path("out.\(kind)")))
            #expect(try scratch.read("kept.\(kind)") == Array("mine".utf8))
        }
    }

    @Test(arguments: ["mp4", "mkv", "ts", "y4m"]) func aFileOfOnePicture(kind: String) throws {
        let input = scratch.path("one.\(kind)")
        try ffmpeg(["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25", "-frames:v", "1", "-pix_fmt", "yuv420p", input])
        let changes: [(inout FileEnhancement) -> Void] = [
            { $0.interpolate = 4 }, { $0.rate = Rational(60) }, { $0.slowness = 4 }, { $0.motionBlur = 50 },
        ]
        for change in changes {
            let report = try enhance(input, scratch.path("out.mp4")) { change(&$0) }.report
            #expect(try report.picturesIn == 1 && playable(scratch.path("out.mp4")) == report.picturesOut)
            #expect((1...4).contains(report.picturesOut) && report.synthesised == 0)
        }
    }

    /// Sound and pictures keep their distance where times begin below zero.
    @Test(arguments: ["mov", "ts"]) func negativeStartTimes(kind: String) throws {
        let input = scratch.path("in.\(kind)")
        try ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25", "-f", "lavfi", "-i", "sine", "-filter_complex",
            "[0:v]setpts=PTS-0.4/TB[v];[1:a]asetpts=PTS-0.24/TB[a]", "-map", "[v]", "-map", "[a]", "-t", "2", "-c:v", "libx264",
            "-bf", "0", "-c:a", "pcm_s16le", "-avoid_negative_ts", "disabled", "-c:a", kind == "ts" ? "mp2" : "pcm_s16le",
            input,
        ])
        func distance(_ path: String) throws -> Double {
            let starts = try ["v", "a"].map { stream in
                try probe(path, "packet=pts_time", stream).compactMap { $0.first.flatMap { Double($0) } }.min() ?? 0
            }
            return starts[1] - starts[0]
        }
        let before = try distance(input)
        for output in ["out.mkv", "out.ts"] {
            if output == "out.ts" && kind != "ts" { continue }
            let outcome = try enhance(input, scratch.path(output)) { $0.rate = Rational(25) }
            #expect(outcome.report.picturesIn == outcome.report.picturesOut && outcome.report.timelineJumps == 0)
            let after = try distance(scratch.path(output))
            #expect(abs(after - before) < 0.0011, "\(before), \(after)")
        }
    }

    /// Whatever fills the disk, what was written until then can be played.
    @Test(arguments: ["mp4", "mkv", "ts", "y4m"]) func aFullDevice(kind: String) throws {
        let output = scratch.path("full.\(kind)")
        try FileManager.default.createSymbolicLink(atPath: output, withDestinationPath: "/dev/full")
        let failure = #expect(throws: FileEnhancementError.self) { _ = try enhance(try film("mp4"), output) }
        #expect("\(String(describing: failure))".contains("make room on the disk"), "\(String(describing: failure))")
        #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: output)) == "/dev/full")
    }
}
