import Enhance
import EnhanceNetworks
import Foundation
import Media
import Synchronization
import TestSupport
import Testing

/// A run of a worker pool allocates nothing, and neither does a frame of any processor after the first few. Counted on
/// the calling thread, in a child process.
@Suite struct EnhanceAllocationTests {
    private static let variable = "BURNISH_COUNT_ENHANCE_ALLOCATIONS"
    /// Without optimisation the standard library allocates in many places of a frame.
    private static var isOptimised: Bool { !_isDebugAssertConfiguration() }

    @Test(.enabled(if: AllocationCounting.isPossible)) func runsAndFramesCostNoAllocation() throws {
        let (status, output) = try AllocationCounting.runChild("EnhanceAllocationProbe", [Self.variable: "1"])
        #expect(status == 0, "\(output)")
        let counts = output.split(separator: "\n").filter { $0.hasPrefix("allocations of ") }
        // The array shows that allocations are counted at all.
        var expected = ["allocations of 1000 runs: 0", "allocations of an array: 1"]
        if Self.isOptimised {
            let processors = [
                "super-resolution", "masks", "interpolation", "fusion", "extrapolation", "motion blur", "noise filtering",
                "a chain without steps", "a chain",
            ]
            expected += processors.map { "allocations of \($0): 0" }
        }
        #expect(counts.map(String.init) == expected, "\(output)")
    }

