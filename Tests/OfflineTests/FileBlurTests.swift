import Codec
import Enhance
import Foundation
import Media
import TestStreams
import TestSupport
import Testing

@testable import Offline

/// `burnish enhance --motion-blur`.
@Suite(.timeLimit(.minutes(5))) struct FileBlurTests {
    private func ffmpeg(_ arguments: [String]) throws {
        let made = try runTool(["ffmpeg", "-v", "error", "-y"] + arguments)
        #expect(made.status == 0, "\(made.errors)")
    }

    private func enhance(_ input: String, _ output: String, _ change: (inout FileEnhancement) -> Void) throws
        -> FileEnhancementReport
    {
        var work = FileEnhancement(input: input, output: output)
        (work.tier, work.size) = (.base, .same)
        change(&work)
        return try work.run { _, _ in true }
    }

    /// The mean step from one sample of a row to the next, in each picture.
    private func steps(_ path: String) throws -> [Double] {
        let reader = try FileReader(path: path)
        var steps: [Double] = []
        while case .picture(let picture, _)? = try reader.next() {
            let luma = picture.view.y
            var sum = 0
            for y in 0..<luma.height {
                let row = luma.row(y)
                for x in 1..<luma.width { sum += abs(Int(row[x]) - Int(row[x - 1])) }
            }
            steps.append(Double(sum) / Double(luma.height * (luma.width - 1)))
        }
        return steps
    }

    /// As many pictures leave as come, at their times, and the more blurred the longer the shutter is open.
    @Test(arguments: [OutputSize.same, .double]) func picturesAreBlurred(size: OutputSize) throws {
        let scratch = try Scratch()
        let input = scratch.path("in.mp4")
        try ffmpeg(["-f", "lavfi", "-i", "mandelbrot=size=128x96:rate=25,scroll=h=0.05", "-t", "0.4", "-c:v", "libx264", input])
        var means: [Double] = []
        for strength in [0.0, 40, 100] {
            let output = scratch.path("\(Int(strength)).mp4")
            let report = try enhance(input, output) { ($0.motionBlur, $0.size) = (strength, size) }
            #expect(report.picturesIn == 10 && report.picturesOut == 10 && report.synthesised == 0)
            #expect(report.picturesBlurred == (strength > 0 ? 10 : 0))
            let found = try steps(output)
            means.append(found.reduce(0, +) / Double(found.count))
            let stamps = try [input, output].map { path throws -> [Substring] in
                try runTool([
                    "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv", path,
                ]).output
                    .split(separator: "\n").sorted()
            }
            #expect(stamps[0] == stamps[1])
        }
        #expect(means[1] < 0.95 * means[0] && means[2] < 0.98 * means[1], "\(means)")
    }

    /// A bright square on black leaves a brighter trace in light. Nothing else changes.
    @Test func lightIsBlurred() throws {
        let scratch = try Scratch()
        let input = scratch.path("in.mp4")
        try ffmpeg([
            "-f", "lavfi", "-i", "color=black:size=160x96:rate=25", "-f", "lavfi", "-i", "color=white:size=16x16:rate=25",
            "-filter_complex", "overlay=x='16+8*n':y=40", "-t", "0.4", "-c:v", "libx264", "-pix_fmt", "yuv420p", input,
        ])
        func mean(_ light: FileEnhancement.MotionBlurLight) throws -> Double {
            let output = scratch.path("\(light).y4m")
            let report = try enhance(input, output) { ($0.motionBlur, $0.motionBlurLight) = (100, light) }
            #expect(report.picturesIn == 10 && report.picturesOut == 10 && report.picturesBlurred == 10)
            let reader = try FileReader(path: output)
            var sum = 0
            while case .picture(let picture, _)? = try reader.next() {
                let luma = picture.view.y
                for y in 0..<luma.height { for x in 0..<luma.width { sum += Int(luma.row(y)[x]) - 16 } }
            }
            return Double(sum) / 10
        }
        let (coded, linear) = (try mean(.coded), try mean(.linear))
        #expect(linear > 1.05 * coded && linear < 1.5 * coded, "\(coded), \(linear)")
    }

    /// A recording of variable rate is not blurred over a gap, and one picture alone stays as it is.
    @Test func gapsAndSinglePictures() throws {
        let scratch = try Scratch()
        let input = scratch.path("in.mkv")
        try ffmpeg([
            "-f", "lavfi", "-t", "0.16", "-i", "testsrc2=size=96x64:rate=25,scroll=h=0.05", "-vf",
            "setpts='if(gte(N,3),PTS+1/TB,PTS)'", "-fps_mode", "passthrough", "-c:v", "libx264", input,
        ])
        let output = scratch.path("out.y4m")
        let report = try enhance(input, output) { $0.motionBlur = 100 }
        // The last one has nothing around it.
        let counts: [Int] = [report.picturesIn, report.picturesOut, report.picturesBlurred]
        #expect(counts == [4, 4, 3])
        let still = scratch.path("still.png")
        try ffmpeg(["-i", input, "-frames:v", "1", still])
        let alone = try enhance(still, scratch.path("alone.png")) { $0.motionBlur = 50 }
        #expect(alone.picturesOut == 1 && alone.picturesBlurred == 0)
    }
}
