import Bitstream
import Codec
import Foundation
import Measure
import Media
import TestStreams
import Testing
import WorkerProtocol

/// `burnish deferred` as a process of its own, in its sandbox.
@Suite(.timeLimit(.minutes(10))) struct DeferredCommandTests {
    private static let size = PictureSize(width: 320, height: 180)

    /// Units of pictures with time codes, all of one group.
    private func units(_ count: Int, target: Int64, from first: Int = 0) throws -> UnitFile {
        let encoder = try VideoEncoder(VideoEncoderConfiguration(size: Self.size, frameRate: Rational(30)))
        let picture = Picture(size: Self.size)
        let pattern = TestPattern(size: Self.size, framesPerSecond: 30)
        var file = UnitFile(.h264, target: target, hdrPeak: nil)
        for index in 0..<count {
            let code = TimeCode(captured: WallTime(microseconds: 0), number: UInt16(index))
            unsafe pattern.paint(picture.mutableView, code: code, index: index)
            try unsafe encoder.encode(
                picture.view, id: Int64(index), at: MediaTime(ticks: Int64(index) * 3000), asKeyframe: index == 0
            ) { unit in
                guard index >= first else { return }
                file.append(Array(unit.bytes), id: Int64(index), presentation: unit.presentationTime, flags: [])
            }
        }
        file.finish()
        return file
    }

    private func write(_ units: [UInt8], _ settings: [String: String] = [:], in folder: Scratch) throws -> String {
        let job = DeferredJob(.still, stream: "a", number: 7, settings: settings, time: 0)
        let path = folder.path("a.still-7.job")
        try Data(units + job.trailer).write(to: URL(filePath: path))
        return path
    }

    /// A clip, made in the sandbox by a process that may write one file.
    @Test(arguments: ["mp4", "ts"]) func aClipIsMadeAnew(format: String) throws {
        let folder = try Scratch()
        let stream = try TestStream.program([TestStream.Part(frames: 20, audioStreams: 1)])
        var job = DeferredJob(.clip, stream: "a", number: 3, settings: [:], time: 0)
        job.format = format
        let path = folder.path("a.clip-3.job")
        try Data(stream + job.trailer).write(to: URL(filePath: path))
        let output = folder.path("out.\(format)")
        let outcome = try Program.run(["deferred", "--job", path, "--output", output, "--lower"])
        #expect(outcome.code == 0, "\(outcome.errors)")
        let (before, after) = (try FileReader(path: path), try FileReader(path: output))
        #expect(after.video.size == before.video.size.scaled(by: 2))
        var pictures = 0
        while let item = try after.next() { if case .picture = consume item { pictures += 1 } }
        #expect(pictures == 20)
    }

    private func run(_ job: String, _ folder: Scratch, _ more: [String] = []) throws -> Program.Outcome {
        try Program.run(["deferred", "--job", job, "--output", folder.path("out.png")] + more)
    }

    /// The size and the time code of what was made.
    private func read(_ folder: Scratch) throws -> (size: PictureSize, number: UInt16?) {
        let reader = try FileReader(path: folder.path("out.png"))
        while let item = try reader.next() {
            guard case .picture(let shown, _) = consume item else { continue }
            let code = TimeCodeReading(luma: shown.view.y, near: WallTime(microseconds: 0))
            if case .code(let code)? = Optional(code) { return (shown.size, code.number) }
            return (shown.size, nil)
        }
        return (PictureSize(width: 0, height: 0), nil)
    }

    @Test(arguments: [(Int64(0), "double"), (20, "double"), (39, "same")])
    func theFinalStillIsThePictureThatWasMeant(target: Int64, kind: String) throws {
        let folder = try Scratch()
        let settings = kind == "same" ? ["scale": "1"] : [:]
        let job = try write(try units(40, target: target).bytes, settings, in: folder)
        let outcome = try run(job, folder, ["--lower"])
        #expect(outcome.code == 0, "\(outcome.errors)")
        let (size, number) = try read(folder)
        #expect(size == (kind == "same" ? Self.size : PictureSize(width: 640, height: 360)))
        #expect(number == UInt16(target))
    }

    /// By the network that is the default.
    @Test func theQualityTierMakesIt() throws {
        let folder = try Scratch()
        let outcome = try run(try write(try units(6, target: 3).bytes, in: folder), folder)
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(try read(folder).number == 3)
    }

    /// Files of an older version, of a full disk, or of somebody else.
    @Test func whatIsNoWholeFileIsRefused() throws {
        let folder = try Scratch()
        let whole = try units(4, target: 2).bytes
        let files: [[UInt8]] = [
            [], Array("BRNUNITS".utf8), Array(whole.dropLast(24)), Array(whole.dropLast(60)),
            whole.enumerated().map { $0 == 16 ? 200 : $1 }, whole.enumerated().map { $0 == 32 + 23 ? 255 : $1 },
            // The picture is not among them.
            try units(4, target: 9).bytes,
        ]
        for (index, file) in files.enumerated() {
            let outcome = try run(try write(file, in: folder), folder)
            #expect(outcome.code == 65 && outcome.complaints.count == 1, "\(index): \(outcome.code) \(outcome.errors)")
            try FileManager.default.removeItem(at: URL(filePath: folder.path("out.png")))
        }
        // Without the service's words.
        let path = folder.path("a.job")
        try Data(whole).write(to: URL(filePath: path))
        #expect(try run(path, folder).code == 65)
    }

    /// Its result is never written over something.
    @Test func whatIsThereStays() throws {
        let folder = try Scratch()
        try Data("there".utf8).write(to: URL(filePath: folder.path("out.png")))
        let outcome = try run(try write(try units(2, target: 1).bytes, in: folder), folder)
        #expect(outcome.code == 69)
        #expect(try Data(contentsOf: URL(filePath: folder.path("out.png"))) == Data("there".utf8))
    }
}