    /// The child's part.
    @Suite(.enabled(if: ProcessInfo.processInfo.environment[variable] != nil)) struct EnhanceAllocationProbe {
        /// The arguments of one run. A closure with them would need a context.
        struct Sum: PiecewiseWork {
            let total: Total
            let factor: Int
            let offset: Int

            func perform(piece: Int, worker: Int) { total.value.add(factor * piece + offset, ordering: .relaxed) }
        }

        final class Total { let value = Atomic<Int>(0) }

        private let size = PictureSize(width: 200, height: 120)

        @Test func count() throws {
            let counting = try #require(AllocationCounting())
            func report(_ name: String, _ body: () throws -> Void) rethrows {
                let before = counting.bySwift + counting.byOthers
                counting.begin()
                try body()
                counting.end()
                print("allocations of \(name): \(counting.bySwift + counting.byOthers - before)")
            }
            let workers = WorkerPool(threadCount: 2)
            let total = Total()
            func run(_ number: Int) {
                workers.run(
                    Sum(total: total, factor: number, offset: 1), pieces: 8,
                    order: number % 2 == 0 ? .ascending : .ownPartFirst)
            }
            // The first run of a type finds its conformance to the protocol.
            for number in 0..<2 { run(number) }
            total.value.store(0, ordering: .relaxed)
            report("1000 runs") { for number in 0..<1000 { run(number) } }
            #expect(total.value.load(ordering: .relaxed) == 1000 * 8 + 28 * 499_500)

            var array: [Int] = []
            report("an array") { array = [Int](repeating: size.width, count: 100) }
            #expect(array.count == 100)
            fflush(nil)
            if isOptimised { try countFrames(workers, report) }
            fflush(nil)
        }

        /// With some flat parts, the same for the same seed.
        private func noise(_ size: PictureSize, _ seed: Int) -> Picture {
            let picture = Picture(size: size)
            let view = picture.mutableView
            for plane in [view.y, view.u, view.v] {
                for y in 0..<plane.height {
                    for x in 0..<plane.width {
                        let value = (x / 9 + y / 7) % 3 == 0 ? x * 3 + y * 5 : (x + 1) * (y + 3) * (seed + 7919) * 40_503 >> 9
                        plane.row(y)[x] = UInt8(truncatingIfNeeded: value)
                    }
                }
            }
            return picture
        }

        private func countFrames(
            _ workers: WorkerPool, _ report: (String, () throws -> Void) throws -> Void
        ) throws {
            var configuration = SuperResolutionConfiguration(size: size)
            configuration.useShippedNetworks()
            configuration.sharpness = 0.5
            let session = try SuperResolutionSession(configuration, workers: workers)
            let pictures = (0..<2).map { noise(size, $0) }
            let large = (0..<2).map { noise(session.outputSize, $0) }
            let output = Picture(size: session.outputSize)
            let tiers = SuperResolutionTier.allCases
            func enlarge(_ index: Int) throws {
                let until = index % 2 == 0 ? nil : MonotonicTime.now() + .milliseconds(2)
                _ = try session.process(
                    pictures[index % 2].view, into: output.mutableView, tier: tiers[index % 3],
                    SuperResolutionParameters(until: until))
            }
            for index in 0..<6 { try enlarge(index) }
            try report("super-resolution") { for index in 0..<12 { try enlarge(index) } }

            var masking = StepSettings()
            masking.mask = PrivacyMask([
                PrivacyMask.Area(x: 0, y: 0, width: 40, height: 40, .blur(8)),
                PrivacyMask.Area(x: 50, y: 50, width: 40, height: 40, .pixelate(16)),
            ])
            let masks = StepRun(size: size, try masking.makeSteps(at: .decoded, size: size, workers: workers))
            var times = StepValues(blank: Nanoseconds.zero)
            func mask(_ index: Int) throws {
                try masks.process(StepInput(pictures[index % 2].view), StepParameters(masking), &times, only: [.mask])
            }
            for index in 0..<2 { try mask(index) }
            try report("masks") { for index in 0..<8 { try mask(index) } }

            var interpolating = FrameInterpolationConfiguration(size: size)
            interpolating.scaleFactor = 2
            let between = try LowLatencyFrameInterpolation(interpolating, workers: workers)
            func interpolate(_ index: Int) throws {
                try between.push(pictures[index % 2].view, enhanced: large[index % 2].view)
                if between.isReady { try between.synthesise(phase: 0.5, into: output.mutableView) }
            }
            for index in 0..<4 { try interpolate(index) }
            try report("interpolation") { for index in 0..<8 { try interpolate(index) } }

            interpolating.fusion = .shipped
            let fused = try FrameRateConversion(interpolating, workers: workers)
            func fuse(_ index: Int) throws {
                try fused.push(pictures[index % 2].view, enhanced: large[index % 2].view)
                if fused.isReady { try fused.synthesise(phase: 0.5, into: output.mutableView) }
            }
            for index in 0..<6 { try fuse(index) }
            try report("fusion") { for index in 0..<8 { try fuse(index) } }

            let ahead = try FrameExtrapolation(interpolating, workers: workers)
            func extrapolate(_ index: Int) throws {
                try ahead.push(pictures[index % 2].view, enhanced: large[index % 2].view)
                try ahead.synthesise(distance: 0.5, into: output.mutableView)
            }
            for index in 0..<4 { try extrapolate(index) }
            try report("extrapolation") { for index in 0..<8 { try extrapolate(index) } }

            let shutter = try MotionBlur(interpolating, workers: workers)
            func blur(_ index: Int) throws {
                try shutter.push(pictures[index % 2].view, enhanced: large[index % 2].view)
                if shutter.isReady { try shutter.blur(strength: 50, into: output.mutableView) }
            }
            for index in 0..<4 { try blur(index) }
            try report("motion blur") { for index in 0..<8 { try blur(index) } }

            let filter = try TemporalNoiseFilter(TemporalNoiseConfiguration(size: size), workers: workers)
            let filtered = Picture(size: size)
            func takeNoise(_ index: Int) throws {
                try filter.process(
                    pictures[index % 2].view, into: filtered.mutableView,
                    .init(strength: index % 3 == 0 ? .automatic : .fixed(0.4)))
            }
            for index in 0..<4 { try takeNoise(index) }
            try report("noise filtering") { for index in 0..<8 { try takeNoise(index) } }

            var settings = StepSettings()
            settings.denoise = 0.4
            let steps = try settings.makeSteps(at: .source, size: size, workers: workers)
            for (name, steps) in [("a chain without steps", []), ("a chain", steps)] {
                let chain = PictureChain(
                    try PictureEnlargement(configuration, workers: workers),
                    PictureSynthesis(between: try LowLatencyFrameInterpolation(interpolating, workers: workers)), steps: steps)
                func go(_ index: Int) throws {
                    var times = StepValues(blank: Nanoseconds.zero)
                    let wish = PictureEnlargement.Wish(.neuralSmall, isWhole: false, SuperResolutionParameters())
                    let picture = pictures[index % 2]
                    _ = try chain.enlarge(picture.view, into: output.mutableView, StepParameters(settings), wish, &times)
                    try chain.append(picture.view, output.view, chromaLocation: 0)
                    _ = try chain.synthesise(phase: 0.5, into: output.mutableView)
                    try chain.finish(output.mutableView, StepParameters(settings), &times)
                }
                for index in 0..<6 { try go(index) }
                try report(name) { for index in 0..<8 { try go(index) } }
            }
        }
    }
}
