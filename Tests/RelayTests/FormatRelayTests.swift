import Bitstream
import Endpoint
import Foundation
import Media
import Schedule
import Settings
import TestStreams
import TestSupport
import Testing

@testable import Relay

/// Streams of other formats than H.264, made by another program, through a relay.
@Suite struct FormatRelayTests {
    /// A second of a stream at 30 pictures a second.
    /// - Parameters:
    ///   - start: of its time stamps, in seconds.
    ///   - version: of its tables.
    ///   - pid: of its video.
    private static func stream(_ codec: [String], start: Double = 0, version: Int = 0, pid: Int = 0x100) throws -> [UInt8] {
        let file = URL(filePath: NSTemporaryDirectory()).appending(path: "burnish-\(UUID().uuidString).ts")
        defer { try? FileManager.default.removeItem(at: file) }
        let made = try runTool(
            ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=30:duration=1"] + codec + [
                "-output_ts_offset", "\(start)", "-tables_version", "\(version)", "-mpegts_start_pid", "\(pid)", "-f", "mpegts",
                file.path,
            ])
        #expect(made.status == 0, "\(made.errors)")
        return [UInt8](try Data(contentsOf: file))
    }

    private static let h264 = ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "15"]
    private static let hevc = [
        "-c:v", "libx265", "-preset", "ultrafast", "-tune", "zerolatency", "-x265-params", "log-level=none:keyint=15",
    ]
    private static let mpeg2 = ["-c:v", "mpeg2video", "-q:v", "6", "-g", "12", "-bf", "2"]
    /// What cannot be decoded here.
    private static let mpeg4 = ["-c:v", "mpeg4", "-q:v", "6", "-g", "15", "-bf", "0"]

    private func relay(
        _ stream: [UInt8], _ scratch: Scratch, mode: StreamSettings.Mode = .enhance
    ) throws -> RelayReport {
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.settings.tier = .base
        configuration.settings.mode = mode
        configuration.pacesFiles = false
        configuration.watchesMachine = false
        // As from a live source: no picture comes before the former ones are out.
        configuration.readsFramesOneByOne = true
        return try Relay(configuration).run { _ in }
    }

    @Test(arguments: [hevc, mpeg2]) func asManyPicturesComeOutAsWentIn(codec: [String]) throws {
        let scratch = try Scratch()
        let report = try relay(try Self.stream(codec), scratch)
        #expect(report.frames.originals == 30 && report.frames.emitted == 30, "\(report.frames)")
        #expect(report.frames.balance && report.counters["pictures_damaged"] == nil)
        #expect(TestStream.units(in: try scratch.read("out.ts")).count == 30)
    }

    /// The program map names another format in mid-stream, on the same packet identifier or another one. The former pictures all
    /// come out, then those of the other decoder, each at its time.
    @Test(arguments: [[hevc, h264, mpeg2], [mpeg2, hevc, h264], [h264, mpeg4, mpeg2]], [false, true])
    func theFormatChangesInMidStream(codecs: [[String]], onOtherPIDs: Bool) throws {
        let parts = try codecs.enumerated().map { place, codec in
            try Self.stream(codec, start: 1.1 * Double(place), version: place, pid: 0x100 + (onOtherPIDs ? 0x10 * place : 0))
        }
        let came = parts.flatMap { TestStream.units(in: $0).map(\.presentation).sorted() }
        #expect(came.count == 90)
        for mode in StreamSettings.Mode.allCases {
            let scratch = try Scratch()
            let frames = try relay(parts.flatMap { $0 }, scratch, mode: mode).frames
            #expect(frames.originals == 90 && frames.emitted + frames.bypassed == 90, "\(frames)")
            #expect(frames.balance && frames.inFlight == 0)
            let passed = codecs.contains(Self.mpeg4) ? 30 : 0
            #expect(Int(frames.bypassed) == (mode == .bypass ? 90 : passed), "\(frames)")
            let output = try scratch.read("out.ts")
            let times = TestStream.units(in: output).map(\.presentation).sorted()
            try #require(times.count == 90)
            let (first, firstCame) = (times[0], came[0])
            #expect(zip(times, came).allSatisfy { $0 - first == $1 - firstCame })
            guard mode == .bypass else { continue }
            #expect(TestStream.payloads(in: output) == parts.flatMap { TestStream.payloads(in: $0) })
        }
    }
}
