import Codec
import Endpoint
import Foundation
import Media
import Schedule
import Settings
import TestStreams
import Testing

@testable import Relay

/// What streams say of the shape of their pictures: cropped edges, and pictures to be turned.
@Suite struct PictureShapeTests {
    private struct Outcome {
        var sizes: Set<PictureSize> = []
        var orientations: [Orientation] = []
        var input: PictureSize?
    }

    /// Relays a stream and decodes what comes out.
    private func relay(_ stream: [UInt8], scale: Int = 1) throws -> Outcome {
        let scratch = try Scratch()
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.settings.tier = .base
        configuration.options.scale = scale == 2 ? .double : .same
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        var outcome = Outcome()
        let report = try Relay(configuration).run {
            if case .event(.picture(let input, _)) = $0 { outcome.input = input }
        }
        #expect(report.frames.balance && report.frames.dropped == 0, "\(report.frames)")
        let decoder = try VideoDecoder()
        var number: Int64 = 0
        for unit in TestStream.payloads(in: try scratch.read("out.ts")) {
            _ = try unit.withUnsafeBytes { try decoder.decode($0, id: number) }
            number += 1
            while let output = try decoder.next() {
                guard case .picture(let picture) = consume output else { continue }
                outcome.sizes.insert(picture.size)
                if picture.isKeyframe { outcome.orientations.append(picture.color.orientation) }
            }
        }
        return outcome
    }

    private func golden(_ name: String) throws -> [UInt8] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "GoldenStreams/\(name).ts")
        return [UInt8](try Data(contentsOf: file))
    }

    @Test(arguments: [1, 2]) func croppedEdgesStayAway(scale: Int) throws {
        let outcome = try relay(golden("cropped"), scale: scale)
        #expect(outcome.input == PictureSize(width: 160, height: 90))
        #expect(outcome.sizes == [PictureSize(width: 160 * scale, height: 90 * scale)])
    }

    @Test func aPictureThatIsToBeTurnedStillIs() throws {
        let outcome = try relay(golden("rotated"))
        // Of the source's keyframes one a second is one of the output, and each says it.
        #expect(outcome.orientations.count == 1, "\(outcome.orientations)")
        #expect(outcome.orientations.allSatisfy { $0 == Orientation(rotation: 0x4000) }, "\(outcome.orientations)")
    }
}
