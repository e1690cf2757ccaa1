import Enhance
import Foundation
import KernelChecks
import Kernels
import Media
import Testing

@Suite struct TemporalNoiseTests {
    /// A moving scene and the same with noise.
    struct Sequence {
        let clean: [TestPicture]
        let noisy: [TestPicture]

        init(_ size: PictureSize, count: Int, deviation: Double, speed: (Double, Double) = (1.3, -0.6)) {
            var random = CheckRandom(seed: 7)
            func uniform() -> Double { (Double(random.next() >> 11) + 0.5) / 9_007_199_254_740_992 }
            let scene = MotionScene()
            clean = (0..<count).map { scene.picture(size, movedBy: speed.0 * Double($0), speed.1 * Double($0)) }
            var noisy: [TestPicture] = []
            for picture in clean {
                noisy.append(
                    TestPicture(size) { plane, x, y in
                        let noise = (-2 * log(uniform())).squareRoot() * cos(2 * .pi * uniform())
                        let sample = Double(picture.sample(plane, x, y)) + deviation * noise
                        return UInt8(min(max(sample.rounded(), 0), 255))
                    })
            }
            self.noisy = noisy
        }
    }

    static func filter(_ size: PictureSize, kernels: Kernels = .best, threads: Int = 1) throws -> TemporalNoiseFilter {
        var configuration = TemporalNoiseConfiguration(size: size)
        configuration.kernels = kernels
        return try TemporalNoiseFilter(configuration, workers: WorkerPool(threadCount: threads))
    }

    static func twoSided(_ size: PictureSize, threads: Int = 1) throws -> TwoSidedNoiseFilter {
        try TwoSidedNoiseFilter(TemporalNoiseConfiguration(size: size), workers: WorkerPool(threadCount: threads))
    }

    static func run(
        _ pictures: [TestPicture], _ filter: TemporalNoiseFilter, _ strength: NoiseStrength
    ) throws -> [TestPicture] {
        try pictures.map { picture in
            let output = TestPicture(picture.size)
            try filter.process(picture.view, into: output.mutableView, .init(strength: strength))
            return output
        }
    }

    static func run(
        _ pictures: [TestPicture], _ filter: TwoSidedNoiseFilter, _ strength: NoiseStrength
    ) throws -> [TestPicture] {
        var outputs: [TestPicture] = []
        func take() throws {
            while true {
                let output = TestPicture(pictures[0].size)
                guard try filter.next(into: output.mutableView) != nil else { return }
                outputs.append(output)
            }
        }
        for (index, picture) in pictures.enumerated() {
            try filter.push(picture.view, .init(strength: strength))
            try take()
            #expect(outputs.count >= index - TwoSidedNoiseFilter.longestDelay + 1)
        }
        filter.finish()
        try take()
        #expect(outputs.count == pictures.count)
        return outputs
    }

    static func gain(_ outputs: [TestPicture], _ sequence: Sequence, plane: Int = 0, from first: Int = 4) -> Double {
        let gains = (first..<outputs.count).map {
            outputs[$0].noise(against: sequence.clean[$0], border: 0, plane: plane)
                - sequence.noisy[$0].noise(against: sequence.clean[$0], border: 0, plane: plane)
        }
        return gains.reduce(0, +) / Double(gains.count)
    }

    @Test func whiteNoiseIsTakenAwayFromAMovingScene() throws {
        let size = PictureSize(width: 96, height: 64)
        let sequence = Sequence(size, count: 10, deviation: 10)
        let past = try Self.run(sequence.noisy, Self.filter(size), .fixed(0.4))
        #expect(Self.gain(past, sequence) > 4)
        #expect(Self.gain(past, sequence, plane: 1) > 4)
        let both = try Self.run(sequence.noisy, Self.twoSided(size), .fixed(0.4))
        #expect(Self.gain(both, sequence) > Self.gain(past, sequence))
    }

