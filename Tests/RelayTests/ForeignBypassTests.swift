import Container
import Endpoint
import Foundation
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// Bypassed streams of another program's encoders, and that program's decoder behind them. `BURNISH_NO_FOREIGN=1` skips these.
@Suite(.timeLimit(.minutes(5))) struct ForeignBypassTests {
    static let isWanted =
        ProcessInfo.processInfo.environment["BURNISH_NO_FOREIGN"] == nil && ((try? ffmpeg(["-version"])) != nil)

    enum Kind: String, CaseIterable {
        case closed = "-c:v libx264 -preset ultrafast -bf 3 -g 25 -pix_fmt yuv420p"
        case pyramid = "-c:v libx264 -preset veryfast -bf 3 -b-pyramid normal -g 25 -sc_threshold 0 -pix_fmt yuv420p"
        case open = "-c:v libx264 -preset veryfast -bf 2 -g 25 -sc_threshold 0 -x264-params open-gop=1 -pix_fmt yuv420p"
        case gradualRefresh =
            "-c:v libx264 -preset ultrafast -tune zerolatency -g 25 -x264-params intra-refresh=1 -pix_fmt yuv420p"
        case hevc = "-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=25:bframes=3 -pix_fmt yuv420p"
        case hevcOpen =
            "-c:v libx265 -preset ultrafast -x265-params log-level=none:open-gop=1:keyint=25:bframes=3 -pix_fmt yuv420p"
        case mpeg2 = "-c:v mpeg2video -b:v 2M -g 12 -bf 2"
        case slices = "-c:v libx264 -preset ultrafast -tune zerolatency -slices 4 -g 25 -pix_fmt yuv420p"

        var isOther: Bool { [.hevc, .hevcOpen, .mpeg2].contains(self) }
    }

    private func make(_ scratch: Scratch, _ options: String, video: Bool = true) throws -> [UInt8] {
        let input = video ? ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25"] : []
        _ = try Self.ffmpeg(
            input + ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", "12"]
                + options.split(separator: " ").map(String.init) + ["-c:a", "aac", "-f", "mpegts", scratch.path("source.ts")])
        return try scratch.read("source.ts")
    }

    /// The elementary stream of the video, as FFmpeg's demultiplexer has it.
    private func elementary(_ scratch: Scratch, _ name: String, map: String = "0:v:0") throws -> [UInt8] {
        _ = try Self.ffmpeg(["-i", scratch.path(name), "-map", map, "-c", "copy", "-f", "data", scratch.path(name + ".es")])
        return try scratch.read(name + ".es")
    }

    /// Many changes: as many pictures decode as were made, without an error, and with all of the sound.
    @Test(.enabled(if: isWanted, "BURNISH_NO_FOREIGN is set, or no ffmpeg on the PATH"), arguments: Kind.allCases)
    func nothingIsLostAndEverythingDecodes(kind: Kind) throws {
        let scratch = try Scratch()
        let stream = try make(scratch, kind.rawValue)
        var changes: [Int: @Sendable (inout StreamSettings) -> Void] = [:]
        for (index, frame) in stride(from: 30, to: 290, by: 40).enumerated() {
            changes[frame] = { $0.mode = index % 2 == 0 ? .enhance : .bypass }
        }
        let (report, notes, output) = try relayPictureByPicture(stream, scratch, changes: changes) {
            $0.settings.mode = .bypass
        }
        let frames = report.frames
        #expect(frames.originals == 300 && frames.dropped == 0, "\(frames)")
        // Streams without refreshes are bypassed from their beginning only.
        #expect(
            frames.bypassed >= (kind == .open || kind == .gradualRefresh ? 30 : 100) && frames.emitted >= 60,
            "\(frames) \(notes)")
        #expect(TestStream.passed(in: output).units.map(\.bytes) == TestStream.passed(in: stream).units.map(\.bytes))
        let came = Set(TestStream.payloads(in: stream))
        #expect(TestStream.payloads(in: output).count { came.contains($0) } == Int(frames.bypassed))
        let times = TestStream.units(in: output).map(\.presentation)
        #expect(times.count == 300 && Set(times).count == 300)
        // FFmpeg's programs do not follow a change of format within a file.
        guard !kind.isOther else { return }
        #expect(try Self.ffmpeg(["-i", scratch.path("out.ts"), "-map", "0:v", "-f", "null", "-"]) == "")
        #expect(try Self.pictures(in: scratch.path("out.ts")) == Self.pictures(in: scratch.path("source.ts")))
    }

    enum Passed: String, CaseIterable {
        case hevc = "-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=25:bframes=3 -pix_fmt yuv420p"
        case mpeg2 = "-c:v mpeg2video -b:v 2M -g 12 -bf 2"
        /// No format that is decoded here.
        case mpeg4 = "-c:v mpeg4 -b:v 1M -g 25 -bf 2"
        case large = "-c:v libx264 -preset ultrafast -crf 1 -bf 3 -g 25 -pix_fmt yuv420p"
        case twoVideos = "-map 0 -map 1 -map 0 -c:v:0 libx264 -c:v:1 mpeg2video -b:v:1 9M -bf 2 -g 25 -pix_fmt yuv420p"
        case soundAlone = "-vn"
    }

    /// What is bypassed from the beginning, or only passes, is what came, byte by byte, with its times.
    @Test(.enabled(if: isWanted, "BURNISH_NO_FOREIGN is set, or no ffmpeg on the PATH"), arguments: Passed.allCases)
    func everythingPasses(kind: Passed) throws {
        let scratch = try Scratch()
        let stream = try make(scratch, kind.rawValue, video: kind != .soundAlone)
        let report = try relay(stream, scratch) {
            $0.settings.tier = .base
            $0.readsFramesOneByOne = true
            if kind != .mpeg4, kind != .twoVideos { $0.settings.mode = .bypass }
        }
        #expect(report.frames.dropped == 0, "\(report.frames)")
        #expect(report.counters["passing_units_in"] == report.counters["passing_units_out"], "\(report.counters)")
        switch kind {
        case .soundAlone:
            #expect(report.frames.originals == 0)
            #expect(try elementary(scratch, "out.ts", map: "0:a") == elementary(scratch, "source.ts", map: "0:a"))
        case .twoVideos:
            #expect(report.frames.emitted == 300)
            #expect(try elementary(scratch, "out.ts", map: "0:v:1") == elementary(scratch, "source.ts", map: "0:v:1"))
        default:
            #expect(report.frames.bypassed == 300, "\(report.frames)")
            #expect(try elementary(scratch, "out.ts") == elementary(scratch, "source.ts"))
        }
        let steps = try [scratch.path("source.ts"), scratch.path("out.ts")].map { try Self.steps(in: $0) }
        #expect(steps[0] == steps[1])
        if kind != .soundAlone {
            #expect(try Self.ffmpeg(["-i", scratch.path("out.ts"), "-map", "0:v", "-f", "null", "-"]) == "")
        }
    }

    /// The presentation and decoding times of the last stream that is no sound, or of the sound, from the first one on.
    private static func steps(in path: String) throws -> [[Int]] {
        let text = try run([
            "ffprobe", "-v", "error", "-show_entries", "packet=codec_type,stream_index,pts,dts", "-of", "csv=p=0", path,
        ])
        let rows = text.split(separator: "\n").map { $0.split(separator: ",").map(String.init) }.filter { $0.count >= 4 }
        guard let last = rows.filter({ $0[0] == "video" }).map({ $0[1] }).max() ?? rows.first?[1] else { return [] }
        let times = rows.filter { $0[1] == last }.map { [Int($0[2]) ?? -1, Int($0[3]) ?? -1] }
        guard let first = times.first else { return [] }
        return times.map { [$0[0] - first[0], $0[1] - first[0]] }
    }

    /// The program map names another format in mid-stream: H.264, HEVC, MPEG-4, H.264 again.
    @Test(.enabled(if: isWanted, "BURNISH_NO_FOREIGN is set, or no ffmpeg on the PATH")) func theFormatChangesInMidStream()
        throws
    {
        let scratch = try Scratch()
        var stream: [UInt8] = []
        for options in [Kind.closed.rawValue, Passed.hevc.rawValue, Passed.mpeg4.rawValue, Kind.slices.rawValue] {
            stream += try make(scratch, options)
        }
        let report = try relay(stream, scratch) {
            $0.settings.tier = .base
            $0.readsFramesOneByOne = true
        }
        let frames = report.frames
        #expect(frames.originals == 1200 && frames.bypassed == 300, "\(frames)")
        // The first pictures of a format may be shown before the last of the one before.
        #expect(frames.emitted >= 890 && frames.dropped <= 10, "\(frames)")
        #expect(report.counters["passing_units_in"] == report.counters["passing_units_out"], "\(report.counters)")
    }

    /// How many pictures come out of a decoder.
    private static func pictures(in path: String) throws -> Int {
        let text = try run(
            ["ffprobe", "-v", "fatal", "-count_frames", "-select_streams", "v:0", "-show_entries"]
                + ["stream=nb_read_frames", "-of", "csv=p=0", path])
        return text.split(whereSeparator: \.isWhitespace).compactMap { Int($0.prefix { $0.isNumber }) }.first ?? -1
    }

    private static func ffmpeg(_ arguments: [String]) throws -> String {
        try run(["ffmpeg", "-nostdin", "-v", "error", "-y"] + arguments)
    }

    /// - Returns: what the program says.
    private static func run(_ arguments: [String]) throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        if process.terminationStatus != 0 { throw RelayError.input(text) }
        return text
    }
}
