import Enhance
import EnhanceNetworks
import Kernels
import Media
import Testing

@Suite struct SharpnessTests {
    static func session(_ size: PictureSize, _ sharpness: Double, threads: Int = 1) throws -> SuperResolutionSession {
        var configuration = SuperResolutionConfiguration(size: size)
        configuration.useShippedNetworks()
        configuration.sharpness = sharpness
        return try SuperResolutionSession(configuration, workers: WorkerPool(threadCount: threads))
    }

    /// Luma follows the definition, sample by sample. Chroma does not change.
    static func sharpened(_ plain: TestPicture, amount: Int) -> TestPicture {
        let (width, height) = (plain.size.width, plain.size.height)
        func luma(_ x: Int, _ y: Int) -> Int {
            plain.sample(0, min(max(x, 0), width - 1), min(max(y, 0), height - 1))
        }
        return TestPicture(plain.size) { plane, x, y in
            if plane > 0 { return UInt8(plain.sample(plane, x, y)) }
            let around = luma(x - 1, y) + luma(x + 1, y) + luma(x, y - 1) + luma(x, y + 1)
            let change = (amount * (4 * luma(x, y) - around) + 32) >> 6
            return UInt8(min(max(luma(x, y) + min(max(change, -24), 24), 0), 255))
        }
    }

    @Test(arguments: [(1, 1), (3, 2), (17, 9), (31, 40), (90, 70)])
    func theFinishedLumaIsSharpened(width: Int, height: Int) throws {
        let size = PictureSize(width: width, height: height)
        let source = TestPicture(size, seed: 8)
        for (sharpness, amount) in [(0.0, 0), (0.001, 1), (0.5, 8), (1, 16)] {
            for tier in SuperResolutionTier.live {
                let plain = TestPicture(size.scaled(by: 2))
                _ = try Self.session(size, 0).process(source.view, into: plain.mutableView, tier: tier)
                let expected = amount == 0 ? plain : Self.sharpened(plain, amount: amount)
                for threads in [1, 3] {
                    let session = try Self.session(size, sharpness, threads: threads)
                    // The second frame reuses tiles of the first, which must not be sharpened twice.
                    for _ in 0..<2 {
                        let output = TestPicture(session.outputSize)
                        _ = try session.process(source.view, into: output.mutableView, tier: tier)
                        #expect(output.difference(from: expected) == nil, "\(tier.name) \(sharpness), \(threads) threads")
                    }
                }
            }
        }
    }

    /// A frame's own sharpness stands for that of the session, whose tiles stay valid.
    @Test func eachFrameMayHaveItsOwnSharpness() throws {
        let size = PictureSize(width: 90, height: 70)
        let source = TestPicture(size, seed: 8)
        let plain = TestPicture(size.scaled(by: 2))
        _ = try Self.session(size, 0).process(source.view, into: plain.mutableView, tier: .neuralSmall)
        let session = try Self.session(size, 0.5)
        for (sharpness, amount) in [(nil, 8), (0.0, 0), (1.0, 16), (nil, 8)] as [(Double?, Int)] {
            let output = TestPicture(session.outputSize)
            let result = try session.process(
                source.view, into: output.mutableView, tier: .neuralSmall,
                SuperResolutionParameters(sharpness: sharpness))
            let expected = amount == 0 ? plain : Self.sharpened(plain, amount: amount)
            #expect(output.difference(from: expected) == nil && result.isComplete, "\(amount)")
        }
        let error = #expect(throws: EnhanceError.self) {
            try session.process(
                source.view, into: plain.mutableView, tier: .base, SuperResolutionParameters(sharpness: 2))
        }
        #expect(error?.code == .badParameter)
    }

    @Test(arguments: [-0.1, 1.1, Double.nan]) func sharpnessOutOfRangeIsRefused(sharpness: Double) {
        let error = #expect(throws: EnhanceError.self) {
            try Self.session(PictureSize(width: 8, height: 8), sharpness)
        }
        #expect(error?.code == .badParameter)
    }

    @Test func withoutReuseEveryTileIsComputed() throws {
        var configuration = SuperResolutionConfiguration(size: PictureSize(width: 100, height: 40))
        configuration.useShippedNetworks()
        configuration.reusesTiles = false
        let session = try SuperResolutionSession(configuration)
        let source = TestPicture(configuration.size, seed: 1)
        let output = TestPicture(session.outputSize)
        for _ in 0..<2 {
            let result = try session.process(source.view, into: output.mutableView, tier: .neuralSmall)
            #expect(result.tilesReused == 0 && result.tilesSmall == session.grid.count)
        }
    }
}
