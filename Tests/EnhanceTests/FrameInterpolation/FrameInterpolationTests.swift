import Enhance
import Kernels
import Media
import Testing

/// Both variants, so that each test runs on each.
enum InterpolationVariant: CaseIterable {
    case lowLatency, quality

    func makeSession(
        _ configuration: FrameInterpolationConfiguration, workers: WorkerPool = WorkerPool(threadCount: 1)
    ) throws -> FrameInterpolation {
        switch self {
        case .lowLatency: try LowLatencyFrameInterpolation(configuration, workers: workers)
        case .quality: try FrameRateConversion(configuration, workers: workers)
        }
    }

    /// A picture between the last two, or with a lookahead between the two before the last.
    func interpolate(
        _ pictures: [TestPicture], enhanced: [TestPicture]? = nil, phase: Double = 0.5, kernels: Kernels = .best,
        threads: Int = 1, until stop: MonotonicTime? = nil, finished: Bool = true
    ) throws -> (TestPicture, FrameInterpolationResult) {
        let enhanced = enhanced ?? pictures
        var configuration = FrameInterpolationConfiguration(size: pictures[0].size)
        configuration.scaleFactor = enhanced[0].size.width / pictures[0].size.width
        configuration.kernels = kernels
        let session = try makeSession(configuration, workers: WorkerPool(threadCount: threads))
        for i in pictures.indices { try session.push(pictures[i].view, enhanced: enhanced[i].view) }
        if finished { session.finish() }
        let output = TestPicture(enhanced[0].size)
        return (output, try session.synthesise(phase: phase, into: output.mutableView, until: stop))
    }
}

@Suite struct FrameInterpolationTests {
    static let sizes = [(1, 1), (2, 1), (1, 7), (3, 3), (5, 2), (17, 9), (16, 16), (33, 31), (90, 160), (131, 77)]
        .map { PictureSize(width: $0.0, height: $0.1) }

    @Test(arguments: sizes, InterpolationVariant.allCases)
    func equalPicturesGiveTheSameAgain(size: PictureSize, variant: InterpolationVariant) throws {
        let picture = TestPicture(size, seed: 4)
        for phase in [0.01, 0.25, 0.5, 0.9] {
            let (output, result) = try variant.interpolate([picture, picture], phase: phase)
            #expect(output.difference(from: picture) == nil)
            #expect(output.paddingIsIntact)
            #expect(result.method == .motionCompensated && result.isComplete)
        }
    }

    @Test(arguments: InterpolationVariant.allCases)
    func flatPicturesStayFlat(variant: InterpolationVariant) throws {
        let size = PictureSize(width: 70, height: 50)
        for value: UInt8 in [0, 255] {
            let flat = TestPicture(size) { _, _, _ in value }
            #expect(try variant.interpolate([flat, flat]).0.difference(from: flat) == nil)
        }
    }

    /// Every instruction set and every number of threads makes the same picture, also for odd and tiny sizes.
    @Test(arguments: sizes, InterpolationVariant.allCases)
    func everyLevelAndThreadCountGivesTheSame(size: PictureSize, variant: InterpolationVariant) throws {
        let scene = MotionScene()
        let pictures = [0.0, 3.0, 7.0, 12.0].map { scene.picture(size, movedBy: $0, $0 / 2) }
        let enhanced = [0.0, 6.0, 14.0, 24.0].map { scene.picture(size.scaled(by: 2), movedBy: $0, $0 / 2) }
        for large in [pictures, enhanced] {
            let (reference, _) = try variant.interpolate(
                pictures, enhanced: large, phase: 0.4, kernels: Kernels(limit: []), finished: false)
            #expect(reference.paddingIsIntact)
            for level in CPUFeatures.levels {
                for threads in [1, 2, 3] {
                    let (output, _) = try variant.interpolate(
                        pictures, enhanced: large, phase: 0.4, kernels: Kernels(limit: level), threads: threads,
                        finished: false)
                    #expect(output.difference(from: reference) == nil, "\(level.name), \(threads) threads")
                }
            }
        }
    }

    @Test(arguments: InterpolationVariant.allCases)
    func motionIsFollowed(variant: InterpolationVariant) throws {
        let (size, scene) = (PictureSize(width: 160, height: 120), MotionScene())
        for (x, y) in [(2.0, 0.0), (-5.5, 3.25), (9, -7)] {
            let pictures = [scene.picture(size, movedBy: 0, 0), scene.picture(size, movedBy: x, y)]
            for phase in [0.25, 0.5, 0.75] {
                let truth = scene.picture(size, movedBy: x * phase, y * phase)
                let (output, _) = try variant.interpolate(pictures, phase: phase)
                #expect(output.noise(against: truth) > 40, "luma, motion \(x), \(y), phase \(phase)")
                #expect(output.noise(against: truth, plane: 1) > 38, "chroma, motion \(x), \(y), phase \(phase)")
            }
        }
    }

