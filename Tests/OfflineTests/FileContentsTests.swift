import Enhance
import Foundation
import Media
import TestStreams
import TestSupport
import Testing

@testable import Offline

/// What `burnish enhance` keeps of a file beside its pictures, as ffprobe sees it.
@Suite(.timeLimit(.minutes(5))) struct FileContentsTests {
    private struct Probe: Decodable {
        struct Stream: Decodable {
            var codec_type: String?
            var codec_name: String?
            var sample_aspect_ratio: String?
            var color_range: String?
            var color_space: String?
            var color_transfer: String?
            var color_primaries: String?
            var disposition: [String: Int]
            var tags: [String: String]?

            func has(_ name: String) -> Bool { disposition[name] == 1 }
        }
        struct Chapter: Decodable {
            var start_time: String
            var end_time: String
            var tags: [String: String]?
        }
        struct Packet: Decodable {
            var stream_index: Int
            var pts: Int?
            var pts_time: String?
            var size: String
        }
        struct Format: Decodable { var tags: [String: String]? }
        var streams: [Stream]
        var chapters: [Chapter]
        var packets: [Packet]
        var format: Format

        func all(_ type: String) -> [Stream] { streams.filter { $0.codec_type == type } }

        /// The sizes of the packets of each stream of a kind.
        func sizes(_ type: String) -> [[String]] {
            streams.indices.filter { streams[$0].codec_type == type }
                .map { index in packets.filter { $0.stream_index == index }.map(\.size) }
        }
    }

    private func probe(_ path: String) throws -> Probe {
        let shown = try runTool([
            "ffprobe", "-v", "error", "-show_streams", "-show_chapters", "-show_format", "-show_packets", "-of", "json", path,
        ])
        #expect(shown.status == 0, "\(shown.errors)")
        return try JSONDecoder().decode(Probe.self, from: Data(shown.output.utf8))
    }

    private func ffmpeg(_ arguments: [String]) throws {
        let made = try runTool(["ffmpeg", "-v", "error", "-y"] + arguments)
        #expect(made.status == 0, "\(made.errors)")
    }

    private func enhance(
        _ input: String, _ output: String, interpolate: Int = 1, _ change: (inout FileEnhancement) -> Void = { _ in }
    ) throws -> (report: FileEnhancementReport, notices: [String]) {
        var work = FileEnhancement(input: input, output: output)
        (work.tier, work.size, work.motion, work.interpolate) = (.base, .same, .lowLatency, interpolate)
        change(&work)
        var notices: [String] = []
        let report = try work.run(notice: { notices.append($0) }) { _, _ in true }
        return (report, notices)
    }

    private static let video = "testsrc2=size=96x64:rate=25"
    private static let subtitles = "1\n00:00:00,100 --> 00:00:00,500\nHello\n\n2\n00:00:00,600 --> 00:00:00,900\nBye\n"
    private static let facts = """
        ;FFMETADATA1
        title=A talk
        artist=A speaker
        creation_time=2020-01-02T03:04:05.000000Z
        [CHAPTER]
        TIMEBASE=1/1000
        START=0
        END=400
        title=One
        [CHAPTER]
        TIMEBASE=1/1000
        START=400
        END=1000
        title=Two

        """

    /// A file with two sounds, subtitles, chapters, tags and a cover; in Matroska with a font.
    private func rich(_ scratch: Scratch, _ kind: String) throws -> String {
        let path = scratch.path("in.\(kind)")
        let subtitles = try scratch.write(Array(Self.subtitles.utf8), to: "in.srt")
        let facts = try scratch.write(Array(Self.facts.utf8), to: "in.txt")
        let cover = scratch.path("cover.jpg")
        try ffmpeg(["-f", "lavfi", "-i", "color=red:size=32x32", "-frames:v", "1", cover])
        var arguments = ["-f", "lavfi", "-i", Self.video, "-f", "lavfi", "-i", "sine", "-f", "lavfi", "-i", "sine=220"]
        arguments += ["-i", subtitles, "-i", facts, "-i", cover, "-t", "1", "-map", "0", "-map", "1", "-map", "2", "-map", "3"]
        arguments += ["-map_metadata", "4", "-map_chapters", "4", "-c:v:0", "libx264", "-c:a", "aac"]
        arguments += ["-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=fra", "-metadata:s:s:0", "language=deu"]
        arguments += ["-disposition:a:0", "0", "-disposition:a:1", "default"]
        if kind == "mkv" {
            let font = try scratch.write(Array("a font".utf8), to: "a.ttf")
            arguments += [
                "-c:s", "srt", "-disposition:s:0", "forced", "-metadata:s:a:1", "title=Comment", "-metadata", "mood=calm",
            ]
            arguments += ["-attach", font, "-metadata:s:t:0", "mimetype=font/ttf", "-metadata:s:t:0", "filename=a.ttf"]
            arguments += ["-attach", cover, "-metadata:s:t:1", "mimetype=image/jpeg", "-metadata:s:t:1", "filename=cover.jpg"]
        } else {
            arguments += ["-map", "5", "-c:v:1", "copy", "-disposition:v:1", "attached_pic", "-c:s", "mov_text"]
            arguments += ["-timecode", "01:00:00:00"]
        }
        try ffmpeg(arguments + [path])
        return path
    }

    @Test func aMatroskaFileKeepsAll() throws {
        let scratch = try Scratch()
        let input = try rich(scratch, "mkv")
        let outcome = try enhance(input, scratch.path("out.mkv"), interpolate: 2)
        #expect(outcome.notices.isEmpty, "\(outcome.notices)")
        let (before, after) = (try probe(input), try probe(scratch.path("out.mkv")))
        let sounds = after.all("audio")
        #expect(sounds.map { $0.tags?["language"] } == ["eng", "fra"] && sounds[1].tags?["title"] == "Comment")
        #expect(sounds.map { $0.has("default") } == [false, true])
        #expect(after.sizes("audio") == before.sizes("audio") && after.sizes("subtitle") == before.sizes("subtitle"))
        let texts = after.all("subtitle")
        #expect(texts.map(\.codec_name) == ["subrip"] && texts[0].tags?["language"] == "deu" && texts[0].has("forced"))
        #expect(after.all("attachment").map { $0.tags?["filename"] } == ["a.ttf"])
        let covers = after.all("video").filter { $0.has("attached_pic") }
        #expect(covers.map(\.codec_name) == ["mjpeg"] && after.all("video").count == 2)
        #expect(after.chapters.map { $0.tags?["title"] } == ["One", "Two"])
        #expect(after.chapters.map(\.start_time) == before.chapters.map(\.start_time))
        #expect(after.chapters.map(\.end_time) == before.chapters.map(\.end_time))
        let tags = after.format.tags ?? [:]
        #expect(tags["title"] == "A talk" && tags["ARTIST"] == "A speaker" && tags["MOOD"] == "calm", "\(tags)")
        // What counted the coded stream does not stay.
        #expect(after.all("video")[0].tags?["DURATION"] != before.all("video")[0].tags?["DURATION"])
    }

    /// A mask covers the pictures that are enhanced. What else may show pictures is left out, and a line says so.
    @Test func aMaskLeavesOutOtherPictures() throws {
        let scratch = try Scratch()
        var work = FileEnhancement(input: try rich(scratch, "mkv"), output: scratch.path("out.mkv"))
        (work.tier, work.size) = (.base, .same)
        work.steps.mask = PrivacyMask([.init(x: 0, y: 0, width: 50, height: 50, .pixelate(8))])
        var notices: [String] = []
        _ = try work.run(notice: { notices.append($0) }) { _, _ in true }
        let after = try probe(scratch.path("out.mkv"))
        #expect(after.all("video").count == 1 && after.all("audio").count == 2 && after.all("subtitle").count == 1)
        #expect(after.all("attachment").map { $0.tags?["filename"] } == ["a.ttf"])
        #expect(notices.count == 1 && notices[0].hasPrefix("left out beside a mask: the cover"), "\(notices)")
    }

    /// QuickTime's own files have no place for a cover.
    @Test(arguments: ["mp4", "mov"]) func anMP4FileKeepsAll(kind: String) throws {
        let scratch = try Scratch()
        let input = try rich(scratch, "mp4")
        let outcome = try enhance(input, scratch.path("out.\(kind)"))
        #expect(outcome.notices.count == (kind == "mov" ? 1 : 0), "\(outcome.notices)")
        #expect(outcome.notices.allSatisfy { $0.contains("the cover") && !$0.contains(";") })
        let (before, after) = (try probe(input), try probe(scratch.path("out.\(kind)")))
        #expect(after.all("audio").map { $0.tags?["language"] } == ["eng", "fra"])
        #expect(after.all("audio").map { $0.has("default") } == [false, true])
        #expect(after.sizes("audio") == before.sizes("audio") && after.sizes("subtitle") == before.sizes("subtitle"))
        #expect(after.all("subtitle").map(\.codec_name) == ["mov_text"] && after.all("subtitle").count == 1)
        // QuickTime has its own list of languages.
        #expect(after.all("subtitle")[0].tags?["language"] == (kind == "mov" ? "ger" : "deu"))
        #expect(after.all("video").map { $0.has("attached_pic") } == (kind == "mov" ? [false] : [false, true]))
        #expect(after.chapters.map { $0.tags?["title"] } == ["One", "Two"])
        #expect(after.all("video")[0].tags?["timecode"] == "01:00:00:00")
        let tags = after.format.tags ?? [:]
        #expect(tags["title"] == "A talk" && tags["artist"] == "A speaker" && tags["creation_time"]?.hasPrefix("2020") == true)
    }

    /// Data of a transport stream, and the languages of its sounds.
    @Test func aTransportStreamKeepsItsData() throws {
        let scratch = try Scratch()
        let data = try scratch.write(Array("data in packets".utf8), to: "in.bin")
        let input = scratch.path("in.ts")
        try ffmpeg([
            "-f", "lavfi", "-i", Self.video, "-f", "lavfi", "-i", "sine", "-f", "lavfi", "-i", "sine=220", "-f", "data", "-i",
            data,
            "-t", "1", "-map", "0", "-map", "1", "-map", "2", "-map", "3", "-c:v", "libx264", "-c:a", "aac", "-c:d", "copy",
            "-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=fra", input,
        ])
        let outcome = try enhance(input, scratch.path("out.ts"))
        #expect(outcome.notices.isEmpty, "\(outcome.notices)")
        let after = try probe(scratch.path("out.ts"))
        #expect(after.all("audio").map { $0.tags?["language"] } == ["eng", "fra"])
        #expect(after.sizes("data") == [["15"]])
        // Elsewhere it is lost, and named.
        let lost = try enhance(input, scratch.path("out.mp4")).notices
        #expect(lost.count == 1 && lost[0].contains("data 3 (bin_data)") && !lost[0].contains("sound"), "\(lost)")
    }

    @Test(arguments: [
        (
            "mp4", ["the attachment a.ttf", "the tags mood", "an .mkv file can"],
            ["cover", "chapters", "subtitles"]
        ),
        ("ts", ["subtitles 3 (subrip, deu)", "the attachment a.ttf", "the cover", "chapters", "title"], ["sound"]),
        ("y4m", ["sound 1 (aac, eng)", "sound 2 (aac, fra)", "subtitles", "chapters"], ["tags"]),
    ]) func whatCannotBeHeldIsNamedOnce(kind: String, named: [String], kept: [String]) throws {
        let scratch = try Scratch()
        let outcome = try enhance(try rich(scratch, "mkv"), scratch.path("out.\(kind)"))
        #expect(outcome.notices.count == 1 && outcome.report.picturesOut == 25)
        let line = outcome.notices.first ?? ""
        for name in named { #expect(line.contains(name), "\(line)") }
        for name in kept { #expect(!line.contains(name), "\(line)") }
    }

    /// Text goes from one container's format to the other's, with its times, its language and what it is for.
    @Test(arguments: [("mkv", "mp4", "mov_text"), ("mkv", "mov", "mov_text"), ("mp4", "mkv", "subrip")])
    func textSubtitlesAreConverted(from: String, to: String, format: String) throws {
        let scratch = try Scratch()
        let (input, output) = (try rich(scratch, from), scratch.path("out.\(to)"))
        let notices = try enhance(input, output).notices
        #expect(!notices.contains { $0.contains("subtitles") }, "\(notices)")
        let texts = try probe(output).all("subtitle")
        #expect(texts.map(\.codec_name) == [format] && texts[0].tags?["language"] == (to == "mov" ? "ger" : "deu"))
        #expect(to != "mp4" || texts[0].has("forced"))
        // A muxer may move all streams together.
        func times(_ path: String) throws -> [Int] {
            let probe = try probe(path)
            func starts(_ type: String) -> [Double] {
                probe.packets.filter { probe.streams[$0.stream_index].codec_type == type && Int($0.size) ?? 0 > 2 }
                    .compactMap { $0.pts_time.flatMap { Double($0) } }
            }
            let first = starts("video").min() ?? 0
            return starts("subtitle").map { Int((($0 - first) * 1000).rounded()) }
        }
        #expect(try times(output) == [100, 600])
        let shown = try runTool(["ffmpeg", "-v", "error", "-i", output, "-map", "0:s:0", "-f", "srt", "-"])
        #expect(shown.status == 0 && shown.output.contains("\nHello\n") && shown.output.contains("\nBye\n"), "\(shown)")
    }

    @Test func textWithALayoutIsNamed() throws {
        let scratch = try Scratch()
        let subtitles = try scratch.write(Array(Self.subtitles.utf8), to: "in.srt")
        let input = scratch.path("in.mkv")
        try ffmpeg(["-f", "lavfi", "-i", Self.video, "-i", subtitles, "-t", "1", "-c:v", "libx264", "-c:s", "ass", input])
        #expect(try enhance(input, scratch.path("out.mkv")).notices.isEmpty)
        let notices = try enhance(input, scratch.path("out.mp4")).notices
        #expect(notices == ["of subtitles 1 (ass) the text is kept, without its layout"])
        let shown = try runTool(["ffmpeg", "-v", "error", "-i", scratch.path("out.mp4"), "-map", "0:s:0", "-f", "srt", "-"])
        #expect(shown.output.contains("\nHello\n") && shown.output.contains("\nBye\n"), "\(shown)")
    }

    @Test(arguments: ["mp4", "mkv", "ts"]) func pictureFactsAreWritten(kind: String) throws {
        let scratch = try Scratch()
        let input = scratch.path("in.mkv")
        try ffmpeg([
            "-f", "lavfi", "-i", Self.video, "-t", "0.4", "-vf",
            "setparams=range=tv:color_primaries=bt470bg:color_trc=smpte170m:colorspace=bt470bg,setsar=32/27", "-c:v", "libx264",
            "-color_primaries", "bt470bg", "-color_trc", "smpte170m", "-colorspace", "bt470bg", "-color_range", "tv", input,
        ])
        _ = try enhance(input, scratch.path("out.\(kind)")) { $0.size = .double }
        let video = try probe(scratch.path("out.\(kind)")).all("video")[0]
        #expect(video.sample_aspect_ratio == "32:27" && video.color_range == "tv" && video.color_space == "bt470bg")
        #expect(video.color_primaries == "bt470bg" && video.color_transfer == "smpte170m")
    }

    /// Each change of size is said, and every picture comes out: in its own shape, with black beside it.
    @Test(arguments: [1, 2]) func picturesOfAnotherSizeAreScaled(interpolate: Int) throws {
        let scratch = try Scratch()
        let sizes = [(160, 96), (96, 96), (160, 96)]
        var stream: [UInt8] = []
        for (part, size) in sizes.enumerated() {
            stream += try TestStream.video(
                frames: 20, size: PictureSize(width: size.0, height: size.1), start: 10 + Double(part) * 20 / 30)
        }
        let input = try scratch.write(stream, to: "in.ts")
        let outcome = try enhance(input, scratch.path("out.y4m"), interpolate: interpolate)
        #expect(outcome.report.picturesIn == 60 && outcome.report.picturesOut == 59 * interpolate + 1)
        #expect(outcome.notices.count == 2, "\(outcome.notices)")
        #expect(outcome.notices[0].contains("96x96 from picture 20 on") && outcome.notices[1].contains("again"))
        let bytes = try scratch.read("out.y4m")
        let picture = "FRAME\n".utf8.count + 160 * 96 * 3 / 2
        let header = bytes.count - outcome.report.picturesOut * picture
        #expect(header > 0 && header < 200)
        func luma(_ index: Int, _ x: Int) -> [UInt8] {
            let start = header + index * interpolate * picture + "FRAME\n".utf8.count
            return (0..<96).map { bytes[start + $0 * 160 + x] }
        }
        for index in [20, 30, 39] {
            #expect(luma(index, 0).allSatisfy { $0 == 16 } && luma(index, 159).allSatisfy { $0 == 16 })
            #expect(luma(index, 80).contains { $0 > 30 })
        }
        for index in [0, 19, 40, 59] { #expect(!luma(index, 0).allSatisfy { $0 == 16 }) }
    }

    /// A minute of pictures that are 1001/24000 s apart, doubled: each stamp is exact.
    @Test func stampsAreExact() throws {
        let scratch = try Scratch()
        let input = scratch.path("in.mp4")
        try ffmpeg([
            "-f", "lavfi", "-i", "color=gray:size=16x16:rate=24000/1001", "-t", "60", "-c:v", "libx264", "-preset",
            "ultrafast", input,
        ])
        let outcome = try enhance(input, scratch.path("out.mp4"), interpolate: 2)
        let shown = try runTool([
            "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=time_base:packet=pts", "-of", "csv=p=0",
            scratch.path("out.mp4"),
        ])
        let lines = shown.output.split(separator: "\n").map { $0.split(separator: ",")[0] }
        let base = try #require(lines.last).split(separator: "/").compactMap { Int($0) }
        let stamps = lines.dropLast().compactMap { Int($0) }.sorted()
        #expect(stamps.count == outcome.report.picturesOut && base.count == 2)
        for (index, stamp) in stamps.enumerated() { #expect(stamp * 48000 == index * 1001 * base[1]) }
    }
}
