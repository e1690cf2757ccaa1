import Foundation
import Media
import TestSupport
import Testing

@testable import Codec

/// What files say of how they are shown: turned pictures, transparent ones, and when they begin.
@Suite struct FileShapeTests {
    private func make(_ folder: TemporaryFolder, _ name: String, _ options: [String]) throws -> String {
        let path = folder.file(name).path
        let made = try runTool(["ffmpeg", "-v", "error"] + options + [path])
        #expect(made.status == 0, "\(made.errors)")
        return path
    }

    private func orientation(_ path: String) throws -> Orientation { try FileReader(path: path).video.color.orientation }

    /// A container's matrix for a clockwise quarter turn, and for one that is mirrored, too: in 16.16 fixed point.
    @Test(
        arguments: [
            ([0, 0x10000, -0x10000, 0], Orientation(rotation: 0xC000)),
            ([0, -0x10000, 0x10000, 0], Orientation(rotation: 0x4000)),
            ([-0x10000, 0, 0, -0x10000], Orientation(rotation: 0x8000)),
            ([-0x10000, 0, 0, 0x10000], Orientation(isFlippedHorizontally: true)),
            ([0x10000, 0, 0, 0x10000], .upright),
        ] as [([Int32], Orientation)])
    func aContainerSaysHowItsVideoIsTurned(matrix: [Int32], expected: Orientation) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, "a.mp4", ["-f", "lavfi", "-i", "testsrc2=size=96x64", "-frames:v", "3"])
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        let header = try #require((0..<bytes.count - 4).first { Array(bytes[$0..<$0 + 4]) == Array("tkhd".utf8) })
        for (place, value) in zip([0, 1, 3, 4], matrix) {
            let at = header + 44 + 4 * place
            for byte in 0..<4 { bytes[at + byte] = UInt8(truncatingIfNeeded: value >> Int32(24 - 8 * byte)) }
        }
        try Data(bytes).write(to: URL(filePath: path))
        #expect(try orientation(path) == expected)
        // Each picture says it, and pictures as they are coded have the size that they were coded in.
        let reader = try FileReader(path: path)
        while case .picture(let picture, _)? = try reader.next() {
            #expect(picture.color.orientation == expected && picture.size == PictureSize(width: 96, height: 64))
        }
    }

    @Test func aStreamSaysHowItIsTurned() throws {
        let folder = try TemporaryFolder()
        let path = try make(
            folder, "a.ts",
            [
                "-f", "lavfi", "-i", "testsrc2=size=96x64", "-frames:v", "12", "-g", "4", "-c:v", "libx264", "-bsf:v",
                "h264_metadata=display_orientation=insert:rotate=90",
            ])
        let expected = Orientation(rotation: 0x4000)
        let reader = try FileReader(path: path)
        #expect(reader.video.color.orientation == expected)
        var count = 0
        while case .picture(let picture, _)? = try reader.next() {
            #expect(picture.color.orientation == expected)
            count += 1
        }
        #expect(count == 12)
    }

    /// The tag of a photograph, as each kind of file has it.
    @Test(arguments: ["jpg", "png"], [1, 3, 6, 7] as [UInt8]) func aPhotographSaysHowItIsTurned(
        kind: String, tag: UInt8
    ) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, "a.\(kind)", ["-f", "lavfi", "-i", "testsrc2=size=96x64", "-frames:v", "1"])
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        var directory = Array("MM\0*".utf8)
        directory += [0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, tag, 0, 0, 0, 0, 0, 0] as [UInt8]
        switch kind {
        case "jpg":
            let exif = Array("Exif\0\0".utf8) + directory
            let marker: [UInt8] = [0xFF, 0xE1, 0, UInt8(exif.count + 2)]
            bytes.insert(contentsOf: marker + exif, at: 2)
        default:
            // Behind the first chunk. libavcodec does not look at checksums.
            var chunk: [UInt8] = [0, 0, 0, UInt8(directory.count)]
            chunk += Array("eXIf".utf8)
            chunk += directory
            chunk += [0, 0, 0, 0]
            bytes.insert(contentsOf: chunk, at: 33)
        }
        try Data(bytes).write(to: URL(filePath: path))
        let expected: [UInt8: Orientation] = [
            1: .upright, 3: Orientation(rotation: 0x8000), 6: Orientation(rotation: 0xC000),
            7: Orientation(isFlippedHorizontally: true, rotation: 0xC000),
        ]
        #expect(try PictureTurn(orientation(path)) == PictureTurn(expected[tag]!))
    }

    /// Clear at the left, opaque at the right, half of it between.
    @Test(arguments: ["rgba", "rgba64be", "ya8", "gbrap", "yuva444p10le"]) func transparencyIsRead(format: String) throws {
        let folder = try TemporaryFolder()
        let isPNG = ["rgba", "rgba64be", "ya8"].contains(format)
        func clear(_ level: String) -> [String] {
            let picture = "color=gray:size=96x64,format=rgba,geq=r=200:g=100:b=50:a='\(level)'"
            let coding: [String] = isPNG ? [] : ["-c:v", "ffv1"]
            return ["-f", "lavfi", "-i", picture, "-frames:v", "1", "-pix_fmt", format] + coding
        }
        let kind = isPNG ? "png" : "mkv"
        let path = try make(folder, "a.\(kind)", clear("if(lt(X,32),0,if(lt(X,64),128,255))"))
        let reader = try FileReader(path: path, readsTransparency: true)
        _ = try reader.next()
        let transparency = try #require(reader.transparency)
        #expect([16, 48, 80].map { transparency.view.y.row(30)[$0] } == [0, 128, 255])
        // What could be transparent, and is not.
        let opaque = try FileReader(path: try make(folder, "b.\(kind)", clear("255")), readsTransparency: true)
        _ = try opaque.next()
        #expect(opaque.transparency == nil)
        let unasked = try FileReader(path: path)
        _ = try unasked.next()
        #expect(unasked.transparency == nil)
    }

    /// A recording that begins late begins at zero, with its sound where it was.
    @Test(arguments: ["ts", "mkv"]) func aRecordingBeginsAtZero(kind: String) throws {
        let folder = try TemporaryFolder()
        let path = try make(
            folder, "a.\(kind)",
            [
                "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25", "-f", "lavfi", "-i", "sine", "-t", "2", "-c:v",
                "libx264", "-c:a", "aac", "-output_ts_offset", "50000",
            ])
        let reader = try FileReader(path: path)
        let writer = try MediaFileWriter(path: folder.file("out.mp4").path, video: reader.video, keeping: reader)
        var times: [Double] = []
        while let item = try reader.next() {
            switch consume item {
            case .picture(let picture, let time):
                times.append(Double(time) * reader.video.timeBase.value)
                try writer.write(picture.view, at: time)
            case .passed(let packet): try writer.write(packet)
            }
        }
        try writer.finish()
        #expect(times.count == 50 && (0..<0.3).contains(times[0]) && times[49] < 2.4, "\(times)")
        #expect(reader.jumps == 0)
        let shown = try runTool([
            "ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", folder.file("out.mp4").path,
        ])
        let length = try #require(Double(shown.output.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect((1.9..<2.5).contains(length))
    }
}