    /// With a picture on each side, the quality variant follows motion that changes its speed.
    @Test func changingSpeedIsFollowed() throws {
        let (size, scene) = (PictureSize(width: 160, height: 120), MotionScene())
        func picture(_ time: Double) -> TestPicture { scene.picture(size, movedBy: 1.5 * time * time, -time * time) }
        let pictures = [0.0, 1, 2, 3].map(picture)
        for phase in [0.25, 0.5, 0.75] {
            let truth = picture(1 + phase)
            let (bent, _) = try InterpolationVariant.quality.interpolate(pictures, phase: phase, finished: false)
            let (straight, _) = try InterpolationVariant.quality.interpolate(Array(pictures[1...2]), phase: phase)
            #expect(bent.noise(against: truth) > 38, "phase \(phase)")
            #expect(bent.noise(against: truth) > straight.noise(against: truth) + 3, "phase \(phase)")
        }
    }

    /// Without a picture after the pair, the pair before it shows how speed changes.
    @Test func changingSpeedIsFollowedLive() throws {
        let (size, scene) = (PictureSize(width: 160, height: 120), MotionScene())
        func picture(_ time: Double) -> TestPicture { scene.picture(size, movedBy: 1.5 * time * time, -time * time) }
        let session = try InterpolationVariant.lowLatency.makeSession(FrameInterpolationConfiguration(size: size))
        let output = TestPicture(size)
        let pictures = [0.0, 1, 2, 3].map(picture)
        for picture in pictures {
            try session.push(picture.view, enhanced: picture.view)
            if session.isReady { try session.synthesise(phase: 0.5, into: output.mutableView) }
        }
        let truth = picture(2.5)
        let (straight, _) = try InterpolationVariant.lowLatency.interpolate(Array(pictures[2...]))
        #expect(output.noise(against: truth) > 38)
        #expect(output.noise(against: truth) > straight.noise(against: truth) + 3)
    }

    /// A pair that is not next to the last one whose motion was found says nothing about its speed, nor does one with a cut.
    @Test(arguments: [true, false]) func onlyTheNextPairOfASceneTellsTheSpeed(isCut: Bool) throws {
        let (size, scene) = (PictureSize(width: 160, height: 120), MotionScene())
        let session = try InterpolationVariant.lowLatency.makeSession(FrameInterpolationConfiguration(size: size))
        let output = TestPicture(size)
        var pictures = [0.0, 9, 13, 16].map { scene.picture(size, movedBy: $0, 0) }
        if isCut { pictures[1] = TestPicture(size, seed: 7) }
        for (index, picture) in pictures.enumerated() {
            try session.push(picture.view, enhanced: picture.view)
            if index == 3 || index == (isCut ? 2 : 1) { try session.synthesise(phase: 0.5, into: output.mutableView) }
        }
        #expect(output.noise(against: scene.picture(size, movedBy: 14.5, 0)) > 40)
    }

    /// Where a source repeats pictures, as telecined and low-rate ones do, the result repeats them too.
    @Test(arguments: InterpolationVariant.allCases)
    func aRepeatedPictureIsRepeated(variant: InterpolationVariant) throws {
        let (size, scene) = (PictureSize(width: 95, height: 61), MotionScene())
        let pictures = [0.0, 2, 2, 9].map { scene.picture(size, movedBy: $0, $0) }
        let session = try variant.makeSession(FrameInterpolationConfiguration(size: size))
        for picture in pictures.prefix(3 + session.lookahead) { try session.push(picture.view, enhanced: picture.view) }
        let output = TestPicture(size)
        try session.synthesise(phase: 0.5, into: output.mutableView)
        #expect(output.difference(from: pictures[1]) == nil)
    }

    /// Pictures beyond a cut do not change the motion before it.
    @Test(arguments: [0, 3]) func picturesBeyondACutDoNotCount(other: Int) throws {
        let (size, scene) = (PictureSize(width: 160, height: 120), MotionScene())
        var pictures = [0.0, 3, 6, 9].map { scene.picture(size, movedBy: $0, 0) }
        pictures[other] = TestPicture(size, seed: 7)
        let (output, result) = try InterpolationVariant.quality.interpolate(pictures, finished: false)
        #expect(result.method == .motionCompensated)
        #expect(output.noise(against: scene.picture(size, movedBy: 4.5, 0)) > 40)
    }

