import Codec
import Foundation
import Media
import TestStreams
import TestSupport
import Testing

@testable import Offline

/// `burnish thumbnails` on files.
@Suite(.timeLimit(.minutes(5))) struct ThumbnailsTests {
    private func ffmpeg(_ arguments: [String]) throws {
        let made = try runTool(["ffmpeg", "-v", "error", "-y"] + arguments)
        #expect(made.status == 0, "\(made.errors)")
    }

    /// Three scenes of two seconds, each black or blurred but for its last part: the pictures come from those.
    @Test(arguments: [250, 1]) func faultsAreNotChosen(keyframes: Int) throws {
        let scratch = try Scratch()
        let path = scratch.path("in.mkv")
        let scenes = [
            "testsrc=size=320x180:rate=25", "smptebars=size=320x180:rate=25,noise=alls=6", "mandelbrot=size=320x180:rate=25",
        ]
        var arguments: [String] = []
        for scene in scenes { arguments += ["-f", "lavfi", "-t", "2", "-i", scene] }
        let faults = [
            "drawbox=t=fill:c=black:enable='lt(t,1.2)'", "gblur=sigma=6:enable='lt(t,1.2)'", "gblur=sigma=6:enable='lt(t,1.2)'",
        ]
        let chains = faults.enumerated().map { "[\($0.offset):v]format=yuv420p,\($0.element)[v\($0.offset)]" }.joined(
            separator: ";")
        arguments += ["-filter_complex", chains + ";[v0][v1][v2]concat=n=3[v]", "-map", "[v]", "-c:v", "libx264", "-crf", "18"]
        try ffmpeg(arguments + ["-g", "\(keyframes)", path])
        var search = Thumbnails()
        search.width = 160
        let found = try search.find(in: path)
        #expect(found.count == 3)
        #expect(Set(found.map { Int($0.time / 2) }).count == 3, "\(found.map(\.time))")
        for thumbnail in found {
            #expect(thumbnail.time.truncatingRemainder(dividingBy: 2) >= 1.15, "\(thumbnail.time)")
            #expect(thumbnail.jpeg.starts(with: [0xFF, 0xD8]) && thumbnail.score > 0.3)
        }
        #expect(zip(found, found.dropFirst()).allSatisfy { $0.picture != $1.picture })
        let one = try FileReader(path: try scratch.write(found[0].jpeg, to: "a.jpg"))
        #expect(one.video.size == PictureSize(width: 160, height: 90))
    }

    /// By keyframes alone there are fewer pictures, each at its own time.
    @Test func keyframesAreReadAlone() throws {
        let scratch = try Scratch()
        let path = scratch.path("in.mp4")
        try ffmpeg(["-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25", "-t", "2", "-c:v", "libx264", "-g", "10", path])
        let reader = try FileReader(path: path, onlyKeyframes: true)
        var times: [Double] = []
        while case .picture(let picture, let time)? = try reader.next() {
            let isKeyframe = picture.isKeyframe
            #expect(isKeyframe)
            times.append(Double(time) * reader.video.timeBase.value)
        }
        #expect(times.count == 5 && zip(times, [0, 0.4, 0.8, 1.2, 1.6]).allSatisfy { abs($0 - $1) < 0.001 }, "\(times)")
    }

    @Test func aFileOfOnePictureHasThat() throws {
        let scratch = try Scratch()
        let path = scratch.path("in.png")
        try ffmpeg(["-f", "lavfi", "-i", "testsrc2=size=96x64", "-frames:v", "1", path])
        let found = try Thumbnails().find(in: path)
        #expect(found.count == 1 && found[0].picture == 0)
        #expect(throws: CodecError.self) { try Thumbnails().find(in: scratch.path("missing.mp4")) }
    }
}
