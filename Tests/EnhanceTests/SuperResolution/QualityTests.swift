import Enhance
import EnhanceNetworks
import Foundation
import Kernels
import Media
import Testing

/// The tier `quality`: deeper and wider networks than live streams have unless somebody asks.
@Suite struct QualityTests {
    static func session(
        _ tier: SuperResolutionTier, _ size: PictureSize, content: NetworkContent = .general, kernels: Kernels = .best,
        threads: Int = 1
    ) throws -> SuperResolutionSession {
        var configuration = SuperResolutionConfiguration(size: size)
        configuration.kernels = kernels
        configuration.networks[tier] = .shipped(tier, for: content)
        return try SuperResolutionSession(configuration, workers: WorkerPool(threadCount: threads))
    }

    /// A picture, a quantiser of its bucket, and the expected output. The layout is in tools/train/golden.py.
    static func golden(_ name: String) throws -> (source: TestPicture, quantiser: Int?, expected: [UInt8]) {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let bytes = [UInt8](try Data(contentsOf: tests.appending(path: "Golden/\(name).shipped")))
        let (width, height, bucket) = (Int(bytes[4]), Int(bytes[8]), Int(bytes[12]))
        let count = width * height
        let source = TestPicture(PictureSize(width: width, height: height)) { plane, x, y in
            plane == 0 ? bytes[20 + y * width + x] : 128
        }
        let expected = Array(bytes[20 + 9 * count..<20 + 13 * count])
        return (source, [nil, 18, 22, 25, 28, 32, 37, 51][bucket], expected)
    }

    /// The shipped weights give what the reference arithmetic computed from them, at every level.
    @Test(
        arguments: ["quality-37x29-3", "quality-65x2-1", "quality-1x1-7", "quality-calls-37x29-3", "quality-calls-65x2-1"],
        CPUFeatures.levels)
    func theShippedWeightsGiveTheReferencesBits(name: String, level: CPUFeatures) throws {
        let (source, quantiser, expected) = try Self.golden(name)
        let session = try Self.session(
            .quality, source.size, content: name.hasPrefix("quality-calls") ? .calls : .general, kernels: Kernels(limit: level),
            threads: 2)
        let output = TestPicture(session.outputSize)
        let result = try session.process(
            source.view, into: output.mutableView, tier: .quality, SuperResolutionParameters(quantiser: quantiser))
        #expect(result.tilesQuality == session.grid.count && result.tilesComputed == session.grid.count)
        let width = session.outputSize.width
        let wrong = expected.indices.first { output.sample(0, $0 % width, $0 / width) != Int(expected[$0]) }
        #expect(wrong == nil, "\(level.name)")
    }

    /// The tiles of a picture that is cut in many ways are the same, and what has not changed is reused.
    @Test func tilesGiveTheSameBitsHoweverTheyAreCut() throws {
        let size = PictureSize(width: 150, height: 70)
        let source = TestPicture(size, seed: 5)
        let (whole, pieces) = (try Self.session(.quality, size), try Self.session(.quality, size, threads: 3))
        let (expected, output) = (TestPicture(whole.outputSize), TestPicture(whole.outputSize))
        _ = try whole.process(source.view, into: expected.mutableView, tier: .quality)
        for tile in stride(from: pieces.grid.count - 1, through: 0, by: -1) {
            let request = [TileRequest(tile: tile, tier: .quality)]
            let result = try pieces.process(source.view, into: output.mutableView, tiles: request.span)
            #expect(result.tilesQuality == 1 && result.tilesReused == pieces.grid.count - 1 - tile)
        }
        #expect(output.difference(from: expected) == nil)
    }

    /// Where discs cover each other it is nearer to the truth than `neural-m`.
    @Test func itIsBetterThanTheTierBelow() throws {
        let size = PictureSize(width: 96, height: 64)
        var errors: [SuperResolutionTier: Double] = [:]
        for seed in 1...3 as ClosedRange<UInt64> {
            let truth = QuantisationTests.rounded(QuantisationTests.discs(width: 192, height: 128, seed: seed))
            let small = QuantisationTests.rounded(QuantisationTests.halved(truth, 192, 128)).map { UInt8($0) }
            let source = TestPicture(size) { plane, x, y in plane == 0 ? small[y * 96 + x] : 128 }
            for tier in [SuperResolutionTier.neuralMedium, .quality] {
                let session = try Self.session(tier, size)
                let output = TestPicture(session.outputSize)
                _ = try session.process(source.view, into: output.mutableView, tier: tier)
                let got = (0..<192 * 128).map { Double(output.sample(0, $0 % 192, $0 / 192)) }
                errors[tier, default: 0] += QuantisationTests.error(got, truth, 192)
            }
        }
        let gain = 10 * log10(try #require(errors[.neuralMedium]) / (try #require(errors[.quality])))
        #expect(gain > 0.3, "\(gain) dB")
    }

    /// A live stream's networks never include it, whatever the content.
    @Test(arguments: NetworkContent.allCases) func liveStreamsDoNotHaveIt(content: NetworkContent) throws {
        var configuration = SuperResolutionConfiguration(size: PictureSize(width: 32, height: 16))
        configuration.useShippedNetworks(for: content)
        #expect(configuration.networks[.quality] == nil && configuration.networks.count == 2)
        #expect(!SuperResolutionTier.live.contains(.quality))
        #expect(SuperResolutionTier(name: "quality") == .quality && SuperResolutionTier.allCases.max() == .quality)
    }
}
