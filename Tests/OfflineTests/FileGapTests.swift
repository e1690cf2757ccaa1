import Codec
import Enhance
import Foundation
import Media
import TestStreams
import TestSupport
import Testing

@testable import Offline

/// `burnish enhance --gaps`, and time stamps that jump.
@Suite(.timeLimit(.minutes(5))) struct FileGapTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func ffmpeg(_ arguments: [String]) throws {
        let made = try runTool(["ffmpeg", "-v", "error", "-y"] + arguments)
        #expect(made.status == 0, "\(made.errors)")
    }

    /// When the packets of the video are shown, in order.
    private func times(_ path: String) throws -> [Double] {
        let shown = try runTool([
            "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", path,
        ])
        #expect(shown.status == 0 && shown.errors.isEmpty, "\(path): \(shown.errors)")
        return shown.output.split(whereSeparator: { $0.isNewline || $0 == "," }).compactMap { Double($0) }.sorted()
    }

    private func enhance(
        _ input: String, _ output: String, _ change: (inout FileEnhancement) -> Void = { _ in }
    ) throws -> (report: FileEnhancementReport, notices: [String]) {
        var work = FileEnhancement(input: input, output: output)
        (work.tier, work.size, work.motion) = (.base, .same, .lowLatency)
        change(&work)
        var notices: [String] = []
        let report = try work.run(notice: { notices.append($0) }) { _, _ in true }
        return (report, notices)
    }

    /// A jump of an hour is not filled with pictures. Gaps of up to a minute are, unless they are to be kept.
    @Test(arguments: [(3600.0, FileEnhancement.Gaps.fill), (3600, .keep), (10, .fill), (10, .keep)], ["mkv", "mp4"])
    func stampsThatJump(_ gap: (Double, FileEnhancement.Gaps), kind: String) throws {
        let input = scratch.path("in.\(kind)")
        try ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25,scroll=h=0.02,setpts='PTS+gte(N,20)*\(gap.0)/TB'", "-frames:v",
            "40",
            "-fps_mode", "passthrough", "-c:v", "libx264", input,
        ])
        let output = scratch.path("out.mkv")
        let outcome = try enhance(input, output) { ($0.rate, $0.gaps) = (Rational(50), gap.1) }
        let fills = gap.0 < 60 && gap.1 == .fill
        #expect(outcome.notices.count == (gap.0 > 60 && gap.1 == .fill ? 1 : 0), "\(outcome.notices)")
        #expect(outcome.notices.allSatisfy { $0.contains("3600 s from 1 s on") })
        #expect(outcome.report.gapsKept == (fills ? 0 : 1))
        // 40 pictures and those between, and what a gap takes.
        #expect(abs(outcome.report.picturesOut - 80 - (fills ? 500 : 0)) <= 2, "\(outcome.report.picturesOut)")
        let times = try self.times(output)
        #expect(abs(times.last! - gap.0 - 1.58) < 0.031 && abs(times[times.count - 30] - gap.0 - 1.0) < 0.031, "\(times)")
        let steps = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(steps.count { $0 > 0.022 } == (fills ? 0 : 1) && steps.allSatisfy { $0 > 0.018 }, "\(steps)")
    }

    /// Single pictures far apart are all shown where gaps are kept.
    @Test func keptGapsLoseNothing() throws {
        let input = scratch.path("in.mkv")
        try ffmpeg([
            "-f", "lavfi", "-i", "mandelbrot=size=64x48:rate=25,setpts='(N*0.613+0.05)/TB'", "-frames:v", "12", "-fps_mode",
            "passthrough", "-c:v", "libx264", input,
        ])
        let report = try enhance(input, scratch.path("out.mkv")) { ($0.rate, $0.gaps) = (Rational(60), .keep) }.report
        #expect(report.picturesIn == 12 && report.gapsKept == 11 && report.synthesised == 0 && report.timelineJumps == 0)
        let before = try times(input)
        let after = try times(scratch.path("out.mkv"))
        for time in before { #expect(after.contains { abs($0 - after[0] - time + before[0]) < 0.0094 }, "\(time), \(after)") }
    }
}
