import Enhance
import EnhanceNetworks
import Foundation
import KernelChecks
import Kernels
import Media
import Testing

/// Interpolation whose pictures a network improves: see docs/design/interpolation.md.
@Suite struct FusionTests {
    static func bytes(_ name: String) throws -> [UInt8] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return [UInt8](try Data(contentsOf: tests.appending(path: "Golden/\(name)")))
    }

    /// A network of random weights.
    static func random() throws -> FusionNetwork { try FusionNetwork(bytes("fusion-8-8.bnf")) }
    /// A network that chooses the picture that is there.
    static func neutral() throws -> FusionNetwork { try FusionNetwork(FusionFileTests.neutral()) }

    /// A picture between the last two, or between the two before the last.
    static func interpolate(
        _ pictures: [TestPicture], _ network: FusionNetwork?, enhanced: [TestPicture]? = nil, outputSize: PictureSize? = nil,
        phase: Double = 0.5, kernels: Kernels = .best, threads: Int = 1, finished: Bool = false
    ) throws -> (output: TestPicture, result: FrameInterpolationResult) {
        let enhanced = enhanced ?? pictures
        var configuration = FrameInterpolationConfiguration(size: pictures[0].size)
        configuration.scaleFactor = enhanced[0].size.width / pictures[0].size.width
        configuration.outputSize = outputSize
        configuration.kernels = kernels
        configuration.fusion = network
        let session = try FrameRateConversion(configuration, workers: WorkerPool(threadCount: threads))
        for i in pictures.indices { try session.push(pictures[i].view, enhanced: enhanced[i].view) }
        if finished { session.finish() }
        let output = TestPicture(session.outputSize)
        return (output, try session.synthesise(phase: phase, into: output.mutableView))
    }

    private static func scene(_ size: PictureSize, scale: Double = 1) -> [TestPicture] {
        [0.0, 3, 7, 12].map { MotionScene().picture(size, movedBy: scale * $0, scale * $0 / 2) }
    }

    private static let sizes = FrameInterpolationTests.sizes

    @Test(arguments: sizes) func equalPicturesGiveTheSameAgain(size: PictureSize) throws {
        let picture = TestPicture(size, seed: 4)
        for phase in [0.01, 0.35, 0.5, 0.9] {
            let (output, result) = try Self.interpolate([picture, picture], Self.random(), phase: phase, finished: true)
            #expect(output.difference(from: picture) == nil)
            #expect(output.paddingIsIntact)
            #expect(result.method == .motionCompensated && result.isComplete)
        }
    }

    /// Every instruction set and every number of threads makes the same picture, also for odd and tiny sizes, and after
    /// super-resolution.
    @Test(arguments: sizes) func everyLevelAndThreadCountGivesTheSame(size: PictureSize) throws {
        let pictures = Self.scene(size)
        for enhanced in [pictures, Self.scene(size.scaled(by: 2), scale: 2)] {
            let (reference, _) = try Self.interpolate(
                pictures, Self.random(), enhanced: enhanced, phase: 0.4, kernels: Kernels(limit: []))
            #expect(reference.paddingIsIntact)
            for level in CPUFeatures.levels {
                for threads in [1, 2, 3] {
                    let (output, _) = try Self.interpolate(
                        pictures, Self.random(), enhanced: enhanced, phase: 0.4, kernels: Kernels(limit: level),
                        threads: threads)
                    #expect(output.difference(from: reference) == nil, "\(level.name), \(threads) threads")
                }
            }
        }
    }

    /// Where nothing moves the picture without the network is the mean of the pair, and it stays: here all grows lighter.
    @Test(arguments: [1.0 / 3, 0.5]) func whatStandsStillStays(phase: Double) throws {
        let still = MotionScene().picture(PictureSize(width: 131, height: 77), movedBy: 0, 0)
        let pictures = (0..<4).map { step in
            TestPicture(still.size) { plane, x, y in
                plane == 0 ? UInt8(still.sample(0, x, y) / 2 + 2 * step) : UInt8(still.sample(plane, x, y))
            }
        }
        let (plain, _) = try Self.interpolate(pictures, nil, phase: phase)
        let (fused, _) = try Self.interpolate(pictures, Self.random(), phase: phase)
        #expect(fused.difference(from: plain) == nil)
    }

    /// Predictions are drawn only where the network needs them: what is left of other pictures elsewhere changes nothing.
    @Test func picturesBeforeChangeNothing() throws {
        let size = PictureSize(width: 203, height: 117)
        let still = MotionScene().picture(size, movedBy: 0, 0)
        let pictures = (0..<4).map { step in
            TestPicture(size) { plane, x, y in
                let isMoving = plane == 0 && (80 + 3 * step..<97 + 3 * step).contains(x) && (50..<67).contains(y)
                return UInt8(isMoving ? still.sample(0, x - 60 - 3 * step, y - 40) : still.sample(plane, x, y))
            }
        }
        let (fresh, _) = try Self.interpolate(pictures, Self.random())
        let (plain, _) = try Self.interpolate(pictures, nil)
        #expect(fresh.difference(from: plain) != nil)
        var configuration = FrameInterpolationConfiguration(size: size)
        configuration.fusion = try Self.random()
        let session = try FrameRateConversion(configuration, workers: WorkerPool(threadCount: 1))
        let output = TestPicture(size)
        for sequence in [Self.scene(size), pictures] {
            session.reset()
            for picture in sequence { try session.push(picture.view, enhanced: picture.view) }
            _ = try session.synthesise(phase: 0.5, into: output.mutableView)
        }
        #expect(output.difference(from: fresh) == nil)
    }

    /// Only luma changes, and that for good where the network chooses otherwise.
    @Test func aNetworkChangesLumaAlone() throws {
        let pictures = Self.scene(PictureSize(width: 131, height: 77))
        let (plain, _) = try Self.interpolate(pictures, nil)
        let (neutral, _) = try Self.interpolate(pictures, Self.neutral())
        #expect(neutral.difference(from: plain) == nil)
        let (fused, _) = try Self.interpolate(pictures, Self.random())
        #expect(fused.difference(from: plain)?.hasPrefix("plane 0") == true)
        for plane in 1...2 {
            for y in 0..<39 { for x in 0..<66 { #expect(fused.sample(plane, x, y) == plain.sample(plane, x, y)) } }
        }
    }

    /// The network comes before the result gets a size of its own.
    @Test func anotherOutputSizeIsResampledAfterwards() throws {
        let (size, output) = (PictureSize(width: 90, height: 60), PictureSize(width: 120, height: 80))
        let pictures = Self.scene(size)
        let (plain, _) = try Self.interpolate(pictures, nil, outputSize: output)
        let (neutral, _) = try Self.interpolate(pictures, Self.neutral(), outputSize: output)
        #expect(neutral.difference(from: plain) == nil)
        let (fused, _) = try Self.interpolate(pictures, Self.random(), outputSize: output)
        #expect(fused.difference(from: plain) != nil && fused.paddingIsIntact)
    }

    /// Beside a cut a picture is held, and the pictures beyond it do not count.
    @Test func cutsAreRespected() throws {
        let size = PictureSize(width: 160, height: 120)
        let first = Self.scene(size)
        let other = MotionScene(seed: 5).picture(size, movedBy: 0, 0)
        let (held, result) = try Self.interpolate([first[2], first[3], other], Self.random(), finished: true)
        #expect(result.method == .held && held.difference(from: first[3]) == nil)
        let (beside, _) = try Self.interpolate([first[1], first[2], first[3], other], Self.random())
        let (alone, _) = try Self.interpolate([first[1], first[2], first[3]], Self.random(), finished: true)
        #expect(beside.difference(from: alone) == nil)
    }

    /// The network learnt the middle: further away the picture is the one that is there without it.
    @Test(arguments: [(0.1, false), (0.25, false), (1.0 / 3, true), (0.5, true), (2.0 / 3, true), (0.75, false)])
    func thePhaseDecides(phase: Double, isFused: Bool) throws {
        let pictures = Self.scene(PictureSize(width: 160, height: 120))
        let (plain, _) = try Self.interpolate(pictures, nil, phase: phase)
        let (fused, _) = try Self.interpolate(pictures, Self.random(), phase: phase)
        #expect((fused.difference(from: plain) != nil) == isFused)
    }

    /// Without time the picture is the one that is there without the network.
    @Test func noTimeLeavesThePicture() throws {
        let size = PictureSize(width: 160, height: 120)
        let pictures = Self.scene(size)
        var outputs: [TestPicture] = []
        for network in [nil, try Self.random()] {
            var configuration = FrameInterpolationConfiguration(size: size)
            configuration.fusion = network
            let session = try FrameRateConversion(configuration)
            for picture in pictures { try session.push(picture.view, enhanced: picture.view) }
            let output = TestPicture(size)
            let result = try session.synthesise(phase: 0.5, into: output.mutableView, until: .now())
            #expect(!result.isComplete)
            outputs.append(output)
        }
        #expect(outputs[0].difference(from: outputs[1]) == nil)
    }

    @Test func aCancelledSessionEnds() throws {
        let size = PictureSize(width: 160, height: 120)
        var configuration = FrameInterpolationConfiguration(size: size)
        configuration.fusion = try Self.random()
        let session = try FrameRateConversion(configuration)
        let pictures = Self.scene(size)
        for picture in pictures { try session.push(picture.view, enhanced: picture.view) }
        let output = TestPicture(size)
        session.cancellation.cancel()
        #expect(throws: EnhanceError.self) { try session.synthesise(phase: 0.5, into: output.mutableView) }
        session.reset()
        for picture in pictures { try session.push(picture.view, enhanced: picture.view) }
        try session.synthesise(phase: 0.5, into: output.mutableView)
        #expect(output.difference(from: try Self.interpolate(pictures, Self.random()).output) == nil)
    }

    /// Live interpolation does not use the network.
    @Test func liveInterpolationStaysAsItIs() throws {
        let pictures = Self.scene(PictureSize(width: 90, height: 60))
        var outputs: [TestPicture] = []
        for network in [nil, try Self.random()] {
            var configuration = FrameInterpolationConfiguration(size: pictures[0].size)
            configuration.fusion = network
            let session = try LowLatencyFrameInterpolation(configuration)
            for picture in pictures { try session.push(picture.view, enhanced: picture.view) }
            outputs.append(TestPicture(pictures[0].size))
            try session.synthesise(phase: 0.5, into: outputs.last!.mutableView)
        }
        #expect(outputs[0].difference(from: outputs[1]) == nil)
    }

    @Test func theShippedNetworkIsReadable() { #expect(FusionNetwork.shipped.multiplicationsPerSample > 0) }
}
