import Container
import Foundation
import Media
import TestSupport
import Testing

@testable import Codec

/// What our encoder makes and our multiplexer packs, read by other programs.
@Suite struct MultiplexedVideoTests {
    @Test func otherProgramsReadTheStream() throws {
        var configuration = VideoEncoderConfiguration(
            size: PictureSize(width: 320, height: 180), frameRate: Rational(30))
        configuration.color.primaries = 1
        configuration.color.transfer = 13
        configuration.color.matrix = 5
        configuration.color.range = .full
        configuration.color.sampleAspectRatio = Rational(10, 11)
        let units = try encodeUnits(configuration, count: 60, keyframeEvery: 25)
        let folder = try TemporaryFolder()
        let adts = folder.file("a.aac")
        #expect(
            try runTool([
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=frequency=440:duration=2", "-c:a", "aac", adts.path,
            ]).status == 0)
        let frames = splitADTS([UInt8](try Data(contentsOf: adts)))

        var layout = TransportStreamLayout()
        layout.passedStreams = [.aac]
        let muxer = try TransportStreamMuxer(layout)
        var emitted: [UInt8] = []
        var nextAudio = 0
        for unit in units {
            while nextAudio < frames.count, 90_000 + Int64(nextAudio) * 1920 <= unit.presentationTime.ticks {
                let time = MediaTime(ticks: 90_000 + Int64(nextAudio) * 1920)
                frames[nextAudio].withUnsafeBytes {
                    muxer.writePassed(stream: 0, $0, presentationTime: time) { emitted += Array($0) }
                }
                nextAudio += 1
            }
            unit.bytes.withUnsafeBytes {
                muxer.writeVideo(
                    $0, presentationTime: unit.presentationTime, decodeTime: unit.decodeTime,
                    isKeyframe: unit.isKeyframe
                ) { emitted += Array($0) }
            }
        }
        let file = folder.file("a.ts")
        try Data(emitted).write(to: file)

        let probed = try runTool([
            "ffprobe", "-v", "warning", "-show_streams", "-show_packets", "-of", "json", file.path,
        ])
        #expect(probed.status == 0 && probed.errors == "", "\(probed.errors)")
        let report = try JSONDecoder().decode(ProbeReport.self, from: Data(probed.output.utf8))
        let video = try #require(report.streams.first { $0.codec_type == "video" })
        #expect(video.width == 320 && video.height == 180 && video.sample_aspect_ratio == "10:11")
        #expect(video.color_range == "pc" && video.color_primaries == "bt709")
        #expect(video.color_transfer == "iec61966-2-1" && video.color_space == "bt470bg")
        #expect(report.streams.contains { $0.codec_name == "aac" })
        let packets = report.packets.filter { $0.codec_type == "video" }
        #expect(packets.map(\.pts) == units.map(\.presentationTime.ticks))
        #expect(packets.indices.filter { packets[$0].flags.hasPrefix("K") } == [0, 25, 50])
        #expect(report.packets.count { $0.codec_type == "audio" } == nextAudio)

        let decoded = try runTool(["ffmpeg", "-v", "warning", "-xerror", "-i", file.path, "-f", "null", "-"])
        #expect(decoded.status == 0 && decoded.errors == "", "\(decoded.errors)")
        let counted = try runTool([
            "gst-launch-1.0", "filesrc", "location=\(file.path)", "!", "tsdemux", "!", "h264parse", "!",
            "fakesink", "silent=false", "-v",
        ])
        #expect(counted.status == 0)
        #expect(counted.output.components(separatedBy: "last-message = chain").count - 1 == 60)
    }
}

private struct ProbeReport: Decodable {
    struct Stream: Decodable {
        var codec_type, codec_name: String?
        var width, height: Int?
        var sample_aspect_ratio, color_range, color_primaries, color_transfer, color_space: String?
    }
    struct Packet: Decodable {
        var codec_type: String
        var pts: Int64?
        var flags: String
    }
    var streams: [Stream]
    var packets: [Packet]
}

private func splitADTS(_ bytes: [UInt8]) -> [[UInt8]] {
    var frames: [[UInt8]] = []
    var at = 0
    while at + 7 <= bytes.count {
        let length = Int(bytes[at + 3] & 3) << 11 | Int(bytes[at + 4]) << 3 | Int(bytes[at + 5]) >> 5
        frames.append(Array(bytes[at..<min(bytes.count, at + length)]))
        at += length
    }
    return frames
}
