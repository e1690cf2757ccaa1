import Codec
import Enhance
import Foundation
import Media
import Telemetry
import TestStreams
import Testing
@testable import Offline

/// `burnish enhance` on faulty recordings.
@Suite(.timeLimit(.minutes(10))) struct FileEnhancementTests {
    private func enhance(
        _ stream: [UInt8], _ scratch: Scratch, interpolate: Int = 1
    ) throws -> FileEnhancementReport {
        var work = FileEnhancement(input: try scratch.write(stream, to: "in.ts"), output: scratch.path("out.mp4"))
        work.tier = .base
        work.interpolate = interpolate
        return try work.run { _, _ in true }
    }

    private func times(of path: String) throws -> [Int64] {
        let reader = try FileReader(path: path)
        var times: [Int64] = []
        while let item = try reader.next() {
            if case .picture(_, let time) = consume item { times.append(time) }
        }
        return times
    }

    @Test(arguments: [1, 2]) func aSecondRecordingFollowsTheFirst(interpolate: Int) throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 20, start: 100) + TestStream.video(frames: 20, start: 7)
        let report = try enhance(stream, scratch, interpolate: interpolate)
        #expect(report.picturesIn == 40 && report.timelineJumps == 1 && report.picturesLeftOut == 0)
        // Every stage measures each of its pictures.
        #expect(report.decode.count == 40 && report.enlarge.count == 40)
        #expect(report.synthesise.count == UInt64(report.synthesised))
        #expect(report.encode.count == UInt64(report.picturesOut) && report.encode.p95 > 0)
        let times = try times(of: scratch.path("out.mp4"))
        #expect(times.count == report.picturesOut && times.count == (interpolate == 1 ? 40 : 79))
        #expect(zip(times.dropFirst(), times).allSatisfy { $0 > $1 })
    }

    /// Times that repeat, or go back by less than a jump of the clock, become later ones.
    @Test func picturesWhoseTimesGoBackAreShown() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 20) + TestStream.video(frames: 10, start: 10 + 16.0 / 30)
        let report = try enhance(stream, scratch)
        #expect(report.picturesIn == 30 && report.picturesLeftOut == 0 && report.picturesOut == 30)
        let times = try times(of: scratch.path("out.mp4"))
        #expect(times.count == 30 && zip(times.dropFirst(), times).allSatisfy { $0 > $1 })
    }

    /// Interlaced pictures lose their combs, those that are only marked as interlaced stay as they are.
    @Test(arguments: [
        ("interlaced-top", true), ("interlaced-bottom", true), ("interlaced-top", false), ("marked-interlaced", true),
    ])
    func interlacedPicturesBecomeProgressive(name: String, deinterlaces: Bool) throws {
        let scratch = try Scratch()
        var work = FileEnhancement(
            input: try scratch.write(try TestStream.golden(name + ".ts"), to: "in.ts"), output: scratch.path("out.y4m"))
        (work.tier, work.size, work.steps.deinterlace) = (.base, .same, deinterlaces ? .auto : .off)
        let report = try work.run { _, _ in true }
        #expect(report.picturesOut == 24)
        var combs: [Double] = []
        let reader = try FileReader(path: scratch.path("out.y4m"))
        while let item = try reader.next() {
            if case .picture(let picture, _) = consume item { combs.append(TestStream.combs(of: picture)) }
        }
        #expect(combs.count == 24)
        if name == "marked-interlaced" {
            #expect((0...4).contains(report.picturesDeinterlaced))
        } else if deinterlaces {
            #expect(report.picturesDeinterlaced == 24 && combs.max()! < 0.9, "\(combs)")
        } else {
            #expect(report.picturesDeinterlaced == 0 && combs.dropFirst().min()! > 1.1, "\(combs)")
        }
    }
}
