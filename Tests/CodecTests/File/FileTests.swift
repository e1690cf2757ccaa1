import Foundation
import Media
import TestSupport
import Testing

@testable import Codec

@Suite struct FileTests {
    private func samples(_ view: PictureView) -> [UInt8] {
        var result: [UInt8] = []
        for plane in [view.y, view.u, view.v] {
            for y in 0..<plane.height { result += UnsafeBufferPointer(start: plane.row(y), count: plane.width) }
        }
        return result
    }

    private func read(_ reader: FileReader) throws -> (pictures: [[UInt8]], times: [Int64], audio: Int) {
        var (pictures, times, audio): ([[UInt8]], [Int64], Int) = ([], [], 0)
        while let item = try reader.next() {
            switch consume item {
            case .picture(let picture, let time):
                #expect(picture.id == Int64(pictures.count) && picture.size == reader.video.size)
                pictures.append(samples(picture.view))
                times.append(time)
            case .passed: audio += 1
            }
        }
        return (pictures, times, audio)
    }

    @Test(arguments: [(127, 95), (16, 16), (360, 640), (1, 1), (129, 2)])
    func uncompressedFilesAreExact(_ width: Int, _ height: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.y4m").path
        var video = FileVideo(size: PictureSize(width: width, height: height), frameRate: Rational(30000, 1001))
        video.color.range = .full
        video.color.chromaLocation = 1
        video.color.sampleAspectRatio = Rational(12, 11)
        let writer = try MediaFileWriter(path: path, video: video)
        let pictures = (0..<3).map { makePicture(video.size, index: $0) }
        for (i, picture) in pictures.enumerated() { try writer.write(picture.view, at: Int64(i)) }
        try writer.finish()
        let bytes = try Data(contentsOf: folder.file("a.y4m"))
        let header = "YUV4MPEG2 W\(width) H\(height) F30000:1001 Ip A12:11 C420mpeg2 XCOLORRANGE=FULL\nFRAME\n"
        #expect(String(decoding: bytes.prefix(header.utf8.count), as: UTF8.self) == header)

        let reader = try FileReader(path: path)
        #expect(reader.video.size == video.size && reader.video.frameRate == video.frameRate)
        #expect(reader.video.color == video.color && reader.video.pictureCount == 3)
        let back = try read(reader)
        #expect(back.pictures == pictures.map { samples($0.view) })
        #expect(back.times == [0, 1, 2])
        #expect(reader.damagedPackets == 0)
    }

    @Test func ffmpegReadsTheSameSamples() throws {
        let folder = try TemporaryFolder()
        var video = FileVideo(size: PictureSize(width: 127, height: 95), frameRate: Rational(25))
        video.color.range = .limited
        let writer = try MediaFileWriter(path: folder.file("a.y4m").path, video: video)
        let picture = makePicture(video.size, index: 1)
        try writer.write(picture.view, at: 0)
        try writer.finish()
        let raw = folder.file("a.raw")
        let ran = try runTool([
            "ffmpeg", "-v", "error", "-i", folder.file("a.y4m").path, "-f", "rawvideo", raw.path,
        ])
        #expect(ran.status == 0 && ran.errors == "")
        #expect([UInt8](try Data(contentsOf: raw)) == samples(picture.view))
    }

