import Enhance
import EnhanceNetworks
import Foundation
import KernelChecks
import Kernels
import Media
import Testing

/// Sessions with networks of random weights, which use the whole range of the arithmetic.
@Suite struct NeuralTests {
    static func bytes(_ name: String) throws -> [UInt8] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return [UInt8](try Data(contentsOf: tests.appending(path: "Golden/\(name).bnw")))
    }

    static let files: [SuperResolutionTier: String] = [.neuralSmall: "random-s", .neuralMedium: "random-m"]
    // Loaded once: without optimisation it takes as long as many pictures.
    private static let networks = Result { try files.mapValues { try Network(bytes($0)) } }
    private static let sessionNetworks = Result { try files.mapValues { try SuperResolutionNetwork(bytes($0)) } }

    static func session(
        _ size: PictureSize, kernels: Kernels = .best, threads: Int = 1
    ) throws -> SuperResolutionSession {
        var configuration = SuperResolutionConfiguration(size: size)
        configuration.kernels = kernels
        configuration.networks = try sessionNetworks.get()
        return try SuperResolutionSession(configuration, workers: WorkerPool(threadCount: threads))
    }

    /// The network over the whole picture at once, for luma only. Chroma is from `base`.
    static func untiled(
        _ source: TestPicture, _ tier: SuperResolutionTier, bucket: Int = 0
    ) throws -> TestPicture {
        let output = try BaseTests.upscale(source)
        let network = try #require(networks.get()[tier])
        let scratch = UnsafeMutableRawPointer.allocate(
            byteCount: network.scratchSize(width: source.size.width), alignment: 64)
        defer { scratch.deallocate() }
        var strip = Kernels(limit: []).strip(
            network, bucket: bucket, source.view.y, into: output.mutableView.y, columns: 0..<source.size.width,
            firstRow: 0, scratch: scratch)
        strip.advance(by: source.size.height)
        return output
    }

    /// In any order of tiles, each one brings the picture nearer to the one with all of them.
    @Test func moreTilesNeverMakeThePictureWorse() throws {
        let size = PictureSize(width: 200, height: 70)
        let (source, blank) = (TestPicture(size, seed: 4), TestPicture(size) { _, _, _ in 0 })
        let whole = try Self.untiled(source, .neuralMedium)
        let (session, output) = (try Self.session(size, threads: 2), TestPicture(size.scaled(by: 2)))
        var random = CheckRandom(seed: 9)
        var order = Array(0..<session.grid.count)
        for at in order.indices { order.swapAt(at, at + Int(random.byte()) % (order.count - at)) }
        var errors: [Int] = []
        for count in 0...order.count {
            // No result of the turn before may be reused.
            _ = try session.process(blank.view, into: output.mutableView, tier: .base)
            let requests = order[..<count].map { TileRequest(tile: $0, tier: .neuralMedium) }
            let result = try session.process(source.view, into: output.mutableView, tiles: requests.span)
            #expect(result.tilesMedium == count)
            var error = 0
            for y in 0..<output.size.height {
                for x in 0..<output.size.width {
                    let difference = output.sample(0, x, y) - whole.sample(0, x, y)
                    error += difference * difference
                }
            }
            errors.append(error)
        }
        #expect(zip(errors.dropFirst(), errors).allSatisfy { $0 < $1 } && errors.last == 0, "\(errors)")
    }

    @Test(arguments: BaseTests.sizes + [PictureSize(width: 200, height: 70), PictureSize(width: 720, height: 20)])
    func tilesGiveTheWholeFramesBits(size: PictureSize) throws {
        let source = TestPicture(size, seed: 11)
        for tier in [SuperResolutionTier.neuralSmall, .neuralMedium] {
            let expected = try Self.untiled(source, tier)
            // The scalar kernels are slow for large pictures.
            let levels = size.width * size.height < 2000 ? CPUFeatures.levels : [.detected]
            for level in levels {
                for threads in [1, 3] {
                    let session = try Self.session(size, kernels: Kernels(limit: level), threads: threads)
                    let output = TestPicture(session.outputSize)
                    let result = try session.process(source.view, into: output.mutableView, tier: tier)
                    #expect(output.difference(from: expected) == nil, "\(level.name), \(threads) threads")
                    #expect(result.tilesSmall + result.tilesMedium == session.grid.count && result.isComplete)
                    #expect(
                        (0..<session.grid.count).allSatisfy {
                            session.outcome(ofTile: $0) == TileOutcome(tier: tier, isReused: false)
                        })
                }
            }
        }
    }

    /// Some tiles of each tier, in any order and some twice: each tile shows what its outcome says, to the bit.
    @Test(arguments: [1, 2, 3] as [UInt64]) func everyTileIsWhatItsOutcomeSays(seed: UInt64) throws {
        let size = PictureSize(width: 300, height: 150)
        let source = TestPicture(size, seed: seed)
        let session = try Self.session(size, threads: 2)
        var random = CheckRandom(seed: seed)
        let requests = (0..<14).map { _ in
            TileRequest(
                tile: random.number(in: 0...session.grid.count - 1),
                tier: SuperResolutionTier.allCases[random.number(in: 0...2)])
        }
        let output = TestPicture(session.outputSize)
        let result = try session.process(source.view, into: output.mutableView, tiles: requests.span)
        let pictures = [
            SuperResolutionTier.base: try BaseTests.upscale(source),
            .neuralSmall: try Self.untiled(source, .neuralSmall),
            .neuralMedium: try Self.untiled(source, .neuralMedium),
        ]
        let expected = TestPicture(session.outputSize)
        for plane in 0..<3 {
            for y in 0..<(plane == 0 ? 2 * size.height : size.height) {
                for x in 0..<(plane == 0 ? 2 * size.width : size.width) {
                    let tile = y / 64 * session.grid.columns + x / 128
                    let tier = plane == 0 ? session.outcome(ofTile: tile).tier : .base
                    expected.set(plane, x, y, UInt8(try #require(pictures[tier]).sample(plane, x, y)))
                }
            }
        }
        #expect(output.difference(from: expected) == nil)
        for request in requests where request.tier != .base {
            let tier = session.outcome(ofTile: request.tile).tier
            #expect(tier == requests.first { $0.tile == request.tile && $0.tier != .base }?.tier)
        }
        #expect(result.isComplete && result.tilesReused == 0)
    }

    /// Unchanged tiles are copied, and tiles with a change within the network's radius are computed. The picture is the
    /// same as without copies.
    @Test func unchangedTilesAreReusedExactly() throws {
        let size = PictureSize(width: 256, height: 128)
        let first = TestPicture(size, seed: 1)
        let second = TestPicture(size, seed: 1)
        // Tile 5 of a 4 x 4 grid begins at 64, 32; a change three samples inside of it reaches the tiles around its
        // corner.
        second.set(0, 64 + 3, 32 + 3, UInt8(second.sample(0, 67, 35) ^ 0x80))
        let session = try Self.session(size)
        let output = TestPicture(session.outputSize)

        var result = try session.process(first.view, into: output.mutableView, tier: .neuralMedium)
        #expect(result.tilesReused == 0 && result.tilesMedium == 16)
        result = try session.process(first.view, into: output.mutableView, tier: .neuralMedium)
        #expect(result.tilesReused == 16 && result.tilesMedium == 0 && result.isComplete)
        #expect(output.difference(from: try Self.untiled(first, .neuralMedium)) == nil)

        result = try session.process(second.view, into: output.mutableView, tier: .neuralMedium)
        #expect(result.tilesReused == 12 && result.tilesMedium == 4)
        for tile in [0, 1, 4, 5] { #expect(!session.outcome(ofTile: tile).isReused) }
        #expect(output.difference(from: try Self.untiled(second, .neuralMedium)) == nil)

        // A quantiser near the range changes nothing. With one far outside of it every tile is computed.
        let coarse = SuperResolutionParameters(quantiser: 40)
        result = try session.process(second.view, into: output.mutableView, tier: .neuralMedium, coarse)
        #expect(result.tilesReused == 0 && result.tilesMedium == 16)
        #expect(output.difference(from: try Self.untiled(second, .neuralMedium, bucket: 7)) == nil)
        let nearly = SuperResolutionParameters(quantiser: 36)
        result = try session.process(second.view, into: output.mutableView, tier: .neuralMedium, nearly)
        #expect(result.tilesReused == 16)
    }

    /// A tile that was left out once must not count as done, and a better result stays.
    @Test func onlyComputedTilesAreReused() throws {
        let size = PictureSize(width: 128, height: 32)
        let source = TestPicture(size, seed: 2)
        let session = try Self.session(size)
        let output = TestPicture(session.outputSize)
        var result = try session.process(
            source.view, into: output.mutableView, tiles: [TileRequest(tile: 1, tier: .neuralMedium)].span)
        #expect(result.tilesMedium == 1)
        result = try session.process(source.view, into: output.mutableView, tier: .neuralSmall)
        #expect(result.tilesReused == 1 && result.tilesSmall == 1)
        #expect(session.outcome(ofTile: 1) == TileOutcome(tier: .neuralMedium, isReused: true))
        result = try session.process(source.view, into: output.mutableView, tier: .neuralMedium)
        #expect(result.tilesReused == 1 && result.tilesMedium == 1)
        #expect(output.difference(from: try Self.untiled(source, .neuralMedium)) == nil)
    }

    @Test func withoutTimeThePictureIsTheBase() throws {
        let size = PictureSize(width: 200, height: 100)
        let source = TestPicture(size, seed: 4)
        let session = try Self.session(size)
        let output = TestPicture(session.outputSize)
        let result = try session.process(
            source.view, into: output.mutableView, tier: .neuralSmall,
            SuperResolutionParameters(until: MonotonicTime(nanoseconds: 0)))
        #expect(result.tilesSmall == 0 && result.tilesLeft == session.grid.count && !result.isComplete)
        #expect(output.difference(from: try BaseTests.upscale(source)) == nil)
        let later = try session.process(
            source.view, into: output.mutableView, tier: .neuralSmall,
            SuperResolutionParameters(until: .now() + .seconds(1000)))
        #expect(later.isComplete && later.tilesSmall == session.grid.count)
    }

    /// The caller may know the time to stop better when the base is done.
    @Test func timeMayBeUpWhenTheBaseIsDone() throws {
        let size = PictureSize(width: 200, height: 100)
        let source = TestPicture(size, seed: 4)
        let session = try Self.session(size)
        let output = TestPicture(session.outputSize)
        let requests = (0..<session.grid.count).map { TileRequest(tile: $0, tier: .neuralSmall) }
        var asked: [Nanoseconds] = []
        func process(_ requests: [TileRequest], until time: MonotonicTime?) throws -> SuperResolutionResult {
            try session.process(
                source.view, into: output.mutableView, tiles: requests.span,
                SuperResolutionParameters(until: .now() + .seconds(1000))
            ) { base in
                asked.append(base)
                return time
            }
        }
        let result = try process(requests, until: MonotonicTime(nanoseconds: 0))
        #expect(result.tilesSmall == 0 && result.tilesLeft == session.grid.count)
        #expect(asked == [result.baseTime] && result.baseTime > .zero)
        #expect(output.difference(from: try BaseTests.upscale(source)) == nil)
        #expect(try process([], until: nil).isComplete && asked.count == 1, "with nothing to refine nobody is asked")
        #expect(try process(requests, until: nil).tilesSmall == session.grid.count, "nil keeps the time that was given")
        #expect(try process(requests, until: nil).tilesReused == session.grid.count && asked.count == 2, "nor here")

        let untimed = try Self.session(size)
        let complete = try untimed.process(source.view, into: output.mutableView, tiles: requests.span) { _ in
            Issue.record("nobody is asked where there is no time to stop: the base is left out there")
            return MonotonicTime(nanoseconds: 0)
        }
        #expect(complete.tilesSmall == session.grid.count)
    }

    /// The shipped weights have the shapes that the tiers' documentation states.
    @Test(arguments: zip(NetworkContent.allCases, [12240, 16848]))
    func theShippedNetworksAreThere(content: NetworkContent, medium: Int) throws {
        var configuration = SuperResolutionConfiguration(size: PictureSize(width: 32, height: 16))
        configuration.useShippedNetworks(for: content)
        #expect(configuration.networks.mapValues(\.multiplicationsPerSample) == [.neuralSmall: 2088, .neuralMedium: medium])
        let session = try SuperResolutionSession(configuration)
        #expect(session.tiers == SuperResolutionTier.live)
        let source = TestPicture(configuration.size) { _, x, y in UInt8(60 + 3 * x + 2 * y) }
        let output = TestPicture(session.outputSize)
        _ = try session.process(source.view, into: output.mutableView, tier: .neuralMedium)
        // A ramp stays nearly a ramp.
        for x in 4..<60 { #expect(abs(output.sample(0, x, 15) - (60 + 3 * x / 2 + 15)) <= 6) }
    }

    @Test func aTierWithoutANetworkIsRefused() throws {
        let size = PictureSize(width: 8, height: 8)
        let session = try SuperResolutionSession(SuperResolutionConfiguration(size: size))
        let (source, output) = (TestPicture(size), TestPicture(session.outputSize))
        let error = #expect(throws: EnhanceError.self) {
            try session.process(source.view, into: output.mutableView, tier: .neuralSmall)
        }
        #expect(error?.code == .tierNotConfigured)
        let damaged = #expect(throws: EnhanceError.self) { try SuperResolutionNetwork(Self.bytes("random-s").dropLast(1)) }
        #expect(damaged?.code == .badWeights)
    }
}
