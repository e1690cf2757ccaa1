import Enhance
import Kernels
import Media
import Testing

@Suite struct BaseTests {
    /// Tiny, odd, portrait, and larger than a band and a vector.
    static let sizes = [(1, 1), (2, 1), (1, 2), (3, 3), (5, 2), (7, 33), (16, 16), (17, 9), (90, 160), (131, 77)]
        .map { PictureSize(width: $0.0, height: $0.1) }

    static func upscale(
        _ source: TestPicture, scale: Int = 2, kernels: Kernels = .best, threads: Int = 1, chromaLocation: UInt8 = 0
    ) throws -> TestPicture {
        var configuration = SuperResolutionConfiguration(size: source.size)
        configuration.scaleFactor = scale
        configuration.kernels = kernels
        let session = try SuperResolutionSession(configuration, workers: WorkerPool(threadCount: threads))
        let output = TestPicture(session.outputSize)
        let result = try session.process(
            source.view, into: output.mutableView, tier: .base,
            SuperResolutionParameters(chromaLocation: chromaLocation))
        #expect(result.isComplete)
        return output
    }

    @Test(arguments: sizes) func everyLevelAndThreadCountGivesTheSame(size: PictureSize) throws {
        let source = TestPicture(size, seed: 3)
        let reference = try Self.upscale(source, kernels: Kernels(limit: []))
        #expect(reference.paddingIsIntact)
        for level in CPUFeatures.levels {
            for threads in [1, 3] {
                let output = try Self.upscale(source, kernels: Kernels(limit: level), threads: threads)
                #expect(output.difference(from: reference) == nil, "\(level.name), \(threads) threads")
            }
        }
    }

    @Test(arguments: sizes) func aFlatPictureStaysFlat(size: PictureSize) throws {
        for value: UInt8 in [0, 1, 128, 255] {
            let output = try Self.upscale(TestPicture(size) { _, _, _ in value })
            #expect(output.difference(from: TestPicture(output.size) { _, _, _ in value }) == nil)
        }
    }

    @Test func scaleOneCopies() throws {
        let source = TestPicture(PictureSize(width: 33, height: 7), seed: 5)
        #expect(try Self.upscale(source, scale: 1).difference(from: source) == nil)
    }

    /// A ramp stays a ramp at half the slope, and its values show the phase: luma's samples lie a quarter before and a
    /// quarter after, left-sited chroma's an eighth before and three eighths after.
    @Test func samplesHaveTheirPhase() throws {
        let source = TestPicture(PictureSize(width: 60, height: 60)) { plane, x, y in
            UInt8(plane == 1 ? 20 + 4 * y : 20 + (plane == 0 ? 2 : 4) * x)
        }
        func expect(_ output: TestPicture, _ plane: Int, _ slope: Double, _ x: Int, _ y: Int, at position: Double) {
            #expect(abs(Double(output.sample(plane, x, y)) - (20 + slope * position)) <= 0.51)
        }
        let output = try Self.upscale(source)
        for i in 10..<20 {
            expect(output, 0, 2, 2 * i, 30, at: Double(i) - 0.25)
            expect(output, 0, 2, 2 * i + 1, 30, at: Double(i) + 0.25)
            expect(output, 1, 4, 30, 2 * i, at: Double(i) - 0.25)
            expect(output, 2, 4, 2 * i, 30, at: Double(i) - 0.125)
            expect(output, 2, 4, 2 * i + 1, 30, at: Double(i) + 0.375)
        }
        let centred = try Self.upscale(source, chromaLocation: 2)
        let top = try Self.upscale(source, chromaLocation: 3)
        for i in 10..<20 {
            expect(centred, 2, 4, 2 * i, 30, at: Double(i) - 0.25)
            expect(top, 1, 4, 30, 2 * i, at: Double(i) - 0.125)
        }
    }

    @Test func unsupportedSizesAreRefused() throws {
        #expect(SuperResolutionConfiguration.supportedScaleFactors(for: PictureSize(width: 0, height: 5)) == [])
        #expect(SuperResolutionConfiguration.supportedScaleFactors(for: PictureSize(width: 9000, height: 5)) == [])
        #expect(SuperResolutionConfiguration.supportedScaleFactors(for: PictureSize(width: 1, height: 1)) == [1, 2])
        var three = SuperResolutionConfiguration(size: PictureSize(width: 64, height: 64))
        three.scaleFactor = 3
        #expect(throws: EnhanceError.self) { try SuperResolutionSession(three) }
    }

    @Test func aPictureOfAnotherSizeIsRefused() throws {
        let session = try SuperResolutionSession(SuperResolutionConfiguration(size: PictureSize(width: 8, height: 8)))
        let (small, large) = (TestPicture(PictureSize(width: 8, height: 8)), TestPicture(session.outputSize))
        func code(_ body: () throws(EnhanceError) -> SuperResolutionResult) -> EnhanceError.Code? {
            do throws(EnhanceError) { _ = try body() } catch { return error.code }
            return nil
        }
        #expect(
            code { () throws(EnhanceError) in
                try session.process(large.view, into: large.mutableView, tier: .base)
            } == .sizeMismatch)
        #expect(
            code { () throws(EnhanceError) in
                try session.process(small.view, into: small.mutableView, tier: .base)
            } == .sizeMismatch)
        #expect(
            code { () throws(EnhanceError) in
                try session.process(
                    small.view, into: large.mutableView, tiles: [TileRequest(tile: 1, tier: .base)].span)
            } == .noSuchTile)
    }
}
