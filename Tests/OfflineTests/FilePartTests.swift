import Codec
import Foundation
import Media
import TestStreams
import TestSupport
import Testing

@testable import Offline

/// `burnish enhance --from --to`.
@Suite(.timeLimit(.minutes(5))) struct FilePartTests {
    private func input(_ scratch: Scratch, _ kind: String, offset: Int = 0, seconds: Int = 4) throws -> String {
        let facts = try scratch.write(
            Array(
                ";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1500\ntitle=One\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=1500\nEND=4000\ntitle=Two\n"
                    .utf8), to: "in.txt")
        let path = scratch.path("in.\(kind)")
        let made = try runTool([
            "ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25", "-f", "lavfi", "-i", "sine",
            "-i",
            facts, "-t", "\(seconds)", "-map", "0", "-map", "1", "-map_chapters", "2", "-c:v", "libx264", "-g", "40", "-c:a",
            "mp2",
            "-output_ts_offset", "\(offset)", path,
        ])
        #expect(made.status == 0, "\(made.errors)")
        return path
    }

    private func enhance(_ input: String, _ output: String, _ part: FilePart) throws -> FileEnhancementReport {
        var work = FileEnhancement(input: input, output: output)
        (work.size, work.part) = (.same, part)
        return try work.run { _, all in
            #expect(all == nil || all! <= 101)
            return true
        }
    }

    private func pictures(_ path: String, _ part: FilePart = FilePart()) throws -> (samples: [[UInt8]], times: [Int64]) {
        let reader = try FileReader(path: path, part: part)
        var (samples, times): ([[UInt8]], [Int64]) = ([], [])
        while let item = try reader.next() {
            guard case .picture(let picture, let time) = consume item else { continue }
            let luma = picture.view.y
            samples.append((0..<luma.height).flatMap { Array(UnsafeBufferPointer(start: luma.row($0), count: luma.width)) })
            times.append(time)
        }
        return (samples, times)
    }

    /// The pictures of exactly this time, whatever keyframes are near, beginning at zero.
    @Test(
        arguments: [("mp4", 0), ("mkv", 0), ("ts", 0), ("ts", 5000)], [(1.0, 2.2), (0, 0.4), (1.72, 4), (3.96, 9), (14.4, 15)])
    func exactlyThatPart(_ file: (String, Int), _ times: (Double, Double)) throws {
        let scratch = try Scratch()
        let path = try input(scratch, file.0, offset: file.1, seconds: times.1 > 10 ? 16 : 4)
        let all = try pictures(path)
        let base = try FileReader(path: path).video.timeBase.value
        let first = Double(all.times[0]) * base
        let wanted = all.times.indices.filter { index in
            let time = Double(all.times[index]) * base
            return time > times.0 - 0.0006 && time < times.1 - 0.0006
        }
        let part = try pictures(path, FilePart(from: times.0, to: times.1))
        #expect(wanted.count > 0 && part.samples == wanted.map { all.samples[$0] }, "\(part.samples.count) of \(wanted.count)")
        #expect((0..<0.045 + first).contains(Double(part.times.first ?? -1) * base))
    }

    @Test func soundAndChaptersGoWithIt() throws {
        let scratch = try Scratch()
        let report = try enhance(try input(scratch, "mkv"), scratch.path("out.mkv"), FilePart(from: 1, to: 2.2))
        #expect(report.picturesOut == 30 && !report.isCutOff)
        let shown = try runTool([
            "ffprobe", "-v", "error", "-show_entries", "chapter=start_time,end_time:packet=pts_time", "-select_streams", "a",
            "-of",
            "csv", scratch.path("out.mkv"),
        ])
        let lines = shown.output.split(separator: "\n").map { $0.split(separator: ",").map(String.init) }
        let times = lines.filter { $0[0] == "packet" }.compactMap { Double($0[1]) }
        #expect(times.count > 40 && times[0] < 0.03 && abs(times.last! - 1.18) < 0.03, "\(times)")
        let chapters = lines.filter { $0[0] == "chapter" }.map { $0.dropFirst().compactMap { Double($0) } }
        #expect(chapters == [[0, 0.5], [0.5, 1.2]], "\(chapters)")
    }

    @Test(arguments: ["mp4", "y4m"]) func behindTheEndIsNothing(kind: String) throws {
        let scratch = try Scratch()
        var path = try input(scratch, "mp4")
        if kind == "y4m" {
            _ = try enhance(path, scratch.path("in.y4m"), FilePart())
            path = scratch.path("in.y4m")
            #expect(try pictures(path, FilePart(from: 2)).times.count == 50)
        }
        let failure = #expect(throws: FileEnhancementError.self) {
            _ = try enhance(path, scratch.path("out.mp4"), FilePart(from: 60))
        }
        #expect("\(String(describing: failure))".contains("no picture in this part"))
    }
}