    @Test(arguments: ["mp4", "mkv", "mov", "ts"])
    func containersCarryPicturesTimesColourAndAudio(_ container: String) throws {
        let folder = try TemporaryFolder()
        let source = folder.file("source.mkv").path
        let made = try runTool([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=192x108:rate=24000/1001", "-f", "lavfi", "-i",
            // FFmpeg 5.1 takes the colours from the options, 7.1 from the pictures.
            "sine", "-t", "1.5", "-vf", "setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709",
            "-c:v", "libx264", "-c:a", "aac", "-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709",
            "-color_range", "tv", source,
        ])
        #expect(made.status == 0, "\(made.errors)")
        let reader = try FileReader(path: source)
        #expect(reader.video.frameRate == Rational(24000, 1001) && reader.audioStreamCount == 1)
        #expect(reader.video.color.primaries == 1 && reader.video.color.range == .limited)
        let path = folder.file("out.\(container)").path
        let writer = try MediaFileWriter(path: path, video: reader.video, keeping: reader)
        var (count, audio) = (0, 0)
        while let item = try reader.next() {
            switch consume item {
            case .picture(let picture, let time):
                try writer.write(picture.view, at: time)
                count += 1
            case .passed(let packet):
                try writer.write(packet)
                audio += 1
            }
        }
        try writer.finish()
        #expect(count == 36)
        let back = try FileReader(path: path)
        #expect(back.video.color.primaries == 1 && back.video.color.transfer == 1 && back.video.color.matrix == 1)
        #expect(back.video.color.range == .limited)
        let contents = try read(back)
        #expect(contents.pictures.count == 36 && contents.audio == audio && audio > 50)
        let seconds = contents.times.map { Double($0 - contents.times[0]) * back.video.timeBase.value }
        for (i, time) in seconds.enumerated() { #expect(abs(time - Double(i) * 1001 / 24000) < 0.0011) }
    }

    /// Who asks is told how coarsely a picture was coded. Pictures that were not coded say nothing.
    @Test(arguments: [("fine.mp4", 12.0, 4.0...26), ("coarse.ts", 38, 36...51), ("raw.y4m", 0, nil)])
    func picturesTellTheirQuantisers(name: String, quality: Double, range: ClosedRange<Double>?) throws {
        let folder = try TemporaryFolder()
        let path = folder.file(name).path
        var settings = MediaFileWriter.Settings()
        settings.quality = quality
        let video = FileVideo(size: PictureSize(width: 160, height: 96), frameRate: Rational(25))
        let writer = try MediaFileWriter(path: path, video: video, settings: settings)
        for index in 0..<12 {
            let picture = makePicture(video.size, index: index)
            try withExtendedLifetime(picture) { try writer.write(picture.view, at: Int64(index)) }
        }
        try writer.finish()
        for isAsked in [true, false] {
            let reader = try FileReader(path: path, exportsQuantisers: isAsked)
            var count = 0
            while case .picture(let picture, _)? = try reader.next() {
                count += 1
                let told = picture.meanQuantiser.map(Double.init)
                if isAsked, let range {
                    #expect(told.map { range.contains($0) } == true, "\(String(describing: told))")
                } else {
                    #expect(told == nil)
                }
            }
            #expect(count == 12)
        }
    }

    /// Where the decoder does not say how coarsely pictures were coded, their bytes do: what is not known must not count as clean.
    @Test(arguments: ["libx265", "libvpx-vp9", "mpeg2video"]) func quantisersOfOtherFormats(codec: String) throws {
        let folder = try TemporaryFolder()
        let means = try ["3M", "50k"].map { rate in
            let path = folder.file(rate + ".mkv").path
            let made = try runTool([
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x192:rate=25", "-frames:v", "10", "-c:v",
                codec, "-b:v", rate, path,
            ])
            #expect(made.status == 0, "\(made.errors)")
            let reader = try FileReader(path: path, exportsQuantisers: true)
            var told: [Double] = []
            while case .picture(let picture, _)? = try reader.next() {
                if let quantiser = picture.meanQuantiser { told.append(Double(quantiser)) }
            }
            #expect(told.count == 10 && told.allSatisfy { (1...51).contains($0) }, "\(told)")
            return told.reduce(0, +) / Double(told.count)
        }
        #expect(means[1] > means[0] + 4, "\(means)")
    }

    @Test func otherFormatsBecome420() throws {
        let folder = try TemporaryFolder()
        for (format, name) in [("yuv444p10le", "a.mkv"), ("rgb24", "b.avi"), ("gray", "c.avi"), ("nv12", "d.avi")] {
            let path = folder.file(name).path
            let codec = format == "yuv444p10le" ? "ffv1" : format == "gray" ? "ffv1" : "rawvideo"
            let made = try runTool([
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=gray:size=70x50:rate=10", "-frames:v", "2",
                "-pix_fmt", format, "-c:v", codec, path,
            ])
            #expect(made.status == 0, "\(made.errors)")
            let contents = try read(try FileReader(path: path))
            #expect(contents.pictures.count == 2, "\(format)")
            #expect(contents.pictures.allSatisfy { $0.count == 70 * 50 * 3 / 2 })
            for sample in contents.pictures[0] { #expect(abs(Int(sample) - 126) <= 3) }
        }
    }

    /// Two recordings in one file, each with its own clock: the second follows the first, and sound stays with its
    /// picture.
    @Test(arguments: ["libx264", "mpeg2video"]) func stampsThatGoBackAreBridged(codec: String) throws {
        let folder = try TemporaryFolder()
        var whole = Data()
        for (name, seconds) in [("a.ts", "2"), ("b.ts", "1.5")] {
            let made = try runTool([
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=192x108:rate=25", "-f", "lavfi", "-i",
                "sine", "-t", seconds, "-c:v", codec, "-c:a", "aac", folder.file(name).path,
            ])
            #expect(made.status == 0, "\(made.errors)")
            whole += try Data(contentsOf: folder.file(name))
        }
        try whole.write(to: folder.file("whole.ts"))
        let reader = try FileReader(path: folder.file("whole.ts").path)
        let contents = try read(reader)
        #expect(contents.times.count == 88 && reader.jumps == 1, "\(contents.times.count) \(reader.jumps)")
        let steps = zip(contents.times.dropFirst(), contents.times).map { $0 - $1 }
        #expect(
            steps.enumerated().allSatisfy { $1 == 3600 || $0 == 49 && (1...18_000).contains($1) },
            "\(steps.filter { $0 != 3600 })")

        let path = folder.file("out.mp4").path
        let again = try FileReader(path: folder.file("whole.ts").path)
        let writer = try MediaFileWriter(path: path, video: again.video, keeping: again)
        while let item = try again.next() {
            switch consume item {
            case .picture(let picture, let time): try writer.write(picture.view, at: time)
            case .passed(let packet): try writer.write(packet)
            }
        }
        try writer.finish()
        let back = try read(try FileReader(path: path))
        #expect(back.times.count == 88 && back.audio > contents.audio - 4)
    }

    /// 33 bits are used up after 26.5 hours: no picture is moved by that.
    @Test func stampsThatWrapContinue() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.ts").path
        let made = try runTool([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=192x108:rate=25", "-f", "lavfi", "-i", "sine",
            "-t", "4", "-c:v", "libx264", "-c:a", "aac", "-output_ts_offset", "95440", path,
        ])
        #expect(made.status == 0, "\(made.errors)")
        let reader = try FileReader(path: path)
        let contents = try read(reader)
        #expect(contents.times.count == 100 && contents.audio > 100 && reader.jumps == 0)
        #expect(zip(contents.times.dropFirst(), contents.times).allSatisfy { $0 - $1 == 3600 })
    }

