import Codec
import Endpoint
import Foundation
import Media
import Schedule
import Settings
import Synchronization
import TestStreams
import TestSupport
import Testing

@testable import Relay

/// HDR streams, made by another program, through a relay.
@Suite struct HDRRelayTests {
    private static func stream(_ curve: String) throws -> [UInt8] {
        let scratch = try Scratch()
        let made = try runTool([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=30:duration=1", "-pix_fmt", "yuv420p10le",
            "-c:v", "libx265", "-preset", "ultrafast", "-tune", "zerolatency", "-x265-params",
            "log-level=none:keyint=15:colorprim=bt2020:transfer=\(curve):colormatrix=bt2020nc", "-f", "mpegts",
            scratch.path("made.ts"),
        ])
        #expect(made.status == 0, "\(made.errors)")
        return try scratch.read("made.ts")
    }

    private func relay(
        _ stream: [UInt8], _ scratch: Scratch, _ hdr: StreamSettings.HDR
    ) throws -> (report: RelayReport, lines: [String]) {
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.settings.tier = .base
        configuration.settings.hdr = hdr
        configuration.pacesFiles = false
        configuration.watchesMachine = false
        configuration.readsFramesOneByOne = true
        let lines = Mutex<[String]>([])
        let report = try Relay(configuration).run { event in
            if case .event(.message(let text)) = event { lines.withLock { $0.append(text) } }
        }
        return (report, lines.withLock { $0 })
    }

    @Test(arguments: [("smpte2084", "PQ"), ("arib-std-b67", "HLG")], [StreamSettings.HDR.auto, .sdr])
    func picturesLeaveAsSDRAndSaySo(curve: (String, String), hdr: StreamSettings.HDR) throws {
        let scratch = try Scratch()
        let (report, lines) = try relay(try Self.stream(curve.0), scratch, hdr)
        #expect(report.frames.originals == 30 && report.frames.emitted == 30 && report.frames.balance, "\(report.frames)")
        let said = "pictures are HDR (\(curve.1), BT.2020): converted to SDR; hdr: pass sends them as they came"
        #expect(lines.count { $0.contains("HDR") } == 1 && lines.contains(said), "\(lines)")
        #expect(report.counters["pictures_converted"] == 30)
        let reader = try FileReader(path: scratch.path("out.ts"))
        let color = reader.video.color
        #expect(color.transfer == 1 && color.primaries == 1 && color.matrix == 1 && color.range != .full)
    }

    @Test func passSendsThemAsTheyCame() throws {
        let scratch = try Scratch()
        let stream = try Self.stream("smpte2084")
        let frames = try relay(stream, scratch, .pass).report.frames
        #expect(frames.originals == 30 && frames.bypassed == 30 && frames.balance, "\(frames)")
        #expect(TestStream.payloads(in: try scratch.read("out.ts")) == TestStream.payloads(in: stream))
    }

    /// SDR streams are enhanced whatever is said of HDR.
    @Test func passConcernsHDRAlone() throws {
        let scratch = try Scratch()
        let frames = try relay(try Self.stream("bt709"), scratch, .pass).report.frames
        #expect(frames.emitted == 30 || frames.bypassed == 0, "\(frames)")
    }

    @Test func theFullRangeLeavesLimitedAndSaysSo() throws {
        let scratch = try Scratch()
        let made = try runTool([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=white:size=160x96:rate=30:duration=0.5,format=yuvj420p",
            "-c:v",
            "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-f", "mpegts", scratch.path("made.ts"),
        ])
        #expect(made.status == 0, "\(made.errors)")
        let (report, lines) = try relay(try scratch.read("made.ts"), scratch, .auto)
        #expect(report.frames.emitted == 15 && report.frames.balance, "\(report.frames)")
        #expect(lines.contains("pictures have the full range: converted to the limited one"), "\(lines)")
        let reader = try FileReader(path: scratch.path("out.ts"))
        #expect(reader.video.color.range != .full)
        guard case .picture(let picture, time: _)? = try reader.next() else {
            Issue.record("there is no picture")
            return
        }
        #expect(abs(Int(picture.view.y.row(40)[40]) - 235) <= 1)
    }
}
