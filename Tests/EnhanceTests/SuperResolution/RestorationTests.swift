import Enhance
import EnhanceNetworks
import Foundation
import Kernels
import Media
import Testing

/// Networks that take coding artefacts out of pictures and keep their size.
@Suite struct RestorationTests {
    static let tiers = [SuperResolutionTier.neuralSmall, .neuralMedium]

    static func session(
        _ size: PictureSize, kernels: Kernels = .best, threads: Int = 1, outputSize: PictureSize? = nil
    ) throws -> SuperResolutionSession {
        var configuration = SuperResolutionConfiguration(size: size)
        configuration.scaleFactor = 1
        configuration.outputSize = outputSize
        configuration.kernels = kernels
        configuration.useShippedRestoration()
        return try SuperResolutionSession(configuration, workers: WorkerPool(threadCount: threads))
    }

    static let coded = SuperResolutionParameters(quantiser: 30)

    /// What `tier` makes of a picture that is one strip.
    static func restored(_ source: TestPicture, _ tier: SuperResolutionTier = .neuralSmall) throws -> TestPicture {
        let output = TestPicture(source.size)
        _ = try session(source.size).process(source.view, into: output.mutableView, tier: tier, coded)
        return output
    }

    /// The shipped weights give what the reference arithmetic computed from them, at every level.
    @Test(arguments: ["48x40-0", "38x30-3", "66x2-1", "2x2-7", "4x64-5"], CPUFeatures.levels)
    func theShippedWeightsGiveTheReferencesBits(name: String, level: CPUFeatures) throws {
        for (tier, letter) in zip(Self.tiers, ["s", "m"]) {
            let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            let bytes = [UInt8](try Data(contentsOf: tests.appending(path: "Golden/restore-\(letter)-\(name).shipped")))
            let (width, height, bucket) = (Int(bytes[4]), Int(bytes[8]), Int(bytes[12]))
            let count = width * height
            let source = TestPicture(PictureSize(width: width, height: height)) { plane, x, y in
                plane == 0 ? bytes[20 + y * width + x] : UInt8(100 + x + 2 * y)
            }
            let session = try Self.session(source.size, kernels: Kernels(limit: level), threads: 2)
            let output = TestPicture(source.size)
            let quantiser = [12, 18, 22, 25, 28, 32, 37, 51][bucket]
            let result = try session.process(
                source.view, into: output.mutableView, tier: tier, SuperResolutionParameters(quantiser: quantiser))
            #expect(result.tilesComputed == (bucket == 0 ? 0 : session.grid.count))
            let expected = bytes[20 + 3 * count..<20 + 4 * count]
            let wrong = (0..<count).first { output.sample(0, $0 % width, $0 / width) != Int(expected[20 + 3 * count + $0]) }
            #expect(wrong == nil, "\(level.name) \(letter)")
            for plane in 1...2 {
                #expect(output.sample(plane, 0, height / 2 - 1) == source.sample(plane, 0, height / 2 - 1))
            }
            #expect(output.paddingIsIntact)
        }
    }

