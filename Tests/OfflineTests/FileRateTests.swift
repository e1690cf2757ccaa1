import Codec
import Enhance
import Foundation
import Media
import TestStreams
import TestSupport
import Testing

@testable import Offline

/// `burnish enhance --fps` and `--slow`.
@Suite(.timeLimit(.minutes(5))) struct FileRateTests {
    private func ffmpeg(_ arguments: [String]) throws {
        let made = try runTool(["ffmpeg", "-v", "error", "-y"] + arguments)
        #expect(made.status == 0, "\(made.errors)")
    }

    private func probe(_ path: String, _ entries: String, _ stream: String = "v") throws -> [[String]] {
        let shown = try runTool([
            "ffprobe", "-v", "error", "-select_streams", stream, "-show_entries", entries, "-of", "csv=p=0", path,
        ])
        #expect(shown.status == 0, "\(shown.errors)")
        return shown.output.split(separator: "\n").map { $0.split(separator: ",").map(String.init) }
    }

    private func enhance(
        _ input: String, _ output: String, _ change: (inout FileEnhancement) -> Void
    ) throws -> (report: FileEnhancementReport, notices: [String]) {
        var work = FileEnhancement(input: input, output: output)
        (work.tier, work.size, work.motion) = (.base, .same, .lowLatency)
        change(&work)
        var notices: [String] = []
        let report = try work.run(notice: { notices.append($0) }) { _, _ in true }
        return (report, notices)
    }

    /// Every stamp is exact, and the picture is as long as it was.
    @Test(
        arguments: [("24000/1001", Rational(60)), ("25", Rational(60000, 1001)), ("60", Rational(24)), ("30", Rational(30))],
        [("mp4", FileEnhancement.Motion.lowLatency), ("ts", .lowLatency), ("mp4", .fused)])
    func stampsAreExact(_ rates: (String, Rational), file: (String, FileEnhancement.Motion)) throws {
        let (source, rate) = rates
        let (kind, motion) = file
        let scratch = try Scratch()
        let input = scratch.path("in.\(kind)")
        try ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=\(source),scroll=h=0.02", "-t", "2", "-c:v", "libx264", input,
        ])
        let outcome = try enhance(input, scratch.path("out.mp4")) { ($0.rate, $0.motion) = (rate, motion) }
        #expect(outcome.notices.isEmpty && outcome.report.picturesRepeated == 0)
        let path = scratch.path("out.mp4")
        let base = try #require(try probe(path, "stream=time_base").first?.first).split(separator: "/").compactMap { Int64($0) }
        let stamps = try probe(path, "packet=pts").compactMap { $0.first.flatMap { Int64($0) } }.sorted()
        #expect(stamps.count == outcome.report.picturesOut && abs(Double(stamps.count) - 2 * rate.value) <= 2)
        for (index, stamp) in stamps.enumerated() {
            #expect((stamp - stamps[0]) * rate.numerator == Int64(index) * rate.denominator * base[1])
        }
    }

    /// An animation that was drawn for every second picture moves with every picture.
    @Test(arguments: FileEnhancement.Motion.allCases) func animationOnTwosMoves(motion: FileEnhancement.Motion) throws {
        let scratch = try Scratch()
        let input = scratch.path("in.mp4")
        try ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=12,scroll=h=0.02", "-t", "2", "-vf", "fps=24", "-c:v", "libx264",
            input,
        ])
        let outcome = try enhance(input, scratch.path("out.y4m")) { ($0.rate, $0.motion) = (Rational(24), motion) }
        #expect(outcome.report.picturesIn == 48 && outcome.report.picturesRepeated == 24)
        let reader = try FileReader(path: scratch.path("out.y4m"))
        var (last, repeats, count): ([UInt8], Int, Int) = ([], 0, 0)
        while case .picture(let picture, _)? = try reader.next() {
            var samples: [UInt8] = []
            let luma = picture.view.y
            for y in 0..<luma.height { samples += UnsafeBufferPointer(start: luma.row(y), count: luma.width) }
            let changed = zip(samples, last).count { abs(Int($0) - Int($1)) > 16 }
            if count > 0, changed < 20 { repeats += 1 }
            last = samples
            count += 1
        }
        // The last drawing stands for as long as it did.
        #expect(abs(count - 48) <= 1 && repeats <= 2, "\(count), \(repeats)")
    }

    /// Noise and slow motion are no repeats; a picture that rests is one.
    @Test func repeatsAreTold() {
        let size = PictureSize(width: 64, height: 48)
        let repeats = RepeatedPictures(size: size)
        let (picture, other) = (Picture(size: size), Picture(size: size))
        func fill(_ picture: Picture, _ level: (Int, Int) -> UInt8) {
            for y in 0..<size.height { for x in 0..<size.width { picture.mutableView.y.row(y)[x] = level(x, y) } }
        }
        fill(picture) { x, y in UInt8(100 + (x * 7 + y * 13) % 50) }
        #expect(!repeats.isRepeat(picture.view) && repeats.isRepeat(picture.view))
        // What coding changes.
        fill(other) { x, y in UInt8(100 + (x * 7 + y * 13) % 50 + (x + y) % 5 / 4) }
        #expect(repeats.isRepeat(other.view))
        // A small thing that moves.
        fill(other) { x, y in x < 5 && y < 5 ? 250 : UInt8(100 + (x * 7 + y * 13) % 50) }
        #expect(!repeats.isRepeat(other.view))
        fill(other) { x, y in UInt8(100 + (x * 7 + y * 13) % 50 + x * y % 4) }
        #expect(!repeats.isRepeat(other.view))
        withExtendedLifetime((picture, other)) {}
    }

    /// Slow motion has more pictures, no sound, and its subtitles and chapters where they belong.
    @Test(arguments: [nil, Rational(50)]) func slowMotion(rate: Rational?) throws {
        let scratch = try Scratch()
        let subtitles = try scratch.write(Array("1\n00:00:00,500 --> 00:00:00,750\nHello\n".utf8), to: "in.srt")
        let facts = try scratch.write(
            Array(";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=One\n".utf8), to: "in.txt")
        let input = scratch.path("in.mkv")
        try ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25,scroll=h=0.02", "-f", "lavfi", "-i", "sine", "-i", subtitles,
            "-i", facts,
            "-t", "1", "-map", "0", "-map", "1", "-map", "2", "-map_chapters", "3", "-c:v", "libx264", "-c:a", "aac", input,
        ])
        let outcome = try enhance(input, scratch.path("out.mkv")) { ($0.slowness, $0.rate) = (4, rate) }
        #expect(outcome.notices == ["sound is left out of slow motion: --sound stretch keeps it, longer and at its pitch"])
        let path = scratch.path("out.mkv")
        let stamps = try probe(path, "packet=pts_time").compactMap { $0.first.flatMap { Double($0) } }.sorted()
        let step = 1 / (rate?.value ?? 25)
        #expect(abs(Double(stamps.count) * step - 4) < 0.05 && outcome.report.picturesOut == stamps.count)
        #expect(zip(stamps.dropFirst(), stamps).allSatisfy { abs($0 - $1 - step) < 0.0011 })
        func texts(_ path: String) throws -> [Double] {
            try probe(path, "packet=pts_time,duration_time", "s").flatMap { $0.compactMap { Double($0) } }
        }
        let (before, after) = (try texts(input), try texts(path))
        #expect(before.count == 2 && after.count == 2)
        #expect(zip(before, after).allSatisfy { abs(4 * $0 - $1) < 0.002 }, "\(before), \(after)")
        #expect(try probe(path, "packet=pts", "a").isEmpty)
        let chapters = try runTool(["ffprobe", "-v", "error", "-show_entries", "chapter=end_time", "-of", "csv=p=0", path])
        #expect(chapters.output.hasPrefix("4.000"), "\(chapters.output)")
    }

    /// Sound is as long as the pictures, at its pitch, with its language, and in time with them wherever it begins.
    @Test(arguments: [("mkv", "aac", "mp4"), ("mkv", "flac", "mkv"), ("ts", "mp2", "ts"), ("mov", "pcm_s16le", "mov")])
    func slowMotionWithSound(_ kind: (from: String, codec: String, to: String)) throws {
        let scratch = try Scratch()
        let (input, output) = (scratch.path("in.\(kind.from)"), scratch.path("out.\(kind.to)"))
        // The sound begins later than the pictures.
        try ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=50", "-filter_complex",
            "aevalsrc='0.5*sin(2*PI*440*t)*between(mod(t,1),0.4,0.6)':s=48000:d=4,atrim=start=0.25[a]", "-map", "0", "-map",
            "[a]",
            "-t", "4", "-c:v", "libx264", "-c:a", kind.codec, "-metadata:s:a:0", "language=fra", input,
        ])
        let outcome = try enhance(input, output) { ($0.slowness, $0.sound) = (3, .stretch) }
        #expect(outcome.notices.isEmpty, "\(outcome.notices)")
        #expect(try probe(output, "stream=codec_name,channels:stream_tags=language", "a").last == ["aac", "2", "fra"])
        let times = try ["v", "a"].map { stream in
            try probe(output, "packet=pts_time", stream).compactMap { $0.first.flatMap { Double($0) } }.sorted()
        }
        #expect(abs(times[0].last! - times[1].last!) < 0.15, "\(times.map(\.last))")
        // Where sound is loud, and its pitch there.
        let raw = try runTool([
            "ffmpeg", "-v", "error", "-y", "-copyts", "-i", output, "-filter_complex",
            "[0:a]aresample=async=1:first_pts=0,aformat=sample_fmts=s16:sample_rates=48000:channel_layouts=mono[a]", "-map",
            "[a]",
            "-f", "s16le", scratch.path("a.raw"),
        ])
        #expect(raw.status == 0, "\(raw.errors)")
        let bytes = try scratch.read("a.raw")
        let samples = stride(from: 0, to: bytes.count - 1, by: 2).map {
            Double(Int16(truncatingIfNeeded: Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8))
        }
        let first = times[0][0]
        for second in 1..<4 {
            let range = min(3 * second * 48000, samples.count)..<min(3 * (second + 1) * 48000, samples.count)
            let power = range.map { samples[$0] * samples[$0] }
            let middle = zip(range, power).reduce(0) { $0 + Double($1.0) * $1.1 } / max(power.reduce(0, +), 1) / 48000
            #expect(abs(middle - 3 * (Double(second) + 0.5) - first) < 0.003, "\(second): \(middle), \(first)")
            let loud = Int((middle - 0.2) * 48000)..<Int((middle + 0.2) * 48000)
            let crossings = loud.count { samples[$0] < 0 && samples[$0 + 1] >= 0 }
            #expect(abs(Double(crossings) / 0.4 - 440) < 4, "\(crossings)")
        }
    }

    /// Silence fills a gap of sound. One of more than a minute stays, and what follows is where it belongs.
    @Test(arguments: [1, 90]) func slowSoundWithAGap(gap: Int) throws {
        let scratch = try Scratch()
        let (input, output) = (scratch.path("in.mkv"), scratch.path("out.mp4"))
        try ffmpeg([
            "-f", "lavfi", "-i", "color=gray:size=64x48:rate=5:d=\(4 + gap)", "-filter_complex",
            "aevalsrc='0.5*sin(2*PI*440*t)*between(mod(t,1),0.4,0.6)':s=48000:d=4,asetpts='PTS+gte(N,96000)*\(gap)/TB'[a]",
            "-map",
            "0", "-map", "[a]", "-c:v", "libx264", "-c:a", "pcm_s16le", input,
        ])
        let outcome = try enhance(input, output) { ($0.slowness, $0.sound) = (3, .stretch) }
        #expect(outcome.notices.isEmpty, "\(outcome.notices)")
        let found = try runTool([
            "ffmpeg", "-hide_banner", "-copyts", "-i", output, "-vn", "-af", "silencedetect=noise=-20dB:d=0.1", "-f", "null",
            "-",
        ])
        func times(_ name: String) -> [Double] {
            found.errors.components(separatedBy: name + ": ").dropFirst().compactMap {
                Double($0.prefix { "0123456789.".contains($0) })
            }
        }
        let begins = times("silence_end")
        #expect(begins.count >= 4, "\(found.errors)")
        for (index, begin) in begins.prefix(4).enumerated() {
            guard let end = times("silence_start").first(where: { $0 > begin }) else { continue }
            let second = Double(index) + 0.5 + (index < 2 ? 0 : Double(gap))
            #expect(abs((begin + end) / 2 - 3 * second) < 0.03, "\(index): \(begin), \(end)")
        }
    }

    @Test func slowSoundThatCannotBeHeldIsNamed() throws {
        let scratch = try Scratch()
        let input = scratch.path("in.mkv")
        try ffmpeg(["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25", "-f", "lavfi", "-i", "sine", "-t", "1", input])
        let outcome = try enhance(input, scratch.path("out.y4m")) { ($0.slowness, $0.sound) = (2, .stretch) }
        #expect(outcome.notices.count == 1 && outcome.notices[0].contains("sound 1"), "\(outcome.notices)")
    }

    /// Recordings of variable rate state all kinds of means.
    @Test func slowMotionHasAUsualRate() {
        func rate(_ numerator: Int64, _ denominator: Int64) -> Rational {
            FileTiming(
                of: FileVideoTimes(frameRate: Rational(numerator, denominator), timeBase: Rational(1, 90000)), interpolate: 1,
                rate: nil, slowness: 2
            ).frameRate
        }
        #expect(rate(24000, 1001) == Rational(24000, 1001) && rate(376000, 15694) == Rational(24000, 1001))
        #expect(rate(25, 1) == Rational(25) && rate(17, 1) == Rational(17) && rate(90000, 1) == Rational(240))
    }
}
