import Codec
import Enhance
import Media
import Telemetry
import TestStreams
import Testing

@testable import Offline

/// `burnish enhance --mask`.
@Suite struct FileMaskTests {
    private static let size = PictureSize(width: 64, height: 48)

    private func write(_ path: String, pictures: Int) throws {
        let writer = try MediaFileWriter(path: path, video: FileVideo(size: Self.size, frameRate: Rational(25)))
        let picture = Picture(size: Self.size)
        let view = picture.mutableView
        for index in 0..<pictures {
            for (plane, level) in [(view.y, 30), (view.u, 120), (view.v, 130)] {
                for y in 0..<plane.height {
                    for x in 0..<plane.width { plane.row(y)[x] = UInt8(level + (x * 7 + y * 3 + index) % 60) }
                }
            }
            try writer.write(picture.view, at: Int64(index))
        }
        try writer.finish()
    }

    /// Every picture that is written has the mask: the synthesised ones, and those that show what came.
    @Test(arguments: [nil, .split] as [FileEnhancement.Comparison?]) func everyPictureIsMasked(
        comparison: FileEnhancement.Comparison?
    ) throws {
        let scratch = try Scratch()
        try write(scratch.path("in.y4m"), pictures: 6)
        var work = FileEnhancement(input: scratch.path("in.y4m"), output: scratch.path("out.y4m"))
        (work.tier, work.size, work.interpolate, work.motion) = (.base, .double, 2, .lowLatency)
        work.comparison = comparison
        work.steps.mask = PrivacyMask([
            PrivacyMask.Area(x: 25, y: 25, width: 50, height: 50, .fill(PrivacyMask.FillColor("white")!))
        ])
        let report = try work.run { _, _ in true }
        #expect(report.picturesIn == 6 && report.picturesOut == 11)
        #expect(report.steps.first { $0.name == "mask" }?.time.count == 6)
        let reader = try FileReader(path: scratch.path("out.y4m"))
        var pictures = 0
        while let item = try reader.next() {
            guard case .picture(let picture, _) = consume item else { continue }
            pictures += 1
            let luma = picture.view.y
            // The line of a comparison stands in the middle.
            for x in [luma.width * 7 / 20, luma.width * 13 / 20] { #expect(luma.row(luma.height / 2)[x] > 225) }
            #expect(luma.row(luma.height / 8)[luma.width / 8] < 120)
        }
        #expect(pictures == 11)
    }
}