    /// With a lookahead of one, pictures come one push later. When the sequence ends, all of them come.
    @Test(arguments: InterpolationVariant.allCases) func pairsBecomeReady(variant: InterpolationVariant) throws {
        let (size, scene) = (PictureSize(width: 160, height: 120), MotionScene())
        let session = try variant.makeSession(FrameInterpolationConfiguration(size: size))
        let output = TestPicture(size)
        for sequence in 0..<2 {
            for i in 0..<6 {
                let picture = scene.picture(size, movedBy: 3 * Double(i), 0)
                try session.push(picture.view, enhanced: picture.view)
                #expect(session.isReady == (i > session.lookahead))
                guard session.isReady else { continue }
                try session.synthesise(phase: 0.5, into: output.mutableView)
                let truth = scene.picture(size, movedBy: 3 * (Double(i - session.lookahead) - 0.5), 0)
                #expect(output.noise(against: truth) > 40, "sequence \(sequence), picture \(i)")
            }
            session.finish()
            #expect(session.isReady)
            try session.synthesise(phase: 0.5, into: output.mutableView)
            #expect(output.noise(against: scene.picture(size, movedBy: 13.5, 0)) > 40)
            if sequence == 0 { continue }
            session.reset()
            #expect(!session.isReady)
        }
    }

    /// Pairs for which the caller asks for no picture do not change later pairs.
    @Test(arguments: InterpolationVariant.allCases) func pairsCanBeLeftOut(variant: InterpolationVariant) throws {
        let (size, scene) = (PictureSize(width: 160, height: 120), MotionScene())
        let session = try variant.makeSession(FrameInterpolationConfiguration(size: size))
        for i in 0..<9 {
            let picture = scene.picture(size, movedBy: 2 * Double(i), Double(i))
            try session.push(picture.view, enhanced: picture.view)
            guard i == 2 || i == 8 else { continue }
            let (output, time) = (TestPicture(size), Double(i - session.lookahead) - 0.5)
            try session.synthesise(phase: 0.5, into: output.mutableView)
            #expect(output.noise(against: scene.picture(size, movedBy: 2 * time, time)) > 40)
        }
    }

    /// A flash comes and goes, and nothing moves.
    @Test(arguments: InterpolationVariant.allCases) func aFlashIsBlended(variant: InterpolationVariant) throws {
        let size = PictureSize(width: 160, height: 120)
        let picture = MotionScene().picture(size, movedBy: 0, 0)
        func brighter(by light: Int) -> TestPicture {
            TestPicture(size) { plane, x, y in UInt8(min(picture.sample(plane, x, y) + (plane == 0 ? light : 0), 255)) }
        }
        let pictures = [picture, picture, brighter(by: 60), picture]
        let (output, result) = try variant.interpolate(Array(pictures.prefix(variant == .quality ? 4 : 3)), finished: false)
        #expect(result.method == .motionCompensated)
        #expect(output.noise(against: brighter(by: 30)) > 30)
    }

    /// Motion beyond the range of the search still gives a whole picture.
    @Test(arguments: InterpolationVariant.allCases) func wildMotionGivesAPicture(variant: InterpolationVariant) throws {
        let (size, scene) = (PictureSize(width: 160, height: 120), MotionScene())
        let pictures = [0.0, 150, -300, 900].map { scene.picture(size, movedBy: $0, -$0) }
        let (output, _) = try variant.interpolate(pictures, finished: false)
        #expect(output.paddingIsIntact)
    }

    /// Motion is found in small pictures and applied to large ones.
    @Test(arguments: InterpolationVariant.allCases)
    func largePicturesFollowSmallOnes(variant: InterpolationVariant) throws {
        let size = PictureSize(width: 160, height: 120)
        // The scene at half the size: a small sample lies in the middle of four large ones.
        let scene = MotionScene()
        func small(_ x: Double, _ y: Double) -> TestPicture {
            TestPicture(PictureSize(width: 80, height: 60)) { plane, column, row in
                plane == 0 ? UInt8(scene.level(2 * Double(column) + 0.5 - x, 2 * Double(row) + 0.5 - y)) : 128
            }
        }
        let (output, _) = try variant.interpolate(
            [small(0, 0), small(6, -4)],
            enhanced: [scene.picture(size, movedBy: 0, 0), scene.picture(size, movedBy: 6, -4)])
        #expect(output.noise(against: scene.picture(size, movedBy: 3, -2)) > 38)
    }

