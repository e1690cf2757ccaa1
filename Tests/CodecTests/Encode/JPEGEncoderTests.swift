import Foundation
import Media
import Testing
@testable import Codec

@Suite struct JPEGEncoderTests {
    /// A picture of one colour.
    private func plain(_ size: PictureSize, _ y: UInt8, _ u: UInt8, _ v: UInt8) -> Picture {
        let picture = Picture(size: size)
        let view = picture.mutableView
        for row in 0..<size.height { view.y.row(row).update(repeating: y, count: size.width) }
        for row in 0..<size.chroma.height {
            view.u.row(row).update(repeating: u, count: size.chroma.width)
            view.v.row(row).update(repeating: v, count: size.chroma.width)
        }
        return picture
    }

    /// The size and the colour in the middle of a JPEG, as libavcodec decodes it.
    private func decode(_ jpeg: [UInt8]) throws -> (size: PictureSize, y: Int, u: Int, v: Int) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "picture.jpg")
        try Data(jpeg).write(to: file)
        let reader = try FileReader(path: file.path)
        guard let item = try reader.next(), case .picture(let picture, _) = consume item else {
            throw CodecError(.noVideo, operation: "test", message: "no picture", place: "test")
        }
        let (view, size) = (picture.view, picture.size)
        let (x, y) = (size.width / 2, size.height / 2)
        return (size, Int(view.y.row(y)[x]), Int(view.u.row(y / 2)[x / 2]), Int(view.v.row(y / 2)[x / 2]))
    }

    /// Red of BT.709 in limited range is red in a JPEG, which has BT.601 and full range. So is that of BT.601.
    @Test(arguments: [
        (UInt8(1), ColorDescription.Range.limited, UInt8(63), UInt8(102), UInt8(240)), (6, .limited, 81, 90, 240),
        (6, .full, 76, 85, 255),
    ])
    func coloursAreKept(matrix: UInt8, range: ColorDescription.Range, y: UInt8, u: UInt8, v: UInt8) throws {
        var color = ColorDescription()
        color.matrix = matrix
        color.range = range
        let picture = plain(PictureSize(width: 320, height: 180), y, u, v)
        let jpeg = try JPEGEncoder.encode(picture.view, color, width: 160)
        #expect(jpeg.starts(with: [0xFF, 0xD8]) && jpeg.suffix(2) == [0xFF, 0xD9])
        let shown = try decode(jpeg)
        #expect(shown.size == PictureSize(width: 160, height: 90))
        #expect(abs(shown.y - 76) <= 3 && abs(shown.u - 85) <= 3 && abs(shown.v - 255) <= 3, "\(shown)")
    }

    @Test(arguments: [
        (640, 360, 0, 1, 320, 320, 180), (640, 360, 1, 1, 4000, 640, 360), (720, 576, 16, 11, 4000, 720, 396),
        (352, 576, 1, 2, 4000, 176, 576), (101, 77, 0, 1, 50, 50, 38), (2, 2, 0, 1, 640, 2, 2), (640, 2, 0, 1, 64, 64, 2),
        (640, 360, 1000, 1, 320, 320, 180),
    ])
    func picturesAreShownWithSquarePixelsAndNeverEnlarged(
        width: Int, height: Int, numerator: Int64, denominator: Int64, most: Int, shownWidth: Int, shownHeight: Int
    ) throws {
        var color = ColorDescription()
        color.sampleAspectRatio = Rational(numerator, denominator)
        let picture = plain(PictureSize(width: width, height: height), 100, 128, 128)
        let shown = try decode(try JPEGEncoder.encode(picture.view, color, width: most))
        #expect(shown.size == PictureSize(width: shownWidth, height: shownHeight))
    }

    /// People see a picture that is to be turned upright, and its width is that of what they see.
    @Test func picturesAreShownUpright() throws {
        let size = PictureSize(width: 320, height: 160)
        let picture = plain(size, 60, 128, 128)
        // The upper half is bright, and is to the right after a clockwise turn.
        for row in 0..<80 { picture.mutableView.y.row(row).update(repeating: 200, count: size.width) }
        var color = ColorDescription()
        color.orientation = Orientation(rotation: 0xC000)
        color.sampleAspectRatio = Rational(1, 2)
        #expect(JPEGEncoder.shownSize(of: size, color, width: 4000) == PictureSize(width: 160, height: 160))
        let jpeg = try JPEGEncoder.encode(picture.view, color, width: 80)
        let scratch = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID().uuidString).jpg")
        defer { try? FileManager.default.removeItem(at: scratch) }
        try Data(jpeg).write(to: scratch)
        let reader = try FileReader(path: scratch.path)
        guard case .picture(let shown, _)? = try reader.next() else { throw CodecError.nothing }
        #expect(shown.size == PictureSize(width: 80, height: 80))
        let row = shown.view.y.row(40)
        #expect(row[10] < 100 && row[70] > 180)
    }
}

extension CodecError {
    fileprivate static let nothing = CodecError(.noVideo, operation: "test", message: "no picture", place: "test")
}
