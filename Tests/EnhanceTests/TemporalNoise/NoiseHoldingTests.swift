import Enhance
import EnhanceNetworks
import Media
import Testing

/// What the live noise filter gives out where nothing new came.
@Suite struct NoiseHoldingTests {
    typealias Sequence = TemporalNoiseTests.Sequence

    private static func run(
        _ pictures: [TestPicture], strength: Double, quantiser: Int? = nil, holds: Bool = true, threads: Int = 1
    ) throws -> [TestPicture] {
        var configuration = TemporalNoiseConfiguration(size: pictures[0].size)
        configuration.holdsStillAreas = holds
        let filter = try TemporalNoiseFilter(configuration, workers: WorkerPool(threadCount: threads))
        return try pictures.map { picture in
            let output = TestPicture(picture.size)
            let parameters = TemporalNoiseParameters(strength: .fixed(strength), quantiser: quantiser)
            try filter.process(picture.view, into: output.mutableView, parameters)
            #expect(output.paddingIsIntact)
            return output
        }
    }

    /// Noise that moves in the left part, and stands still in the right one as an encoder leaves what it skips.
    private static func halfStill(_ size: PictureSize, count: Int, from still: Int) -> [TestPicture] {
        let noisy = Sequence(size, count: count, deviation: 3, speed: (0, 0)).noisy
        return noisy.indices.map { index in
            TestPicture(size) { plane, x, y in
                let isLeft = x < (plane == 0 ? size.width / 2 : size.chroma.width / 2)
                return UInt8(noisy[isLeft ? index : min(index, still)].sample(plane, x, y))
            }
        }
    }

    @Test(arguments: [nil, 32]) func whatCameAsBeforeIsGivenOutAsBefore(quantiser: Int?) throws {
        let size = PictureSize(width: 101, height: 67)
        let pictures = Self.halfStill(size, count: 10, from: 4)
        let outputs = try Self.run(pictures, strength: 0.12, quantiser: quantiser)
        let unheld = try Self.run(pictures, strength: 0.12, quantiser: quantiser, holds: false)
        /// Samples that change from one picture to the next, from where they are sure to stand still.
        func changes(_ outputs: [TestPicture], from index: Int) -> Int {
            (0..<3).reduce(0) { sum, plane in
                let (width, height) = plane == 0 ? (101, 67) : (51, 34)
                return sum
                    + (width / 2 + 8..<width).reduce(0) { sum, x in
                        sum
                            + (0..<height).count {
                                outputs[index].sample(plane, x, $0) != outputs[index - 1].sample(plane, x, $0)
                            }
                    }
            }
        }
        for index in 5..<10 { #expect(changes(outputs, from: index) == 0, "picture \(index)") }
        #expect(changes(unheld, from: 5) > 100)
        // The other half goes on.
        #expect((0..<40).contains { outputs[9].sample(0, $0, 30) != outputs[8].sample(0, $0, 30) })
        for (a, b) in zip(outputs[..<2], unheld[..<2]) where quantiser == nil { #expect(a.difference(from: b) == nil) }
    }

    /// As many tiles are reused behind the filter as without it.
    @Test func tilesAreReused() throws {
        let size = PictureSize(width: 320, height: 96)
        let pictures = Self.halfStill(size, count: 8, from: 3)
        func reused(_ pictures: [TestPicture]) throws -> [Int] {
            var configuration = SuperResolutionConfiguration(size: size)
            configuration.useShippedNetworks()
            let session = try SuperResolutionSession(configuration)
            let output = Picture(size: session.outputSize)
            return try pictures.map {
                try session.process($0.view, into: output.mutableView, tier: .neuralSmall).tilesReused
            }
        }
        let plain = try reused(pictures)
        #expect(plain.suffix(4).allSatisfy { $0 > 0 })
        #expect(try reused(Self.run(pictures, strength: 0.12)).suffix(4) == plain.suffix(4))
        #expect(try reused(Self.run(pictures, strength: 0.12, holds: false)).suffix(4) == [0, 0, 0, 0])
    }

    /// A slow change of brightness is given out when it has come, also where an encoder lets it come in steps.
    @Test(arguments: [1, 3, 12], [nil, 30]) func aFadeIsFollowed(step: Int, quantiser: Int?) throws {
        let size = PictureSize(width: 64, height: 48)
        let (count, scene) = (48, Sequence(size, count: 48, deviation: 2, speed: (0, 0)))
        func level(_ index: Int) -> Int { index / step * step / 3 }
        let pictures = (0..<count).map { index in
            TestPicture(size) { plane, x, y in
                UInt8(min(max(scene.noisy[index / step * step].sample(plane, x, y) + level(index), 0), 255))
            }
        }
        let outputs = try Self.run(pictures, strength: 0.08, quantiser: quantiser)
        let unheld = try Self.run(pictures, strength: 0.08, quantiser: quantiser, holds: false)
        var held = 0
        for index in 0..<count {
            var error = 0
            for y in stride(from: 0, to: 48, by: 8) {
                for x in stride(from: 0, to: 64, by: 8) {
                    var apart = 0
                    for (dx, dy) in (0..<64).map({ ($0 % 8, $0 / 8) }) {
                        let sample = outputs[index].sample(0, x + dx, y + dy)
                        apart += sample - unheld[index].sample(0, x + dx, y + dy)
                        error += sample - scene.clean[0].sample(0, x + dx, y + dy) - level(index)
                    }
                    // A block that the filter would have moved by more than a level has moved.
                    #expect(abs(apart) <= 64, "picture \(index)")
                    if apart != 0 { held += 1 }
                }
            }
            #expect(abs(error) < 64 * 48 * 3 / 2, "picture \(index): \(Double(error) / (64 * 48)) levels")
        }
        #expect(held > 0 || step == 1 && quantiser == nil)
    }

    /// Noise that is new in each picture is no reason to hold anything.
    @Test func noiseThatWasNotCodedIsFilteredAsEver() throws {
        let pictures = Sequence(PictureSize(width: 64, height: 48), count: 6, deviation: 5, speed: (0, 0)).noisy
        let (held, unheld) = (try Self.run(pictures, strength: 0.2), try Self.run(pictures, strength: 0.2, holds: false))
        for (a, b) in zip(held, unheld) { #expect(a.difference(from: b) == nil) }
    }

    @Test(arguments: FrameInterpolationTests.sizes) func everyThreadCountGivesTheSame(size: PictureSize) throws {
        let noisy = Sequence(size, count: 4, deviation: 4).noisy
        let pictures = [noisy[0], noisy[1], noisy[1], noisy[2], noisy[2], noisy[2], noisy[3]]
        let reference = try Self.run(pictures, strength: 0.15, quantiser: 30)
        for threads in 2...3 {
            let outputs = try Self.run(pictures, strength: 0.15, quantiser: 30, threads: threads)
            for (output, expected) in zip(outputs, reference) { #expect(output.difference(from: expected) == nil) }
        }
    }
}