    /// The tiles of a picture that is cut in many ways are the same, with a time to stop and without, and what has not changed is
    /// reused.
    @Test func tilesGiveTheSameBitsHoweverTheyAreCut() throws {
        let size = PictureSize(width: 300, height: 142)
        let source = TestPicture(size, seed: 5)
        let expected = try Self.restored(source)
        #expect(expected.difference(from: source) != nil)
        for until in [nil, MonotonicTime.now() + .seconds(1000)] {
            let pieces = try Self.session(size, threads: 3)
            #expect(pieces.grid.columns == 3 && pieces.grid.rows == 3)
            let output = TestPicture(size)
            var parameters = Self.coded
            parameters.until = until
            for tile in stride(from: pieces.grid.count - 1, through: 0, by: -1) {
                let request = [TileRequest(tile: tile, tier: .neuralSmall)]
                let result = try pieces.process(source.view, into: output.mutableView, tiles: request.span, parameters)
                #expect(result.tilesSmall == 1 && result.tilesReused == pieces.grid.count - 1 - tile)
                // The tiles that nobody has restored yet are as they came.
                if tile > 0 { #expect(output.sample(0, 5, 5) == source.sample(0, 5, 5)) }
            }
            #expect(output.difference(from: expected) == nil)
        }
    }

    /// A change that a tile depends on makes its result invalid, and one beyond that does not.
    @Test func onlyChangesWithinReachMakeATileAnew() throws {
        let size = PictureSize(width: 384, height: 192)
        let reach = try #require(SuperResolutionNetwork.shippedRestoration(.neuralSmall)).radius
        let (first, second) = (TestPicture(size, seed: 1), TestPicture(size, seed: 1))
        let session = try Self.session(size)
        let output = TestPicture(size)
        _ = try session.process(first.view, into: output.mutableView, tier: .neuralSmall, Self.coded)
        // In the middle tile of 3 x 3, whose samples are 128..<256 and 64..<128: too far from the right one.
        second.set(0, 255 - reach, 64 + reach + 1, UInt8(second.sample(0, 255 - reach, 64 + reach + 1) ^ 0x80))
        var result = try session.process(second.view, into: output.mutableView, tier: .neuralSmall, Self.coded)
        #expect(result.tilesSmall == 1 && result.tilesReused == 8)
        #expect(output.difference(from: try Self.restored(second)) == nil)
        // Sample 257, of the second column there, is within reach of this one.
        second.set(0, 257 - reach, 100, UInt8(second.sample(0, 257 - reach, 100) ^ 0x80))
        result = try session.process(second.view, into: output.mutableView, tier: .neuralSmall, Self.coded)
        #expect(result.tilesSmall == 2 && result.tilesReused == 7)
        #expect(output.difference(from: try Self.restored(second)) == nil)
    }

    /// What was coded finely, or never, or of which nobody knows, leaves to the bit as it came, and so does all that there is no
    /// time for.
    @Test(arguments: [nil, 0, 7, 12] as [Int?], tiers)
    func finePicturesStayAsTheyAre(quantiser: Int?, tier: SuperResolutionTier) throws {
        let source = TestPicture(PictureSize(width: 150, height: 70), seed: 3)
        let session = try Self.session(source.size)
        let output = TestPicture(source.size)
        for _ in 0..<2 {
            let result = try session.process(
                source.view, into: output.mutableView, tier: tier, SuperResolutionParameters(quantiser: quantiser))
            #expect(result.tilesComputed == 0 && result.tilesReused == 0 && result.isComplete)
            #expect(output.difference(from: source) == nil)
        }
        // The session goes on with coarser ones, and back.
        _ = try session.process(source.view, into: output.mutableView, tier: tier, Self.coded)
        #expect(output.difference(from: try Self.restored(source, tier)) == nil)
        var late = Self.coded
        late.until = MonotonicTime(nanoseconds: 0)
        session.reset()
        let result = try session.process(source.view, into: output.mutableView, tier: tier, late)
        #expect(result.tilesLeft == session.grid.count)
        #expect(output.difference(from: source) == nil)
    }

    /// Odd sides: the last column and row stay, and the rest is what the picture without them becomes.
    @Test(arguments: [
        PictureSize(width: 151, height: 70), PictureSize(width: 128, height: 65), PictureSize(width: 129, height: 3),
    ])
    func oddSidesKeepTheirLastSamples(size: PictureSize) throws {
        let source = TestPicture(size, seed: 8)
        let even = TestPicture(PictureSize(width: size.width / 2 * 2, height: size.height / 2 * 2)) { plane, x, y in
            UInt8(source.sample(plane, x, y))
        }
        let (output, inner) = (try Self.restored(source), try Self.restored(even))
        for y in 0..<size.height {
            for x in 0..<size.width {
                let isInside = x < even.size.width && y < even.size.height
                #expect(output.sample(0, x, y) == (isInside ? inner : source).sample(0, x, y), "\(x), \(y)")
            }
        }
        #expect(output.paddingIsIntact)
    }

    /// A picture without 2x2 samples has nothing to restore.
    @Test func aLineStaysAsItIs() throws {
        let source = TestPicture(PictureSize(width: 40, height: 1), seed: 2)
        let session = try Self.session(source.size)
        #expect(session.tiers == [.base])
        let output = TestPicture(source.size)
        _ = try session.process(source.view, into: output.mutableView, Self.coded)
        #expect(output.difference(from: source) == nil)
    }

    /// Pictures that leave in another size are restored before.
    @Test func restorationComesBeforeAnotherSize() throws {
        let source = TestPicture(PictureSize(width: 160, height: 90), seed: 4)
        let size = PictureSize(width: 200, height: 120)
        let (session, plain) = (
            try Self.session(source.size, outputSize: size), try Self.session(source.size, outputSize: size)
        )
        let (output, expected) = (TestPicture(size), TestPicture(size))
        _ = try session.process(source.view, into: output.mutableView, tier: .neuralMedium, Self.coded)
        let restored = try Self.restored(source, .neuralMedium)
        _ = try plain.process(restored.view, into: expected.mutableView, tier: .base)
        #expect(output.difference(from: expected) == nil)
        #expect(session.beforeResampling(source.view)?.y.row(9)[9] == UInt8(restored.sample(0, 9, 9)))
    }

    @Test func networksMustSuitTheScale() throws {
        var configuration = SuperResolutionConfiguration(size: PictureSize(width: 16, height: 16))
        configuration.networks[.neuralSmall] = .shippedRestoration(.neuralSmall)
        let error = #expect(throws: EnhanceError.self) { try SuperResolutionSession(configuration) }
        #expect(error?.code == .badWeights)
        // Those that double wait for pictures that are doubled.
        configuration.networks[.neuralSmall] = .shipped(.neuralSmall)
        configuration.scaleFactor = 1
        #expect(try SuperResolutionSession(configuration).tiers == [.base])
        #expect(SuperResolutionNetwork.shippedRestoration(.quality) == nil)
        for (tier, most) in zip(Self.tiers, [3_500, 22_000]) {
            let network = try #require(SuperResolutionNetwork.shippedRestoration(tier))
            #expect(network.isRestoring && network.multiplicationsPerSample <= most)
        }
    }
}
