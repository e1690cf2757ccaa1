import Foundation
import Media
import TestSupport
import Testing

@testable import Container

/// Streams made by FFmpeg, read by our demultiplexer, written by our multiplexer, and read by FFmpeg again.
@Suite struct PassThroughTests {
    private struct Unit {
        var stream: Int
        var bytes: [UInt8]
        var presentation, decode: MediaTime?
        var isKeyframe: Bool
        var isVideo: Bool
        var evidence: EndEvidence
    }

    private func demultiplex(_ bytes: [UInt8]) -> (program: ProgramDescription?, units: [Unit]) {
        var demuxer = TransportStreamDemuxer()
        var (program, units): (ProgramDescription?, [Unit]) = (nil, [])
        func handle(_ event: ContainerEvent) {
            switch event {
            case .program(let description): program = description
            case .unit(let unit):
                units.append(
                    Unit(
                        stream: unit.stream, bytes: Array(unit.bytes), presentation: unit.presentation,
                        decode: unit.decode, isKeyframe: unit.isKeyframe, isVideo: unit.isMainVideo,
                        evidence: unit.evidence))
            default: break
            }
        }
        for (i, start) in stride(from: 0, to: bytes.count, by: 1316).enumerated() {
            bytes[start..<min(bytes.count, start + 1316)].withUnsafeBytes {
                let time = MonotonicTime(nanoseconds: Int64(i) * 1_000_000)
                demuxer.push($0, arrival: time, sourceTime: nil, handler: handle)
            }
        }
        demuxer.finish(handler: handle)
        return (program, units)
    }

    private func packets(_ file: URL) throws -> [String] {
        let probed = try runTool([
            "ffprobe", "-v", "error", "-show_entries", "packet=codec_type,pts,size,flags", "-of", "csv", file.path,
        ])
        #expect(probed.status == 0 && probed.errors == "", "\(probed.errors)")
        return probed.output.split(separator: "\n").map(String.init)
    }

    @Test(arguments: ["aac", "mp2", "ac3", "libopus"], [0, 2])
    func otherStreamsArriveAsTheyWere(_ codec: String, _ bFrames: Int) throws {
        let folder = try TemporaryFolder()
        let (source, target) = (folder.file("in.ts"), folder.file("out.ts"))
        let made = try runTool([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi", "-i",
            "sine=sample_rate=48000", "-t", "2", "-c:v", "libx264", "-bf", "\(bFrames)", "-g", "20", "-x264-params",
            "aud=1", "-c:a", codec, source.path,
        ])
        #expect(made.status == 0, "\(made.errors)")
        let input = demultiplex([UInt8](try Data(contentsOf: source)))
        let other = try #require(input.program?.streams.first { $0.role == .passing })
        var layout = TransportStreamLayout()
        layout.passedStreams = [
            .init(
                streamType: other.streamType, descriptors: other.descriptors,
                streamID: codec == "aac" || codec == "mp2" ? 0xc0 : 0xbd)
        ]
        let muxer = try TransportStreamMuxer(layout)
        var bytes: [UInt8] = []
        for unit in input.units {
            let time = try #require(unit.presentation)
            unit.bytes.withUnsafeBytes {
                if unit.isVideo {
                    muxer.writeVideo(
                        $0, presentationTime: time, decodeTime: unit.decode ?? time, isKeyframe: unit.isKeyframe
                    ) { bytes += Array($0) }
                } else {
                    muxer.writePassed(stream: 0, $0, presentationTime: time) { bytes += Array($0) }
                }
            }
        }
        try Data(bytes).write(to: target)
        let (before, after) = (try packets(source), try packets(target))
        for kind in ["video", "audio"] {
            #expect(after.filter { $0.contains(kind) } == before.filter { $0.contains(kind) })
        }
        let decoded = try runTool(["ffmpeg", "-v", "warning", "-xerror", "-i", target.path, "-f", "null", "-"])
        #expect(decoded.status == 0 && decoded.errors == "", "\(decoded.errors)")

        // And our own demultiplexer knows the end of each from its length, once it has learnt that it may.
        let output = demultiplex(bytes)
        #expect(output.units.count == input.units.count)
        #expect(output.units.filter(\.isVideo).dropFirst(8).allSatisfy { $0.evidence == .length })
        #expect(output.units.filter(\.isVideo).map(\.bytes) == input.units.filter(\.isVideo).map(\.bytes))
    }
}
