import Codec
import Enhance
import Foundation
import Media
import TestStreams
import TestSupport
import Testing

@testable import Offline

/// `burnish enhance --resume`.
@Suite(.timeLimit(.minutes(5))) struct FileResumeTests {
    private let scratch: Scratch
    private let input: String

    /// Three scenes of 32 pictures with sound, so that there are three groups of pictures.
    init() throws {
        scratch = try Scratch()
        input = scratch.path("in.mkv")
        let made = try runTool([
            "ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25", "-f", "lavfi", "-i",
            "mandelbrot=size=64x48:rate=25", "-f", "lavfi", "-i", "smptebars=size=64x48:rate=25", "-f", "lavfi", "-i", "sine",
            "-filter_complex",
            "[0:v]trim=end_frame=32[a];[1:v]trim=end_frame=32[b];[2:v]trim=end_frame=32[c];[a][b][c]concat=n=3,format=yuv420p[v]",
            "-map", "[v]", "-map", "3:a", "-t", "3.84", "-c:v", "libx264", "-crf", "10", "-c:a", "aac", input,
        ])
        #expect(made.status == 0, "\(made.errors)")
    }

    private func work(_ output: String, _ change: (inout FileEnhancement) -> Void = { _ in }) -> FileEnhancement {
        var work = FileEnhancement(input: input, output: output)
        (work.tier, work.size, work.motion, work.resumes) = (.base, .same, .quality, true)
        change(&work)
        return work
    }

    /// Each packet's stream, time and size, without those of the video's, which another encoder makes a little different.
    private func packets(_ path: String) throws -> (video: [String], sound: [String]) {
        let shown = try runTool([
            "ffprobe", "-v", "error", "-show_entries", "packet=codec_type,pts_time,size", "-of", "csv=p=0", path,
        ])
        #expect(shown.status == 0 && shown.errors.isEmpty, "\(shown.errors)")
        let lines = shown.output.split(separator: "\n").map(String.init)
        return (
            lines.filter { $0.hasPrefix("video") }.map { $0.split(separator: ",")[1] }.map(String.init).sorted(),
            lines.filter { $0.hasPrefix("audio") }
        )
    }

    private func luma(_ path: String) throws -> [[UInt8]] {
        let reader = try FileReader(path: path)
        var pictures: [[UInt8]] = []
        while let item = try reader.next() {
            guard case .picture(let picture, _) = consume item else { continue }
            let plane = picture.view.y
            pictures.append(
                (0..<plane.height).flatMap { Array(UnsafeBufferPointer(start: plane.row($0), count: plane.width)) })
        }
        return pictures
    }

    /// What was interrupted goes on behind its last whole group of pictures, and gives what a run without a pause does.
    @Test(arguments: ["mp4", "mkv", "ts"], [1, 2]) func itGoesOn(kind: String, interpolate: Int) throws {
        let (whole, output) = (scratch.path("whole.\(kind)"), scratch.path("out.\(kind)"))
        _ = try work(whole) { ($0.resumes, $0.interpolate) = (false, interpolate) }.run { _, _ in true }
        let work = work(output) { $0.interpolate = interpolate }
        let resume = MediaFileWriter.resumePath(of: output)
        let first = try work.run { done, _ in done < 88 }
        #expect(first.picturesIn == 88 && first.picturesKept == 0 && !work.isFinished)
        // What came of the first run can be played.
        let kept = try luma(output)
        #expect(kept.count == first.picturesOut)
        // Stopped again, at once.
        _ = try work.run { done, _ in done < 3 }
        #expect(FileManager.default.fileExists(atPath: resume))
        let second = try work.run { _, _ in true }
        #expect(second.picturesKept == 64 * interpolate || second.picturesKept == 64 * interpolate - 1)
        #expect(second.picturesIn == 96 && second.picturesOut == 95 * interpolate + 1)
        #expect(work.isFinished)
        work.removeResumeFile()
        #expect(!FileManager.default.fileExists(atPath: resume) && !work.isFinished)
        let (expected, found) = (try packets(whole), try packets(output))
        #expect(expected.video == found.video && expected.sound == found.sound)
        let (before, after) = (try luma(whole), try luma(output))
        #expect(before.count == after.count)
        // What is kept is the first run's to the bit. Encoders of two runs need not agree so far.
        for (index, pair) in zip(before, after).enumerated() {
            let difference = zip(pair.0, pair.1).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
            #expect(difference < 3 * 64 * 48, "picture \(index)")
            #expect(index >= second.picturesKept || pair.1 == kept[index], "picture \(index)")
        }
    }

    /// Neither other work on the machine nor what memory held before changes a picture: two runs are the same to the bit, before the
    /// encoder. libx264 0.164 reads parts of its threads' stacks before it writes them (valgrind says so), so what it makes of the same
    /// pictures may differ by a few bits in a process that has had many threads.
    @Test(arguments: [FileEnhancement.Motion.quality, .lowLatency]) func twoRunsAreTheSame(motion: FileEnhancement.Motion)
        async throws
    {
        let outputs = (0..<4).map { scratch.path("same\($0).y4m") }
        let works = outputs.map { output in
            work(output) { ($0.resumes, $0.interpolate, $0.motion) = (false, 2, motion) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for work in works { group.addTask { _ = try work.run { _, _ in true } } }
            try await group.waitForAll()
        }
        let first = try Data(contentsOf: URL(filePath: outputs[0]))
        for output in outputs {
            let other = try Data(contentsOf: URL(filePath: output))
            let place = zip(first, other).enumerated().first { $0.element.0 != $0.element.1 }?.offset
            #expect(
                first.count == other.count && place == nil,
                "of \(first.count) and \(other.count) bytes, from byte \(place ?? -1) on")
        }
    }

    /// Killed at any time: of the file only a part is there, and it may end in anything.
    @Test func aResumeFileMayEndAnywhere() throws {
        let output = scratch.path("out.mp4")
        let resume = URL(filePath: MediaFileWriter.resumePath(of: output))
        let work = work(output)
        _ = try work.run { done, _ in done < 88 }
        let bytes = try Data(contentsOf: resume)
        for (share, garbage) in [(0.0, 0), (0.002, 0), (0.3, 0), (0.5, 9), (0.99, 0), (1, 100)] {
            try (bytes.prefix(Int(share * Double(bytes.count))) + Data(repeating: 0, count: garbage)).write(to: resume)
            let report = try work.run { _, _ in true }
            #expect(report.picturesOut == 96 && report.picturesKept % 32 == 0 && (share < 0.9 || report.picturesKept == 64))
            #expect(try packets(output).video.count == 96)
        }
    }

    @Test func itIsForTheSameWork() throws {
        let output = scratch.path("out.mp4")
        _ = try work(output).run { done, _ in done < 88 }
        #expect { try work(output) { $0.quality = 30 }.run { _, _ in true } } throws: {
            "\($0)".contains("other options") && "\($0)".contains("out.mp4.resume")
        }
        #expect(try work(output) { $0.threads = 1 }.run { _, _ in true }.picturesKept == 64)
        // A file of somebody else's stays.
        let other = scratch.path("other.mp4")
        _ = try scratch.write(Array("mine".utf8), to: "other.mp4.resume")
        #expect(throws: FileEnhancementError.self) { try work(other).run { _, _ in true } }
        #expect(try scratch.read("other.mp4.resume") == Array("mine".utf8))
    }
}