    /// The first packets of a Matroska file with B-frames say only when they are presented, and that not in order.
    @Test func packetsInAnotherOrderAreNoJump() {
        var clock = RecordingClock()
        func offset(_ decode: Int64?, _ presentation: Int64) -> Int64 {
            clock.offset(stream: 0, decode: decode, presentation: presentation, duration: 40_000)
        }
        #expect(offset(nil, 0) == 0 && offset(nil, 4_000_000) == 0 && offset(nil, 2_000_000) == 0 && offset(0, 1_000_000) == 0)
        #expect(offset(1_000_000, 3_000_000) == 0 && offset(nil, 2_000_000) == 0 && clock.jumps == 0)
        #expect(offset(0, 0) > 0 && clock.jumps == 1)
        // Some files never say when packets are decoded.
        clock = RecordingClock()
        for time in stride(from: Int64(0), to: 1_000_000, by: 40_000) { #expect(offset(nil, time) == 0) }
        #expect(offset(nil, 0) > 0 && clock.jumps == 1)
    }

    @Test func aClockThatGoesBackIsOneForAllStreams() {
        var clock = RecordingClock()
        func offset(_ stream: Int, _ time: Int64) -> Int64 {
            clock.offset(stream: stream, decode: time, presentation: time, duration: 40_000)
        }
        for time in stride(from: Int64(5_000_000), to: 6_000_000, by: 40_000) {
            #expect(offset(0, time) == 0 && offset(1, time - 200_000) == 0)
        }
        // A fault of the multiplex is no jump.
        #expect(offset(0, 5_900_000) == 0)
        // The picture jumps first, the sound's last packets follow, then it jumps too.
        #expect(offset(0, 1_000_000) == 5_000_000)
        #expect(offset(1, 5_800_000) == 0)
        // Subtitles belong to the side that they are nearer to.
        #expect(clock.offset(ofSparse: 5_990_000) == 0 && clock.offset(ofSparse: 1_100_000) == 5_000_000)
        #expect(offset(1, 800_000) == 5_000_000)
        #expect(offset(0, 1_040_000) == 5_000_000 && clock.jumps == 1)
        // And a stream that was not there before.
        #expect(offset(2, 1_040_000) == 5_000_000)
        #expect(offset(1, 0) == 6_080_000 && offset(0, 40_000) == 6_080_000 && clock.jumps == 2)
        #expect(clock.offset(stream: 0, decode: nil, presentation: nil, duration: 0) == 6_080_000)
    }

    /// What lies behind a stretch that cannot be read is read.
    @Test func damageInTheMiddleIsNotTheEnd() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.y4m")
        // The last sample is a line's end, by which the demuxer finds the next picture.
        let picture = [UInt8](repeating: 128, count: 16 * 16 * 3 / 2 - 1) + [10]
        var bytes = Array("YUV4MPEG2 W16 H16 F25:1 C420jpeg\n".utf8)
        for index in 0..<8 { bytes += Array((index == 3 ? "GRAME\n" : "FRAME\n").utf8) + picture }
        try Data(bytes).write(to: path)
        let reader = try FileReader(path: path.path)
        let contents = try read(reader)
        #expect(contents.pictures.count == 7 && reader.damagedPackets == 1)

        // A file of which the rest is nonsense ends.
        for index in bytes.indices where index > 2000 { bytes[index] = 1 }
        try Data(bytes).write(to: path)
        let short = try FileReader(path: path.path)
        let rest = try read(short).pictures.count
        #expect(rest == 5 && short.damagedPackets == 2, "\(rest) \(short.damagedPackets)")
    }