    @Test func automaticStrengthFindsTheNoise() throws {
        let size = PictureSize(width: 160, height: 128)
        for deviation in [3.0, 12.0] {
            let sequence = Sequence(size, count: 4, deviation: deviation, speed: (0, 0))
            let filter = try Self.filter(size)
            for picture in sequence.noisy {
                let output = TestPicture(size)
                let result = try filter.process(picture.view, into: output.mutableView, .init(strength: .automatic))
                guard picture === sequence.noisy.last else { continue }
                #expect(abs(result.lumaDeviation / deviation - 1) < 0.3)
                #expect(abs(result.chromaDeviation / deviation - 1) < 0.3)
            }
        }
    }

    /// Black pictures do not tell, and the first one that does counts in full.
    @Test func automaticStrengthIsRightAfterABlackBeginning() throws {
        let size = PictureSize(width: 160, height: 128)
        let sequence = Sequence(size, count: 3, deviation: 8, speed: (0, 0))
        let black = TestPicture(size) { plane, _, _ in plane == 0 ? 16 : 128 }
        let filter = try Self.filter(size)
        var result = TemporalNoiseResult()
        for picture in [black, black] + sequence.noisy {
            let output = TestPicture(size)
            result = try filter.process(picture.view, into: output.mutableView, .init(strength: .automatic))
        }
        #expect(abs(result.lumaDeviation / 8 - 1) < 0.3, "\(result)")
    }

