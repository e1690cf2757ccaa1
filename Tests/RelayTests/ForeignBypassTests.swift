import Container
import Endpoint
import Foundation
import Media
import Settings
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// Bypassed streams of another program's encoders, and that program's decoder behind them. `BURNISH_NO_FOREIGN=1` skips these.
@Suite(.timeLimit(.minutes(5))) struct ForeignBypassTests {
    static let isWanted = ProcessInfo.processInfo.environment["BURNISH_NO_FOREIGN"] == nil && ((try? ffmpeg(["-version"])) != nil)

    enum Kind: String, CaseIterable {
        case closed = "-c:v libx264 -preset ultrafast -bf 3 -g 25 -pix_fmt yuv420p"
        case pyramid = "-c:v libx264 -preset veryfast -bf 3 -b-pyramid normal -g 25 -sc_threshold 0 -pix_fmt yuv420p"
        case open = "-c:v libx264 -preset veryfast -bf 2 -g 25 -sc_threshold 0 -x264-params open-gop=1 -pix_fmt yuv420p"
        case gradualRefresh = "-c:v libx264 -preset ultrafast -tune zerolatency -g 25 -x264-params intra-refresh=1 -pix_fmt yuv420p"
        case slices = "-c:v libx264 -preset ultrafast -tune zerolatency -slices 4 -g 25 -pix_fmt yuv420p"
    }

    /// Many changes: as many pictures decode as were made, without an error, and with all of the sound.
    @Test(.enabled(if: isWanted, "BURNISH_NO_FOREIGN is set, or no ffmpeg on the PATH"), arguments: Kind.allCases)
    func nothingIsLostAndEverythingDecodes(kind: Kind) throws {
        let scratch = try Scratch()
        let source = scratch.path("source.ts")
        _ = try Self.ffmpeg(
            ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000"]
                + ["-t", "12"] + kind.rawValue.split(separator: " ").map(String.init) + ["-c:a", "aac", "-f", "mpegts", source])
        let stream = try scratch.read("source.ts")
        var changes: [Int: @Sendable (inout StreamSettings) -> Void] = [:]
        for (index, frame) in stride(from: 30, to: 290, by: 40).enumerated() {
            changes[frame] = { $0.mode = index % 2 == 0 ? .bypass : .enhance }
        }
        let (report, notes, output) = try relayPictureByPicture(stream, scratch, changes: changes)
        let frames = report.frames
        #expect(frames.originals == 300 && frames.dropped == 0, "\(frames)")
        #expect(kind == .gradualRefresh ? frames.bypassed == 0 : frames.bypassed >= 100, "\(frames) \(notes)")
        #expect(try Self.ffmpeg(["-i", scratch.path("out.ts"), "-map", "0:v", "-f", "null", "-"]) == "")
        #expect(try Self.pictures(in: scratch.path("out.ts")) == Self.pictures(in: source))
        #expect(TestStream.passed(in: output).units.map(\.bytes) == TestStream.passed(in: stream).units.map(\.bytes))
        let came = Set(TestStream.payloads(in: stream))
        #expect(TestStream.payloads(in: output).count { came.contains($0) } == Int(frames.bypassed))
    }

    /// How many pictures come out of a decoder.
    private static func pictures(in path: String) throws -> Int {
        let text = try run(["ffprobe", "-v", "error", "-count_frames", "-select_streams", "v:0", "-show_entries"]
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
