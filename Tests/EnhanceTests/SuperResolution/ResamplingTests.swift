import Enhance
import Kernels
import Media
import Testing

/// Results of any size.
@Suite struct ResamplingTests {
    static let sizes = [
        (64, 48, 96, 72), (64, 48, 192, 144), (33, 17, 50, 26), (90, 160, 136, 240), (40, 40, 22, 30), (200, 100, 30, 20),
        (1, 1, 4, 2),
        (7, 5, 2, 2), (129, 65, 130, 64),
    ].map { (PictureSize(width: $0.0, height: $0.1), PictureSize(width: $0.2, height: $0.3)) }

    static func enlarge(
        _ source: TestPicture, to size: PictureSize, scale: Int = 1, kernels: Kernels = .best, threads: Int = 1,
        chromaLocation: UInt8 = 0, sharpness: Double = 0
    ) throws -> TestPicture {
        var configuration = SuperResolutionConfiguration(size: source.size)
        configuration.scaleFactor = scale
        configuration.outputSize = size
        configuration.kernels = kernels
        configuration.sharpness = sharpness
        let session = try SuperResolutionSession(configuration, workers: WorkerPool(threadCount: threads))
        let output = TestPicture(session.outputSize)
        #expect(session.outputSize == size)
        _ = try session.process(
            source.view, into: output.mutableView, tier: .base, SuperResolutionParameters(chromaLocation: chromaLocation))
        return output
    }

    @Test(arguments: sizes) func everyLevelAndThreadCountGivesTheSame(input: PictureSize, output: PictureSize) throws {
        let source = TestPicture(input, seed: 3)
        for scale in [1, 2] {
            let reference = try Self.enlarge(source, to: output, scale: scale, kernels: Kernels(limit: []))
            #expect(reference.paddingIsIntact)
            for level in CPUFeatures.levels {
                for threads in [1, 3] {
                    let other = try Self.enlarge(
                        source, to: output, scale: scale, kernels: Kernels(limit: level), threads: threads)
                    #expect(other.difference(from: reference) == nil, "\(level.name), \(threads) threads")
                }
            }
        }
    }

    /// Pictures that networks have refined may leave less than twice as large: the same on every instruction set, with the tiles that
    /// there was time for, and with those of the picture before.
    @Test(arguments: [(225, 105), (180, 84), (299, 139), (150, 140)]) func refinedPicturesMayLeaveALittleLarger(
        width: Int, height: Int
    ) throws {
        let (size, output) = (PictureSize(width: 150, height: 70), PictureSize(width: width, height: height))
        let source = TestPicture(size, seed: 5)
        let filter = PictureResampler(from: size.scaled(by: 2), to: output, workers: WorkerPool(threadCount: 1))
        func filtered(_ picture: TestPicture) -> TestPicture {
            let result = TestPicture(output)
            filter.resample(picture.view, into: result.mutableView)
            return result
        }
        let base = filtered(try BaseTests.upscale(source))
        let refined = filtered(try NeuralTests.untiled(source, .neuralSmall))
        for level in CPUFeatures.levels {
            for threads in [1, 3] {
                var configuration = SuperResolutionConfiguration(size: size)
                configuration.outputSize = output
                configuration.kernels = Kernels(limit: level)
                configuration.networks[.neuralSmall] = try SuperResolutionNetwork(NeuralTests.bytes("random-s"))
                let session = try SuperResolutionSession(configuration, workers: WorkerPool(threadCount: threads))
                let made = TestPicture(session.outputSize)
                let turns: [(MonotonicTime?, TestPicture)] = [
                    (MonotonicTime(nanoseconds: 0), base), (nil, refined), (nil, refined),
                ]
                for (until, expected) in turns {
                    let isKept = session.outcome(ofTile: 0).tier > .base
                    let result = try session.process(
                        source.view, into: made.mutableView, tier: .neuralSmall, SuperResolutionParameters(until: until))
                    #expect(made.difference(from: expected) == nil && made.paddingIsIntact, "\(level.name), \(threads) threads")
                    #expect(result.tilesReused == (isKept ? session.grid.count : 0))
                }
            }
        }
    }

    @Test(arguments: sizes) func aFlatPictureStaysFlat(input: PictureSize, output: PictureSize) throws {
        for value: UInt8 in [0, 128, 255] {
            let flat = try Self.enlarge(TestPicture(input) { _, _, _ in value }, to: output, sharpness: 1)
            #expect(flat.difference(from: TestPicture(output) { _, _, _ in value }) == nil)
        }
    }

