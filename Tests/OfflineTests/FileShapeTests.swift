import Codec
import Enhance
import Foundation
import Media
import TestStreams
import Testing
@testable import Offline

/// `burnish enhance` on files whose pictures are turned, transparent, or carry captions.
@Suite(.timeLimit(.minutes(5))) struct FileShapeTests {
    private static let size = PictureSize(width: 96, height: 64)

    /// Each quarter has its own level: 40 and 80 above, 120 and 160 below.
    private func quarters() -> Picture {
        let picture = Picture(size: Self.size)
        let view = picture.mutableView
        for y in 0..<Self.size.height {
            for x in 0..<Self.size.width { view.y.row(y)[x] = UInt8(40 + x / 48 * 40 + y / 32 * 80) }
        }
        for plane in [view.u, view.v] { for y in 0..<plane.height { plane.row(y).update(repeating: 128, count: plane.width) } }
        return picture
    }

    /// A transport stream of such pictures, which are to be turned.
    private func stream(_ orientation: Orientation, frames: Int = 3, carrying data: (Int) -> PictureUserData? = { _ in nil })
        throws
        -> [UInt8]
    {
        var configuration = VideoEncoderConfiguration(size: Self.size, frameRate: Rational(25))
        configuration.color.orientation = orientation
        configuration.rateControl = .quality(5, maximumRate: nil, bufferFrames: 2)
        let encoder = try VideoEncoder(configuration)
        var units: [TestStream.Coded] = []
        let picture = quarters()
        for index in 0..<frames {
            let time = MediaTime(ticks: 90_000 + Int64(index) * 3600)
            try encoder.encode(picture.view, id: Int64(index), at: time, asKeyframe: index == 0, carrying: data(index)) {
                units.append(
                    TestStream.Coded(Array($0.bytes), presentation: time, decode: time, isKeyframe: $0.isKeyframe))
            }
        }
        return try TestStream.multiplexed(units)
    }

    /// The levels in the middle of the quarters of a file's first picture, from the top left on, and its size.
    private func shown(_ path: String) throws -> (levels: [Int], size: PictureSize, orientation: Orientation) {
        let reader = try FileReader(path: path)
        guard case .picture(let picture, _)? = try reader.next() else { return ([], Self.size, .upright) }
        let (size, luma) = (picture.size, picture.view.y)
        let levels = [(1, 1), (3, 1), (1, 3), (3, 3)].map { across, down in
            Int(luma.row(size.height * down / 4)[size.width * across / 4])
        }
        return (levels, size, reader.video.color.orientation)
    }

    private func enhance(_ input: String, _ output: String, _ change: (inout FileEnhancement) -> Void = { _ in }) throws -> (
        report: FileEnhancementReport, notices: [String]
    ) {
        var work = FileEnhancement(input: input, output: output)
        work.tier = .base
        change(&work)
        var notices: [String] = []
        let report = try work.run(notice: { notices.append($0) }) { _, _ in true }
        return (report, notices)
    }

    @Test(
        arguments: [
            (Orientation.upright, [40, 80, 120, 160]), (Orientation(rotation: 0xC000), [120, 40, 160, 80]),
            (Orientation(rotation: 0x4000), [80, 160, 40, 120]), (Orientation(rotation: 0x8000), [160, 120, 80, 40]),
            (Orientation(isFlippedHorizontally: true), [80, 40, 160, 120]),
            (Orientation(isFlippedHorizontally: true, rotation: 0xC000), [160, 80, 120, 40]),
        ] as [(Orientation, [Int])], ["y4m", "mp4", "png"])
    func picturesAreWrittenUpright(_ turned: (Orientation, [Int]), kind: String) throws {
        let (orientation, levels) = turned
        let scratch = try Scratch()
        let frames = kind == "png" ? 1 : 3
        let input = try scratch.write(try stream(orientation, frames: frames), to: "in.ts")
        let output = scratch.path("out.\(kind)")
        let outcome = try enhance(input, output) { $0.interpolate = kind == "png" ? 1 : 2 }
        #expect(outcome.notices.isEmpty)
        let shown = try shown(output)
        let isTurned = [0x4000, 0xC000].contains(orientation.rotation)
        #expect(shown.size == (isTurned ? PictureSize(width: 128, height: 192) : PictureSize(width: 192, height: 128)))
        #expect(zip(shown.levels, levels).allSatisfy { abs($0 - $1) <= 4 }, "\(shown.levels)")
        #expect(shown.orientation == .upright)
    }

    /// An exact size is that of the picture as it is shown, and the line of a comparison stands upright.
    @Test func aSizeIsThatOfTheUprightPicture() throws {
        let scratch = try Scratch()
        let input = try scratch.write(try stream(Orientation(rotation: 0xC000)), to: "in.ts")
        _ = try enhance(input, scratch.path("out.y4m")) {
            $0.size = .exactly(PictureSize(width: 160, height: 240))
            $0.comparison = .split
        }
        let shown = try shown(scratch.path("out.y4m"))
        #expect(shown.size == PictureSize(width: 160, height: 240))
        #expect(zip(shown.levels, [120, 40, 160, 80]).allSatisfy { abs($0 - $1) <= 4 }, "\(shown.levels)")
    }

    @Test func anAngleIsTurnedToTheNearestSide() throws {
        let scratch = try Scratch()
        let input = try scratch.write(try stream(Orientation(rotation: 0x3000)), to: "in.ts")
        let outcome = try enhance(input, scratch.path("out.y4m"))
        #expect(outcome.notices.count == 1 && outcome.notices[0].contains("angle"), "\(outcome.notices)")
        #expect(try shown(scratch.path("out.y4m")).size == PictureSize(width: 128, height: 192))
    }

    /// A turn in mid-stream that does not fit is said once, and loses no picture.
    @Test func anotherTurnInMidStreamLosesNothing() throws {
        let scratch = try Scratch()
        let first = TestStream.coded(in: try stream(.upright))
        let second = TestStream.coded(in: try stream(Orientation(rotation: 0x4000)))
        let later = second.map {
            TestStream.Coded(
                $0.bytes, presentation: $0.presentation + 3 * 3600, decode: $0.decode + 3 * 3600, isKeyframe: $0.isKeyframe)
        }
        let input = try scratch.write(try TestStream.multiplexed(first + later), to: "in.ts")
        let outcome = try enhance(input, scratch.path("out.mp4"))
        #expect(outcome.report.picturesOut == 6)
        #expect(outcome.notices.count == 1 && outcome.notices[0].contains("one size"), "\(outcome.notices)")
    }

    // MARK: Transparency

    /// Clear at the left, opaque at the right.
    private func clearPicture(_ scratch: Scratch, isOpaque: Bool = false) throws -> String {
        let path = scratch.path(isOpaque ? "opaque.png" : "clear.png")
        let clear = Picture(size: Self.size)
        for y in 0..<Self.size.height {
            for x in 0..<Self.size.width { clear.mutableView.y.row(y)[x] = x < 48 && !isOpaque ? 0 : 255 }
        }
        let writer = try MediaFileWriter(path: path, video: FileVideo(size: Self.size, frameRate: Rational(25)))
        #expect(writer.holdsTransparency)
        try writer.write(quarters().view, at: 0, transparency: clear.view.y)
        try writer.finish()
        return path
    }

    @Test func transparencyIsKeptAndEnlarged() throws {
        let scratch = try Scratch()
        let outcome = try enhance(try clearPicture(scratch), scratch.path("out.png"))
        // RGB at full resolution is more than is kept.
        #expect(outcome.notices.count == 1 && outcome.notices[0].contains("8-bit RGB"), "\(outcome.notices)")
        #expect(outcome.report.picturesConverted == 1)
        let reader = try FileReader(path: scratch.path("out.png"), readsTransparency: true)
        _ = try reader.next()
        let clear = try #require(reader.transparency)
        #expect(clear.size == Self.size.scaled(by: 2))
        for y in [0, 50, 127] {
            let row = clear.view.y.row(y)
            #expect([0, 40, 80].allSatisfy { row[$0] == 0 } && [110, 150, 191].allSatisfy { row[$0] == 255 })
            #expect((90..<102).contains { (1...254).contains(row[$0]) })
        }
    }

    @Test(arguments: ["mp4", "jpg", "y4m"]) func whatIsTransparentIsSaidToBeLost(kind: String) throws {
        let scratch = try Scratch()
        let lost = try enhance(try clearPicture(scratch), scratch.path("out.\(kind)")).notices
        #expect(lost.filter { $0.contains("transparent") && $0.contains(".png") }.count == 1, "\(lost)")
        let opaque = try enhance(try clearPicture(scratch, isOpaque: true), scratch.path("out.\(kind)")).notices
        #expect(!opaque.contains { $0.contains("transparent") }, "\(opaque)")
    }

    // MARK: Captions

    /// A pair of letters for each picture, and an active format.
    private func letters(_ index: Int) -> PictureUserData {
        var data = PictureUserData()
        data.append(0xFC, UInt8(65 + index % 26), UInt8(97 + index / 26))
        data.append(0xFD, 0x80, 0x80)
        data.activeFormat = UInt8(8 + index % 2)
        return data
    }

    private func read(_ path: String) throws -> (pairs: [[UInt8]], formats: [UInt8?]) {
        let reader = try FileReader(path: path)
        var (pairs, formats): ([[UInt8]], [UInt8?]) = ([], [])
        while let item = try reader.next() {
            guard case .picture(let picture, _) = consume item else { continue }
            let data = picture.userData
            if let data, data.pieces > 0 { pairs.append([data[1], data[2]]) }
            formats.append(data?.activeFormat)
        }
        return (pairs, formats)
    }

    /// They go with their pictures through B-frames of the output, the noise filter and synthesis.
    @Test(arguments: [("mp4", 1), ("mkv", 2), ("ts", 2)], [false, true]) func captionsStayWithTheirPictures(
        output: (String, Int), denoises: Bool
    ) throws {
        let (kind, step) = output
        let scratch = try Scratch()
        let input = try scratch.write(try stream(.upright, frames: 40) { letters($0) }, to: "in.ts")
        let path = scratch.path("out.\(kind)")
        let outcome = try enhance(input, path) {
            $0.interpolate = step
            $0.motion = .quality
            $0.steps.denoise = denoises ? 0.3 : 0
        }
        #expect(outcome.report.captionsPassed == 40 && outcome.report.captionsDropped == 0 && outcome.notices.isEmpty)
        let found = try read(path)
        let pairs = (0..<40).map { (index: Int) -> [UInt8] in [UInt8(65 + index % 26), UInt8(97 + index / 26)] }
        #expect(found.pairs == pairs)
        #expect(found.formats.count == 39 * step + 1)
        for (index, format) in found.formats.enumerated() {
            #expect(format == (index % step == 0 ? UInt8(8 + index / step % 2) : nil))
        }
    }

    /// Also of originals that no slot shows.
    @Test(arguments: [10, 24, 60], FileEnhancement.Motion.allCases) func captionsStayAtAnyRate(
        rate: Int64, motion: FileEnhancement.Motion
    ) throws {
        let scratch = try Scratch()
        let input = try scratch.write(try stream(.upright, frames: 40) { letters($0) }, to: "in.ts")
        let outcome = try enhance(input, scratch.path("out.mp4")) { ($0.rate, $0.motion) = (Rational(rate), motion) }
        #expect(outcome.report.captionsPassed == 40 && outcome.report.captionsDropped == 0 && outcome.notices.isEmpty)
        let reader = try FileReader(path: scratch.path("out.mp4"))
        var found: [UInt8] = []
        while case .picture(let picture, _)? = try reader.next() {
            guard let data = picture.userData else { continue }
            for piece in 0..<data.pieces where data[3 * piece] == 0xFC { found.append(data[3 * piece + 1]) }
        }
        #expect(found == (0..<40).map { UInt8(65 + $0 % 26) })
    }

    @Test func captionsThatAreLostAreSaid() throws {
        let scratch = try Scratch()
        let input = try scratch.write(try stream(.upright, frames: 5) { letters($0) }, to: "in.ts")
        let outcome = try enhance(input, scratch.path("out.y4m"))
        #expect(outcome.report.captionsPassed == 0 && outcome.report.captionsDropped == 5)
        #expect(outcome.notices.count == 1 && outcome.notices[0].contains("captions"), "\(outcome.notices)")
    }
}
