import Codec
import Enhance
import EnhanceNetworks
import Foundation
import Media
import TestStreams
import Testing
@testable import Offline

/// Files of which coding artefacts are taken out at their size.
@Suite struct FileRestorationTests {
    private let size = PictureSize(width: 162, height: 98)

    /// Discs and stripes that move, coded to `in.mp4` as coarsely as `quality` says.
    private func write(_ scratch: Scratch, quality: Double) throws {
        var settings = MediaFileWriter.Settings()
        settings.quality = quality
        let writer = try MediaFileWriter(
            path: scratch.path("in.mp4"), video: FileVideo(size: size, frameRate: Rational(25)), settings: settings)
        for index in 0..<4 {
            let picture = Picture(size: size)
            let view = picture.mutableView
            for plane in [view.u, view.v] {
                for y in 0..<plane.height { plane.row(y).update(repeating: 120, count: plane.width) }
            }
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let (dx, dy) = (x - 60 - 3 * index, y - 50)
                    view.y.row(y)[x] = dx * dx + dy * dy < 900 ? 200 : UInt8(60 + (x + 2 * y + index) % 40 * 2)
                }
            }
            try writer.write(picture.view, at: Int64(index))
        }
        try writer.finish()
    }

    private func enhance(
        _ scratch: Scratch, _ input: String = "in.mp4", _ change: (inout FileEnhancement) -> Void
    ) throws -> (pictures: [[UInt8]], report: FileEnhancementReport, notices: [String]) {
        var work = FileEnhancement(input: scratch.path(input), output: scratch.path("out.y4m"))
        work.size = .same
        change(&work)
        var notices: [String] = []
        let report = try work.run(notice: { notices.append($0) }) { _, _ in true }
        let reader = try FileReader(path: scratch.path("out.y4m"))
        var pictures: [[UInt8]] = []
        while case .picture(let picture, _)? = try reader.next() { pictures.append(luma(picture.view)) }
        return (pictures, report, notices)
    }

    private func luma(_ view: PictureView) -> [UInt8] {
        (0..<view.size.height).flatMap { y in (0..<view.size.width).map { view.y.row(y)[$0] } }
    }

    /// The result is what the session makes of each picture and its quantiser.
    @Test(arguments: zip(FileEnhancement.Restoration.allCases, [SuperResolutionTier.neuralSmall, .neuralMedium]))
    func picturesAreRestoredByTheirQuantisers(restoration: FileEnhancement.Restoration, tier: SuperResolutionTier) throws {
        let scratch = try Scratch()
        try write(scratch, quality: 34)
        let restored = try enhance(scratch) { $0.restoration = restoration }
        #expect(restored.pictures.count == 4 && restored.notices.isEmpty && restored.report.tilesComputed > 0)

        var configuration = SuperResolutionConfiguration(size: size)
        configuration.scaleFactor = 1
        configuration.useShippedRestoration()
        let session = try SuperResolutionSession(configuration)
        let expected = Picture(size: size)
        let reader = try FileReader(path: scratch.path("in.mp4"), exportsQuantisers: true)
        while case .picture(let picture, _)? = try reader.next() {
            let told = picture.meanQuantiser
            let quantiser = Int(try #require(told).rounded())
            _ = try session.process(
                picture.view, into: expected.mutableView, tier: tier, SuperResolutionParameters(quantiser: quantiser))
            #expect(restored.pictures[Int(picture.id)] == luma(expected.view))
            #expect(restored.pictures[Int(picture.id)] != luma(picture.view))
        }
    }

    /// What nobody asked for, what was coded finely and what is enlarged stays out of it, and a line says why where it helps.
    @Test func picturesStayWhereThereIsNothingToRestore() throws {
        let scratch = try Scratch()
        try write(scratch, quality: 34)
        let plain = try enhance(scratch) { _ in }
        #expect(plain.report.tilesComputed == 0 && plain.notices.isEmpty)

        // Pictures that were never coded.
        try FileManager.default.moveItem(atPath: scratch.path("out.y4m"), toPath: scratch.path("raw.y4m"))
        let raw = try enhance(scratch, "raw.y4m") { $0.restoration = .small }
        #expect(raw.pictures == plain.pictures && raw.report.tilesComputed == 0)
        #expect(raw.notices.count == 1 && raw.notices.allSatisfy { $0.contains("not restored") })

        for size in [OutputSize.double, .oneAndHalf] {
            let larger = try enhance(scratch) { ($0.restoration, $0.size, $0.tier) = (.small, size, .neuralSmall) }
            let usual = try enhance(scratch) { ($0.size, $0.tier) = (size, .neuralSmall) }
            #expect(larger.pictures == usual.pictures && larger.notices.count == usual.notices.count + 1)
        }

        try write(scratch, quality: 3)
        let (fine, source) = (try enhance(scratch) { $0.restoration = .medium }, try enhance(scratch) { _ in })
        #expect(fine.pictures == source.pictures && fine.report.tilesComputed == 0)
    }

    /// Frames between restored pictures are made from them.
    @Test func framesBetweenAreMadeFromRestoredPictures() throws {
        let scratch = try Scratch()
        try write(scratch, quality: 40)
        func between(_ restoration: FileEnhancement.Restoration?) throws -> [[UInt8]] {
            try enhance(scratch) { ($0.interpolate, $0.motion, $0.restoration) = (2, .lowLatency, restoration) }.pictures
        }
        let (restored, plain) = (try between(.medium), try between(nil))
        #expect(restored.count == 7 && plain.count == 7)
        for index in 0..<7 { #expect(restored[index] != plain[index]) }
    }
}