    @Test func picturesWithoutNoiseStayAsTheyAre() throws {
        let size = PictureSize(width: 96, height: 64)
        let still = Sequence(size, count: 3, deviation: 0, speed: (0, 0)).clean
        // The first picture alone does not tell detail from noise where all of it is detail.
        let outputs = try Self.run(still + still, Self.filter(size), .automatic)
        #expect(outputs.last?.difference(from: still[2]) == nil)
        for strength in [NoiseStrength.fixed(0)] {
            for outputs in [
                try Self.run(still, Self.filter(size), strength), try Self.run(still, Self.twoSided(size), strength),
            ] {
                for (output, picture) in zip(outputs, still) { #expect(output.difference(from: picture) == nil) }
            }
        }
    }

    @Test(arguments: FrameInterpolationTests.sizes) func everyLevelAndThreadCountGivesTheSame(size: PictureSize) throws {
        let pictures = Sequence(size, count: 4, deviation: 8).noisy
        let reference = try Self.run(pictures, Self.filter(size, kernels: Kernels(limit: [])), .fixed(0.3))
        for threads in 1...3 {
            let outputs = try Self.run(pictures, Self.filter(size, threads: threads), .fixed(0.3))
            for (output, expected) in zip(outputs, reference) {
                #expect(output.difference(from: expected) == nil)
                #expect(output.paddingIsIntact)
            }
        }
        let one = try Self.run(pictures, Self.twoSided(size), .fixed(0.3))
        let two = try Self.run(pictures, Self.twoSided(size, threads: 2), .fixed(0.3))
        for (a, b) in zip(one, two) {
            #expect(a.difference(from: b) == nil)
            #expect(a.paddingIsIntact)
        }
    }

    @Test func aPictureMayBeFilteredInPlace() throws {
        let size = PictureSize(width: 33, height: 31)
        let pictures = Sequence(size, count: 3, deviation: 8).noisy
        let expected = try Self.run(pictures, Self.filter(size), .fixed(0.3))
        let filter = try Self.filter(size)
        for (picture, output) in zip(pictures, expected) {
            try filter.process(picture.view, into: picture.mutableView, .init(strength: .fixed(0.3)))
            #expect(picture.difference(from: output) == nil)
        }
    }

    @Test func withoutTimeThePictureStaysAsItIs() throws {
        let size = PictureSize(width: 96, height: 64)
        let pictures = Sequence(size, count: 3, deviation: 8).noisy
        let filter = try Self.filter(size)
        for picture in pictures {
            let output = TestPicture(size)
            let result = try filter.process(
                picture.view, into: output.mutableView, .init(strength: .fixed(0.3), until: .now()))
            #expect(!result.isComplete)
            #expect(output.difference(from: picture) == nil)
        }
    }

    @Test func afterAResetNothingIsLeftOfThePast() throws {
        let size = PictureSize(width: 64, height: 48)
        let pictures = Sequence(size, count: 4, deviation: 8).noisy
        let filter = try Self.filter(size)
        _ = try Self.run(pictures, filter, .automatic)
        filter.reset()
        let again = try Self.run(pictures, filter, .automatic)
        for (a, b) in zip(again, try Self.run(pictures, Self.filter(size), .automatic)) {
            #expect(a.difference(from: b) == nil)
        }
    }

    /// A cut leaves nothing of the scene before it.
    @Test func aCutDoesNotMixScenes() throws {
        let size = PictureSize(width: 96, height: 64)
        let sequence = Sequence(size, count: 6, deviation: 5)
        let other = TestPicture(size) { plane, x, y in plane == 0 ? UInt8(255 - (x * 2 + y) % 200) : 90 }
        let pictures = Array(repeating: other, count: 3) + sequence.noisy
        for outputs in [
            try Self.run(pictures, Self.filter(size), .fixed(0.2)), try Self.run(pictures, Self.twoSided(size), .fixed(0.2)),
        ] {
            for (index, picture) in sequence.clean.enumerated() {
                let before = sequence.noisy[index].noise(against: picture, border: 0)
                #expect(outputs[index + 3].noise(against: picture, border: 0) > before)
            }
        }
    }

    @Test func twoSidedSequencesOfAnyLengthAreWhole() throws {
        let size = PictureSize(width: 32, height: 18)
        let filter = try Self.twoSided(size)
        for count in [1, 2, 11, 12, 13, 21] {
            // The same filter again: each sequence begins anew.
            let pictures = Sequence(size, count: count, deviation: 8).noisy
            let outputs = try Self.run(pictures, filter, .automatic)
            for (a, b) in zip(outputs, try Self.run(pictures, Self.twoSided(size), .automatic)) {
                #expect(a.difference(from: b) == nil)
            }
        }
    }

    @Test func badInputIsRefused() throws {
        let size = PictureSize(width: 32, height: 18)
        let (picture, small) = (TestPicture(size, seed: 1), TestPicture(PictureSize(width: 16, height: 18), seed: 1))
        func expect(_ code: EnhanceError.Code, _ body: () throws -> Void) {
            #expect { try body() } throws: { ($0 as? EnhanceError)?.code == code }
        }
        expect(.unsupportedSize) { _ = try Self.filter(PictureSize(width: 0, height: 3)) }
        expect(.unsupportedSize) { _ = try Self.twoSided(PictureSize(width: 9000, height: 3)) }
        let filter = try Self.filter(size)
        for strength in [-0.1, 1.1, .nan] {
            expect(.badParameter) {
                try filter.process(picture.view, into: picture.mutableView, .init(strength: .fixed(strength)))
            }
        }
        expect(.sizeMismatch) { try filter.process(small.view, into: picture.mutableView, .init(strength: .automatic)) }
        expect(.sizeMismatch) { try filter.process(picture.view, into: small.mutableView, .init(strength: .automatic)) }
        let both = try Self.twoSided(size)
        #expect(try both.next(into: picture.mutableView) == nil)
        expect(.sizeMismatch) { try both.push(small.view, .init()) }
        for _ in 0...TwoSidedNoiseFilter.longestDelay { try both.push(picture.view, .init()) }
        expect(.tooManyPictures) { try both.push(picture.view, .init()) }
        expect(.sizeMismatch) { _ = try both.next(into: small.mutableView) }
        #expect(try both.next(into: picture.mutableView) != nil)
    }
}
