import Codec
import Enhance
import Foundation
import Media
import Telemetry
import TestStreams
import Testing
@testable import Offline

/// `burnish enhance --denoise`.
@Suite(.timeLimit(.minutes(10))) struct FileDenoisingTests {
    private static let size = PictureSize(width: 64, height: 48)

    /// Writes a still scene with noise.
    private func writeNoise(_ path: String, pictures: Int) throws {
        // Knuth's constants for 64 bits.
        var state: UInt64 = 3
        func random() -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33)
        }
        let writer = try MediaFileWriter(path: path, video: FileVideo(size: Self.size, frameRate: Rational(25)))
        let picture = Picture(size: Self.size)
        let view = picture.mutableView
        for index in 0..<pictures {
            for (plane, level) in [(view.y, 100), (view.u, 120), (view.v, 130)] {
                for y in 0..<plane.height {
                    for x in 0..<plane.width {
                        // The sum of four has a standard deviation of 10 levels.
                        let noise = (0..<4).reduce(0) { sum, _ in sum + random() % 18 } - 34
                        plane.row(y)[x] = UInt8(level + noise)
                    }
                }
            }
            try writer.write(picture.view, at: Int64(index))
        }
        try writer.finish()
    }

    /// The standard deviation of each picture's luma, and its time.
    private func deviations(_ path: String) throws -> (values: [Double], times: [Int64]) {
        let reader = try FileReader(path: path)
        var (values, times): ([Double], [Int64]) = ([], [])
        while let item = try reader.next() {
            guard case .picture(let picture, let time) = consume item else { continue }
            let view = picture.view.y
            var (sum, squares) = (0.0, 0.0)
            for y in 0..<view.height {
                for x in 0..<view.width {
                    let sample = Double(view.row(y)[x])
                    sum += sample
                    squares += sample * sample
                }
            }
            let count = Double(view.width * view.height)
            values.append((squares / count - sum / count * (sum / count)).squareRoot())
            times.append(time)
        }
        return (values, times)
    }

    private func enhance(
        _ input: String, _ output: String, _ change: (inout FileEnhancement) -> Void
    ) throws -> FileEnhancementReport {
        var work = FileEnhancement(input: input, output: output)
        (work.tier, work.size) = (.base, .same)
        change(&work)
        return try work.run { _, _ in true }
    }

    @Test(arguments: FileEnhancement.Motion.allCases, [1, 5, 30])
    func noiseIsTakenAwayAndNoPictureIsLost(motion: FileEnhancement.Motion, pictures: Int) throws {
        let scratch = try Scratch()
        try writeNoise(scratch.path("in.y4m"), pictures: pictures)
        let report = try enhance(scratch.path("in.y4m"), scratch.path("out.y4m")) {
            ($0.motion, $0.steps.denoise) = (motion, 0.4)
        }
        #expect(report.picturesIn == pictures && report.picturesOut == pictures)
        let denoise = try #require(report.denoise)
        #expect(denoise.time.count == UInt64(pictures) && denoise.lumaDeviation == 10)
        let result = try deviations(scratch.path("out.y4m"))
        #expect(result.times == Array(0..<Int64(pictures)))
        // A picture alone keeps about half of it.
        #expect(result.values.allSatisfy { $0 < 6 }, "\(result.values)")
    }

    /// With pictures that come late, interpolation still finds its pairs.
    @Test func itGoesWithInterpolation() throws {
        let scratch = try Scratch()
        try writeNoise(scratch.path("in.y4m"), pictures: 14)
        let report = try enhance(scratch.path("in.y4m"), scratch.path("out.y4m")) {
            ($0.steps.denoise, $0.interpolate) = (nil, 2)
        }
        #expect(report.picturesOut == 27 && report.synthesised == 13)
        let noise = try #require(report.denoise?.lumaDeviation)
        #expect((7...13).contains(noise), "\(noise)")
        #expect(try deviations(scratch.path("out.y4m")).times == Array(0..<27))
    }

    @Test func withoutItNothingIsReported() throws {
        let scratch = try Scratch()
        try writeNoise(scratch.path("in.y4m"), pictures: 2)
        let report = try enhance(scratch.path("in.y4m"), scratch.path("out.y4m")) { _ in }
        #expect(report.denoise == nil)
        #expect(try scratch.read("in.y4m") == scratch.read("out.y4m"))
    }

    /// Of a file that was cut in the middle, all whole pictures come out, also those that wait for later ones.
    @Test(arguments: FileEnhancement.Motion.allCases, [1, 9, 17])
    func ofAFileThatWasCutOffNoPictureIsLost(motion: FileEnhancement.Motion, whole: Int) throws {
        let scratch = try Scratch()
        try writeNoise(scratch.path("in.y4m"), pictures: 20)
        let bytes = try scratch.read("in.y4m")
        let picture = "FRAME\n".utf8.count + Self.size.width * Self.size.height * 3 / 2
        let cut = bytes.count - (20 - whole) * picture + picture / 2
        let part = try scratch.write(Array(bytes.prefix(cut)), to: "part.y4m")
        let report = try enhance(part, scratch.path("out.y4m")) { ($0.motion, $0.steps.denoise) = (motion, 0.4) }
        #expect(report.isCutOff && report.picturesIn == whole && report.picturesOut == whole)
        let result = try deviations(scratch.path("out.y4m"))
        #expect(result.times == Array(0..<Int64(whole)) && result.values.allSatisfy { $0 < 6 }, "\(result)")
    }

    /// Pictures of another size are brought to that of the first and filtered like them.
    @Test(arguments: FileEnhancement.Motion.allCases) func noPictureIsLostWhereTheSizeChanges(
        motion: FileEnhancement.Motion
    ) throws {
        let scratch = try Scratch()
        let stream =
            try TestStream.video(frames: 20)
            + TestStream.video(frames: 4, size: PictureSize(width: 96, height: 64), start: 11)
        let input = try scratch.write(stream, to: "in.ts")
        let report = try enhance(input, scratch.path("out.y4m")) { ($0.motion, $0.steps.denoise) = (motion, 0.1) }
        #expect(report.picturesOut == 24)
        #expect(try deviations(scratch.path("out.y4m")).times == Array(0..<24))
    }

    @Test func aStrengthOutOfRangeIsRefused() throws {
        let scratch = try Scratch()
        try writeNoise(scratch.path("in.y4m"), pictures: 2)
        for motion in FileEnhancement.Motion.allCases {
            let failure = #expect(throws: FileEnhancementError.self) {
                _ = try enhance(scratch.path("in.y4m"), scratch.path("out.y4m")) {
                    ($0.motion, $0.steps.denoise) = (motion, 1.5)
                }
            }
            #expect("\(String(describing: failure))".contains("0 to 1"))
        }
    }
}