    @Test func whatCannotBeReadIsATypedError() throws {
        let folder = try TemporaryFolder()
        func kind(_ body: () throws -> Void) -> CodecError.Kind? {
            do { try body() } catch let error as CodecError {
                #expect(!error.place.isEmpty && !error.message.isEmpty && !error.description.contains("\n"))
                return error.kind
            } catch { Issue.record("\(error)") }
            return nil
        }
        #expect(kind { _ = try FileReader(path: folder.file("missing.mp4").path) } == .cannotOpen)
        #expect(kind { _ = try FileReader(path: folder.url.path) } == .cannotOpen)
        let noise = folder.file("noise.mp4")
        var random = SplitMix64(seed: 9)
        try Data((0..<20_000).map { _ in UInt8(random.next() & 255) }).write(to: noise)
        #expect(kind { _ = try FileReader(path: noise.path) } != nil)
        let sound = folder.file("sound.wav").path
        _ = try runTool(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=duration=0.1", sound])
        #expect(kind { _ = try FileReader(path: sound) } == .noVideo)
        let huge = folder.file("huge.y4m")
        try Data("YUV4MPEG2 W60000 H60000 F25:1 C420jpeg\nFRAME\n".utf8).write(to: huge)
        #expect([.unsupportedFormat, .invalidData].contains(kind { _ = try FileReader(path: huge.path) }))
        let empty = folder.file("empty.y4m")
        try Data("YUV4MPEG2 W64 H64 F25:1 C420jpeg\n".utf8).write(to: empty)
        #expect(kind { _ = try FileReader(path: empty.path).next() } == .noVideo)
        let remote = folder.file("list.m3u8")
        try Data("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n".utf8)
            .write(to: remote)
        #expect(kind { _ = try FileReader(path: remote.path) } != nil)
    }

    @Test func whatCannotBeWrittenIsATypedError() throws {
        let folder = try TemporaryFolder()
        let even = FileVideo(size: PictureSize(width: 64, height: 64), frameRate: Rational(25))
        let odd = FileVideo(size: PictureSize(width: 63, height: 64), frameRate: Rational(25))
        func kind(_ path: String, _ video: FileVideo) -> CodecError.Kind? {
            do throws(CodecError) { _ = try MediaFileWriter(path: path, video: video) } catch { return error.kind }
            return nil
        }
        #expect(kind(folder.file("no/such/folder.y4m").path, even) == .cannotOpen)
        #expect(kind(folder.file("no/such/folder.mp4").path, even) == .cannotOpen)
        #expect(kind(folder.file("a.unknown").path, even) == .unsupportedCodec)
        #expect(kind(folder.file("a.webm").path, even) == .unsupportedCodec)
        #expect(kind(folder.file("a.mp4").path, odd) == .unsupportedFormat)
        #expect(kind("/dev/full", even) == .unsupportedCodec)
        let link = folder.file("full.y4m")
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "/dev/full")
        #expect(kind(link.path, even) == .writeFailed)
    }
}