    @Test(arguments: InterpolationVariant.allCases)
    func aSceneCutHoldsTheNearerPicture(variant: InterpolationVariant) throws {
        let size = PictureSize(width: 160, height: 120)
        let pictures = [TestPicture(size, seed: 1), MotionScene().picture(size, movedBy: 0, 0)]
        for (phase, nearer) in [(0.3, 0), (0.5, 0), (0.6, 1)] {
            let (output, result) = try variant.interpolate(pictures, phase: phase)
            #expect(result.method == .held)
            #expect(output.difference(from: pictures[nearer]) == nil)
        }
    }

    /// A flash or a fade has no motion. The result is a blend.
    @Test(arguments: InterpolationVariant.allCases)
    func aFadeIsBlended(variant: InterpolationVariant) throws {
        let size = PictureSize(width: 160, height: 120)
        let picture = MotionScene().picture(size, movedBy: 0, 0)
        let dark = TestPicture(size) { plane, x, y in
            UInt8(plane == 0 ? picture.sample(0, x, y) / 2 : picture.sample(plane, x, y))
        }
        let (output, result) = try variant.interpolate([picture, dark])
        let truth = TestPicture(size) { plane, x, y in
            let sum: Int = picture.sample(plane, x, y) + dark.sample(plane, x, y) + 1
            return UInt8(sum / 2)
        }
        #expect(result.method == .motionCompensated)
        #expect(output.noise(against: truth) > 30)
    }

    /// For noise no picture is right, but the result must be whole.
    @Test(arguments: InterpolationVariant.allCases)
    func noiseGivesAPicture(variant: InterpolationVariant) throws {
        let size = PictureSize(width: 95, height: 61)
        let (output, _) = try variant.interpolate([TestPicture(size, seed: 1), TestPicture(size, seed: 2)])
        #expect(output.paddingIsIntact)
    }

    /// With a time to stop in the past the picture is still whole: each row is a copy of the nearer picture or
    /// synthesised.
    @Test(arguments: InterpolationVariant.allCases)
    func tooLittleTimeGivesAWholePicture(variant: InterpolationVariant) throws {
        let (size, scene) = (PictureSize(width: 131, height: 77), MotionScene())
        let pictures = [scene.picture(size, movedBy: 0, 0), scene.picture(size, movedBy: 4, 2)]
        let (output, result) = try variant.interpolate(
            pictures, phase: 0.75, threads: 2, until: MonotonicTime(nanoseconds: 1))
        #expect(!result.isComplete)
        #expect(output.difference(from: pictures[1]) == nil)
    }

    @Test func wrongUseIsRefused() throws {
        let size = PictureSize(width: 32, height: 16)
        let (picture, other) = (TestPicture(size), TestPicture(PictureSize(width: 16, height: 16)))
        let session = try LowLatencyFrameInterpolation(FrameInterpolationConfiguration(size: size))
        func refusal(_ body: () throws(EnhanceError) -> Void) -> EnhanceError.Code? {
            do throws(EnhanceError) { try body() } catch { return error.code }
            return nil
        }
        #expect(
            refusal { () throws(EnhanceError) in
                try session.synthesise(phase: 0.5, into: picture.mutableView)
            } == .missingPicture)
        #expect(
            refusal { () throws(EnhanceError) in
                try session.push(other.view, enhanced: picture.view)
            } == .sizeMismatch)
        #expect(
            refusal { () throws(EnhanceError) in
                try session.push(picture.view, enhanced: other.view)
            } == .sizeMismatch)
        #expect(!session.isReady)
        try session.push(picture.view, enhanced: picture.view)
        try session.push(picture.view, enhanced: picture.view)
        for phase in [0, 1, -0.5, 2, .nan, .infinity] as [Double] {
            #expect(
                refusal { () throws(EnhanceError) in
                    try session.synthesise(phase: phase, into: picture.mutableView)
                } == .badParameter, "phase \(phase)")
        }
        #expect(
            refusal { () throws(EnhanceError) in
                try session.synthesise(phase: 0.5, into: other.mutableView)
            } == .sizeMismatch)
        session.reset()
        #expect(!session.isReady)
        for (width, height, scale) in [(0, 16, 1), (16, -1, 1), (9000, 16, 1), (5000, 16, 2), (16, 16, 3)] {
            var configuration = FrameInterpolationConfiguration(size: PictureSize(width: width, height: height))
            configuration.scaleFactor = scale
            #expect(
                refusal { () throws(EnhanceError) in
                    _ = try LowLatencyFrameInterpolation(configuration)
                } == .unsupportedSize)
        }
    }
}