    /// A ramp stays a ramp, and its values show where samples lie: the edges of both pictures meet.
    @Test(arguments: [1, 2], [90, 120, 180, 40]) func samplesHaveTheirPlace(scale: Int, side: Int) throws {
        let source = TestPicture(PictureSize(width: 60, height: 60)) { plane, x, y in
            UInt8(20 + (plane == 0 ? 3 * x : plane == 1 ? 6 * x : 6 * y))
        }
        let output = try Self.enlarge(source, to: PictureSize(width: side, height: side), scale: scale)
        let step = 60 / Double(side)
        for i in side / 3..<side / 2 {
            let luma = (Double(i) + 0.5) * step - 0.5
            #expect(abs(Double(output.sample(0, i, side / 2)) - (20 + 3 * luma)) <= 1, "\(i)")
        }
        for i in side / 6..<side / 4 {
            // Left-sited: as far from the left edge as its luma sample, and between two rows.
            let across = ((2 * Double(i) + 0.5) * step - 0.5) / 2
            let down = (Double(i) + 0.5) * step - 0.5
            #expect(abs(Double(output.sample(1, i, side / 4)) - (20 + 6 * across)) <= 1, "\(i)")
            #expect(abs(Double(output.sample(2, side / 4, i)) - (20 + 6 * down)) <= 1, "\(i)")
        }
    }

    /// Doubling by the polyphase filter and by the base tier's differ in their taps only.
    @Test func doublingAgreesWithTheBaseTier() throws {
        let source = TestPicture(PictureSize(width: 64, height: 64)) { plane, x, y in
            UInt8(128 + 60 * ((x / 8 + y / 8) % 2) - (plane == 0 ? 0 : 30))
        }
        let base = try BaseTests.upscale(source)
        let other = try Self.enlarge(source, to: base.size)
        var difference = 0
        for y in 16..<112 { for x in 16..<112 { difference += abs(base.sample(0, x, y) - other.sample(0, x, y)) } }
        #expect(difference < 96 * 96 * 3, "\(difference)")
    }

    @Test(arguments: [(96, 72, 1), (192, 144, 2)]) func synthesisedPicturesHaveThatSize(width: Int, height: Int, scale: Int)
        throws
    {
        let (size, output) = (PictureSize(width: 64, height: 48), PictureSize(width: width, height: height))
        // A square moves by four samples between two pictures.
        func picture(_ shift: Int, _ size: PictureSize, _ scale: Int) -> TestPicture {
            TestPicture(size) { plane, x, y in
                let unit = plane == 0 ? scale : max(1, scale / 2)
                let (x, y) = (plane == 0 ? x / unit : 2 * x / scale, plane == 0 ? y / unit : 2 * y / scale)
                return (16 + shift..<40 + shift).contains(x) && (12..<36).contains(y) ? UInt8(180 + (x * 7 + y * 5) % 40) : 60
            }
        }
        var configuration = FrameInterpolationConfiguration(size: size)
        configuration.scaleFactor = scale
        configuration.outputSize = output
        let between = try LowLatencyFrameInterpolation(configuration)
        let ahead = try FrameExtrapolation(configuration)
        #expect(between.outputSize == output && ahead.outputSize == output)
        // Views do not keep their pictures.
        var pictures: [TestPicture] = []
        defer { withExtendedLifetime(pictures) {} }
        for shift in [0, 4, 8] {
            let (small, large) = (picture(shift, size, 1), picture(shift, configuration.enhancedSize, scale))
            pictures += [small, large]
            try between.push(small.view, enhanced: large.view)
            try ahead.push(small.view, enhanced: large.view)
        }
        let expected = TestPicture(output)
        let halfway = picture(6, size, 1)
        pictures.append(halfway)
        PictureResampler(from: size, to: output, workers: WorkerPool(threadCount: 1)).resample(
            halfway.view, into: expected.mutableView)
        let made = TestPicture(output)
        try between.synthesise(phase: 0.5, into: made.mutableView)
        var difference = 0
        for y in 0..<height { for x in 0..<width { difference += abs(made.sample(0, x, y) - expected.sample(0, x, y)) } }
        #expect(difference < width * height * 4, "\(difference) of \(width * height)")
        #expect(made.paddingIsIntact)
        try ahead.synthesise(distance: 0.5, into: made.mutableView)
        #expect(made.paddingIsIntact)
    }

    @Test func sizesThatCannotBeMadeAreRefused() {
        var configuration = SuperResolutionConfiguration(size: PictureSize(width: 64, height: 64))
        for size in [PictureSize(width: 0, height: 64), PictureSize(width: 20_000, height: 64)] {
            configuration.outputSize = size
            #expect(throws: EnhanceError.self) { try SuperResolutionSession(configuration) }
        }
    }
}
