import Enhance
import Media
import Testing

/// What the noise filters do with input that is wrong, odd or hardly there.
@Suite struct BadNoiseInputTests {
    typealias Sequence = TemporalNoiseTests.Sequence

    private static func code(_ body: () throws -> Void) -> EnhanceError.Code? {
        do { try body() } catch { return (error as? EnhanceError)?.code }
        return nil
    }

    private static func expectSame(_ outputs: [TestPicture], _ expected: [TestPicture]) {
        #expect(outputs.count == expected.count)
        for (output, expected) in zip(outputs, expected) { #expect(output.difference(from: expected) == nil) }
    }

    /// Pictures of another size and strengths out of range are refused between two pictures, and the sequence is as without them.
    @Test func aRefusedPictureLeavesNothingBehind() throws {
        let size = PictureSize(width: 33, height: 31)
        let pictures = Sequence(size, count: 14, deviation: 8).noisy
        let others = [(31, 33), (32, 31), (33, 30), (1, 1)].map { TestPicture(PictureSize(width: $0, height: $1), seed: 5) }
        let strengths: [NoiseStrength] = [-0.1, 1.001, .nan, .infinity, -.infinity].map { .fixed($0) }
        let filter = try TemporalNoiseTests.filter(size)
        var outputs: [TestPicture] = []
        for picture in pictures {
            let output = TestPicture(size)
            for other in others {
                #expect(Self.code { try filter.process(other.view, into: output.mutableView, .init()) } == .sizeMismatch)
                #expect(Self.code { try filter.process(picture.view, into: other.mutableView, .init()) } == .sizeMismatch)
            }
            for strength in strengths {
                let refused = Self.code {
                    try filter.process(picture.view, into: output.mutableView, .init(strength: strength))
                }
                #expect(refused == .badParameter)
            }
            #expect(output.difference(from: TestPicture(size)) == nil, "nothing is written")
            try filter.process(picture.view, into: output.mutableView, .init(strength: .automatic))
            outputs.append(output)
        }
        Self.expectSame(outputs, try TemporalNoiseTests.run(pictures, TemporalNoiseTests.filter(size), .automatic))

        let both = try TemporalNoiseTests.twoSided(size)
        outputs = []
        for picture in pictures {
            for other in others { #expect(Self.code { try both.push(other.view, .init()) } == .sizeMismatch) }
            for strength in strengths {
                #expect(Self.code { try both.push(picture.view, .init(strength: strength)) } == .badParameter)
            }
            try both.push(picture.view, .init(strength: .automatic))
            while true {
                for other in others { #expect(Self.code { _ = try both.next(into: other.mutableView) } == .sizeMismatch) }
                let output = TestPicture(size)
                guard try both.next(into: output.mutableView) != nil else { break }
                outputs.append(output)
            }
        }
        let whole = try TemporalNoiseTests.run(pictures, TemporalNoiseTests.twoSided(size), .automatic)
        #expect(!outputs.isEmpty)
        Self.expectSame(outputs, Array(whole.prefix(outputs.count)))
    }

    /// A picture without a past is filtered alone: the first one, the only one, and the first after a reset.
    @Test(arguments: [(1, 1), (3, 2), (8, 8), (33, 31), (96, 64)])
    func onePictureIsFilteredAlone(width: Int, height: Int) throws {
        let size = PictureSize(width: width, height: height)
        let sequence = Sequence(size, count: 3, deviation: 8)
        let filter = try TemporalNoiseTests.filter(size)
        let alone = try TemporalNoiseTests.run([sequence.noisy[2]], filter, .fixed(0.32))
        #expect(alone[0].paddingIsIntact)
        if width >= 8 { #expect(TemporalNoiseTests.gain(alone, Sequence(alone: sequence, 2), from: 0) > 1) }
        Self.expectSame(try TemporalNoiseTests.run([sequence.noisy[2]], TemporalNoiseTests.twoSided(size), .fixed(0.32)), alone)
        _ = try TemporalNoiseTests.run(sequence.noisy, filter, .fixed(0.32))
        filter.reset()
        Self.expectSame(try TemporalNoiseTests.run([sequence.noisy[2]], filter, .fixed(0.32)), alone)
    }

    /// A decoder may say anything of how coarsely a picture was coded.
    @Test(arguments: [Int.min, -1, 0, 51, 52, Int.max]) func anyQuantiserIsTaken(quantiser: Int) throws {
        let size = PictureSize(width: 48, height: 32)
        let filter = try TemporalNoiseTests.filter(size)
        for picture in Sequence(size, count: 3, deviation: 2, speed: (0, 0)).noisy {
            let output = TestPicture(size)
            let result = try filter.process(
                picture.view, into: output.mutableView, .init(strength: .automatic, quantiser: quantiser))
            #expect((0...6).contains(result.lumaDeviation) && (quantiser < 24 || result.lumaDeviation >= 3), "\(result)")
        }
    }

    /// After a cancellation in the middle of a sequence, and a reset, nothing is left of it.
    @Test(arguments: [1, 5, 12]) func aCancelledFilterBeginsAnew(after count: Int) throws {
        let size = PictureSize(width: 33, height: 18)
        let pictures = Sequence(size, count: 13, deviation: 8).noisy
        let (filter, both) = (try TemporalNoiseTests.filter(size), try TemporalNoiseTests.twoSided(size))
        _ = try TemporalNoiseTests.run(Array(pictures[..<count]), filter, .automatic)
        for picture in pictures[..<count] { try both.push(picture.view, .init(strength: .automatic)) }
        filter.cancellation.cancel()
        both.cancellation.cancel()
        let output = TestPicture(size)
        #expect(Self.code { try filter.process(pictures[0].view, into: output.mutableView, .init()) } == .cancelled)
        #expect(Self.code { try both.push(pictures[0].view, .init()) } == .cancelled)
        #expect(Self.code { _ = try both.next(into: output.mutableView) } == .cancelled)
        #expect(output.difference(from: TestPicture(size)) == nil, "nothing is written")
        filter.reset()
        both.reset()
        Self.expectSame(
            try TemporalNoiseTests.run(pictures, filter, .automatic),
            try TemporalNoiseTests.run(pictures, TemporalNoiseTests.filter(size), .automatic))
        Self.expectSame(
            try TemporalNoiseTests.run(pictures, both, .automatic),
            try TemporalNoiseTests.run(pictures, TemporalNoiseTests.twoSided(size), .automatic))
    }
}

extension TemporalNoiseTests.Sequence {
    /// One picture of a sequence.
    fileprivate init(alone sequence: Self, _ index: Int) {
        (clean, noisy) = ([sequence.clean[index]], [sequence.noisy[index]])
    }
}
