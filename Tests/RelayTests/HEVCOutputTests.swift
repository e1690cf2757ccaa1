import Endpoint
import Foundation
import Media
import Settings
import TestStreams
import TestSupport
import Testing

@testable import Relay

/// Pictures that leave as HEVC.
@Suite struct HEVCOutputTests {
    private static func asHEVC(_ configuration: inout RelayConfiguration) {
        configuration.options.codec = .hevc
        configuration.options.preset = .ultrafast
    }

    /// What another program finds in the output: the codec's name and how many pictures it decodes.
    private func probe(_ path: String) throws -> [Substring] {
        let found = try runTool([
            "ffprobe", "-v", "error", "-count_frames", "-select_streams", "v", "-show_entries",
            "stream=codec_name,nb_read_frames",
            "-of", "csv=p=0", path,
        ])
        #expect(found.status == 0 && found.errors.isEmpty, "\(found.errors)")
        // ffprobe lists a stream once more in its program.
        return found.output.split(whereSeparator: \.isNewline).first?.split(separator: ",") ?? []
    }

    @Test func anotherProgramDecodesThemAll() throws {
        let scratch = try Scratch()
        let report = try relayPictureByPicture(try TestStream.video(frames: 20), scratch, adjust: Self.asHEVC).report
        #expect(report.frames.emitted == 20 && report.frames.balance, "\(report.frames)")
        #expect(try probe(scratch.path("out.ts")) == ["hevc", "20"])
    }

    /// The program map follows from the encoder's codec to the source's and back, and no picture is lost.
    @Test func theSourcesOwnCodecPassesInBetween() throws {
        let scratch = try Scratch()
        let (report, notes, output) = try relayPictureByPicture(
            try TestStream.video(frames: 60), scratch, changes: [14: { $0.mode = .bypass }, 40: { $0.mode = .enhance }],
            adjust: Self.asHEVC)
        #expect(report.frames.balance && report.frames.emitted + report.frames.bypassed == 60, "\(report.frames) \(notes)")
        #expect(report.frames.bypassed > 0 && report.frames.emitted > 0)
        #expect(TestStream.units(in: output).count == 60)
    }

    /// Another rate needs another encoder, which begins with a keyframe.
    @Test func anotherRateHoldsFromAKeyframeOn() throws {
        let scratch = try Scratch()
        let (report, notes, output) = try relayPictureByPicture(
            try TestStream.video(frames: 30), scratch, changes: [10: { $0.bitRate = 700_000 }], adjust: Self.asHEVC)
        #expect(report.frames.emitted == 30 && report.frames.balance, "\(report.frames) \(notes)")
        let keyframes = TestStream.units(in: output).map(\.isKeyframe)
        #expect(keyframes.indices.contains { (8...13).contains($0) && keyframes[$0] }, "\(keyframes)")
        #expect(try probe(scratch.path("out.ts")) == ["hevc", "30"])
    }
}
