import Foundation
import Media
import TestSupport
import Testing

@testable import Codec

/// What other programs wrote looks the same after it was read and written: all ranges, matrices and sample formats.
@Suite struct FileColourTests {
    /// How a file with the bars is made, and what kind of bars.
    struct Kind: Sendable, CustomTestStringConvertible {
        var name: String
        var format: String
        var options: [String] = []
        var isGrey = false
        var testDescription: String { "\(name) \(format) \(options.joined(separator: " "))" }
    }

    private static let width = 256
    private static let height = 64
    private static let colours: [(UInt8, UInt8, UInt8)] = [
        (255, 255, 255), (0, 0, 0), (255, 0, 0), (0, 255, 0), (0, 0, 255), (128, 128, 128), (250, 200, 30), (16, 235, 128),
    ]
    private static let greys: [(UInt8, UInt8, UInt8)] = [255, 0, 16, 235, 128, 64, 240, 8].map { ($0, $0, $0) }

    static let kinds: [Kind] = [
        Kind(name: "a.png", format: "rgb24"), Kind(name: "a.png", format: "rgba"), Kind(name: "a.png", format: "rgb48be"),
        Kind(name: "a.png", format: "rgba64be"),
        Kind(
            name: "a.png", format: "pal8",
            options: ["-vf", "split[a][b];[a]palettegen=reserve_transparent=0[p];[b][p]paletteuse=dither=none"]),
        Kind(name: "a.png", format: "gray", isGrey: true), Kind(name: "a.png", format: "gray16be", isGrey: true),
        Kind(name: "a.png", format: "ya8", isGrey: true), Kind(name: "a.bmp", format: "bgr24"),
        Kind(name: "a.tiff", format: "rgb24"), Kind(name: "a.jpg", format: "yuvj444p", options: ["-q:v", "1"]),
        Kind(name: "a.mkv", format: "bgr0", options: ["-c:v", "ffv1"]),
        Kind(name: "b.mkv", format: "gbrp10le", options: ["-c:v", "ffv1"]),
        Kind(name: "a.mp4", format: "rgb24", options: ["-c:v", "libx264rgb", "-qp", "0"]),
        Kind(name: "c.mkv", format: "gbrp", options: ["-c:v", "libx265", "-x265-params", "lossless=1:log-level=none"]),
        Kind(
            name: "d.mkv", format: "gray", options: ["-c:v", "libx265", "-x265-params", "lossless=1:log-level=none"],
            isGrey: true),
        Kind(name: "e.mkv", format: "yuv444p", options: ["-c:v", "libx264", "-qp", "0"]),
        Kind(
            name: "f.mkv", format: "yuv444p",
            options: [
                "-vf", "scale=out_range=pc:out_color_matrix=bt709", "-color_range", "pc", "-colorspace", "bt709", "-c:v",
                "libx264", "-qp", "0",
            ]),
        Kind(
            name: "g.mkv", format: "yuvj420p",
            options: ["-vf", "scale=out_color_matrix=bt709", "-colorspace", "bt709", "-c:v", "libx264", "-qp", "0"]),
    ]

    private func makeBars(_ kind: Kind, _ folder: TemporaryFolder) throws -> String {
        var raw: [UInt8] = []
        let bars = kind.isGrey ? Self.greys : Self.colours
        for _ in 0..<Self.height {
            for x in 0..<Self.width {
                let bar = bars[x * bars.count / Self.width]
                raw += [bar.0, bar.1, bar.2]
            }
        }
        try Data(raw).write(to: folder.file("bars.raw"))
        let path = folder.file(kind.name).path
        let made = try runTool(
            [
                "ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "\(Self.width)x\(Self.height)", "-i",
                folder.file("bars.raw").path,
            ] + kind.options + ["-pix_fmt", kind.format, "-frames:v", "1", path])
        #expect(made.status == 0, "\(made.errors)")
        return path
    }

    /// The middle of each bar, as FFmpeg shows a file.
    private func shown(_ path: String, _ folder: TemporaryFolder) throws -> [[Int]] {
        let raw = folder.file("shown.raw")
        let ran = try runTool([
            "ffmpeg", "-v", "error", "-y", "-i", path, "-frames:v", "1", "-vf", "scale=sws_flags=accurate_rnd+full_chroma_int",
            "-f", "rawvideo", "-pix_fmt", "rgb24", raw.path,
        ])
        #expect(ran.status == 0, "\(ran.errors)")
        let bytes = [UInt8](try Data(contentsOf: raw))
        return try (0..<8).map { bar in
            let at = 3 * (Self.height / 2 * Self.width + bar * 32 + 16)
            try #require(bytes.count >= at + 3)
            return bytes[at..<at + 3].map { Int($0) }
        }
    }

    @Test(arguments: kinds, ["png", "mp4", "y4m"]) func barsStayAsTheyAre(kind: Kind, output: String) throws {
        let folder = try TemporaryFolder()
        let input = try makeBars(kind, folder)
        let reader = try FileReader(path: input)
        let path = folder.file("out.\(output)").path
        var settings = MediaFileWriter.Settings()
        settings.quality = 1
        let writer = try MediaFileWriter(path: path, video: reader.video, settings: settings)
        guard case .picture(let picture, let time)? = try reader.next() else { throw CodecError.noPicture }
        #expect(reader.video.color == picture.color)
        try writer.write(picture.view, at: time)
        try writer.finish()
        // The format of uncompressed pictures has no place for the matrix.
        if output == "y4m", reader.video.color.matrix == 1 { return }
        for (wanted, found) in zip(try shown(input, folder), try shown(path, folder)) {
            #expect(zip(found, wanted).allSatisfy { abs($0 - $1) <= 3 }, "\(found) for \(wanted)")
        }
    }

    /// 8 bits of colour at half the resolution are less than some formats have, and as much as others.
    @Test(arguments: [
        ("rgb48be", true, "16-bit RGB"), ("rgb24", true, "8-bit RGB"), ("gray16be", true, "16-bit grey"),
        ("gray", false, "8-bit grey"), ("pal8", true, "8-bit RGB"), ("ya8", false, "8-bit grey"),
    ])
    func whatIsLostIsKnown(format: String, isReduced: Bool, text: String) throws {
        let folder = try TemporaryFolder()
        let reader = try FileReader(path: try makeBars(Kind(name: "a.png", format: format), folder))
        guard case .picture(let picture, _)? = try reader.next() else { throw CodecError.noPicture }
        let source = picture.convertedFrom
        let format = try #require(source)
        #expect(format.isReduced == isReduced && "\(format)" == text)
    }
}

extension CodecError {
    fileprivate static let noPicture = CodecError(.noVideo, operation: "test", message: "no picture", place: "test")
}
