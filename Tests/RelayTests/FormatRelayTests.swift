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
    private static func stream(_ codec: [String], start: Double = 0, version: Int = 0) throws -> [UInt8] {
        let file = URL(filePath: NSTemporaryDirectory()).appending(path: "burnish-\(UUID().uuidString).ts")
        defer { try? FileManager.default.removeItem(at: file) }
        let made = try runTool(
            ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=30:duration=1"] + codec + [
                "-output_ts_offset", "\(start)", "-tables_version", "\(version)", "-f", "mpegts", file.path,
            ])
        #expect(made.status == 0, "\(made.errors)")
        return [UInt8](try Data(contentsOf: file))
    }

    private static let h264 = ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "15"]
    private static let hevc = [
        "-c:v", "libx265", "-preset", "ultrafast", "-tune", "zerolatency", "-x265-params", "log-level=none:keyint=15",
    ]
    private static let mpeg2 = ["-c:v", "mpeg2video", "-q:v", "6", "-g", "12", "-bf", "2"]

    private func relay(_ stream: [UInt8], _ scratch: Scratch) throws -> RelayReport {
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.settings.tier = .base
        configuration.pacesFiles = false
        configuration.watchesMachine = false
        return try Relay(configuration).run { _ in }
    }

    @Test(arguments: [hevc, mpeg2]) func asManyPicturesComeOutAsWentIn(codec: [String]) throws {
        let scratch = try Scratch()
        let report = try relay(try Self.stream(codec), scratch)
        #expect(report.frames.originals == 30 && report.frames.emitted == 30, "\(report.frames)")
        #expect(report.frames.balance && report.counters["pictures_damaged"] == nil)
        #expect(TestStream.units(in: try scratch.read("out.ts")).count == 30)
    }

    /// The program map names another format in mid-stream. The former pictures all come out, then those of the other decoder.
    @Test(arguments: [[hevc, h264, mpeg2], [mpeg2, hevc, h264]])
    func theFormatChangesInMidStream(codecs: [[String]]) throws {
        let scratch = try Scratch()
        var stream: [UInt8] = []
        for (place, codec) in codecs.enumerated() {
            stream += try Self.stream(codec, start: 1.1 * Double(place), version: place)
        }
        let report = try relay(stream, scratch)
        #expect(report.frames.originals == 90 && report.frames.emitted == 90, "\(report.frames)")
        #expect(report.frames.balance && report.frames.inFlight == 0)
        let times = TestStream.units(in: try scratch.read("out.ts")).compactMap(\.presentation)
        #expect(times.count == 90 && times == times.sorted())
    }
}
