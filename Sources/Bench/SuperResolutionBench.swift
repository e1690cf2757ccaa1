import Enhance
import EnhanceNetworks
import KernelChecks
import Kernels
import Media

/// Measures the time of whole frames of every tier at every instruction set and number of threads. They run in turn
/// over many rounds, so that other load on the machine affects all of them alike. For `burnish bench`; not thread-safe.
public struct SuperResolutionBench {
    public struct Row: Sendable {
        public let tier: SuperResolutionTier
        public let features: CPUFeatures
        public let threads: Int
        /// Time of a whole frame, including `base` and chroma: median and least over the rounds. With one thread it is
        /// the thread's processor time, which leaves out other programs on the core. With more it is wall time.
        public let median: Nanoseconds
        public let least: Nanoseconds
        /// The networks' multiplications in a nanosecond at the median, without those of borders and padding; 0 for
        /// `base`.
        public let rate: Double
        /// `rate` for each thread as a share of the rate that the core can reach at all, measured in the same rounds.
        public let shareOfPeak: Double
        /// The time with one thread divided by this time, for the same tier and instruction set, both from one round:
        /// median over the rounds. Nil where one thread is not among the numbers of threads.
        public let speedup: Double?
    }

    public var size = PictureSize(width: 640, height: 360)
    /// The size at which pictures leave; nil is twice that at which they come.
    public var outputSize: PictureSize?
    public var threads = [1]
    public var rounds = 15
    /// The tiers to run, with the networks that come with the library.
    public var tiers = SuperResolutionTier.allCases

    public init() {}

    /// - Throws: `unsupportedSize`.
    public func run(
        levels: [CPUFeatures] = Array(CPUFeatures.levels.dropFirst())
    ) throws(EnhanceError) -> [Row] {
        let outputSize = outputSize ?? size.scaled(by: 2)
        var variants: [Variant] = []
        for level in levels {
            let pools = threads.map { WorkerPool(threadCount: $0) }
            for tier in tiers {
                let enlargement = Enlargement(from: size, to: outputSize, refined: tier > .base)
                for workers in pools { variants.append(try Variant(tier, enlargement, level, workers)) }
            }
        }
        // Two pictures without anything in common, so that no tile is reused.
        let pictures = (1...2).map { noise(seed: $0) }
        let output = Picture(size: outputSize)
        for round in 0..<rounds + 1 {
            for variant in variants {
                let source = pictures[round % 2]
                let start = now(variant)
                _ = unsafe try variant.session.process(source.view, into: output.mutableView, tier: variant.tier)
                let time = now(variant) - start
                // The first round brings everything into the caches.
                if round > 0 { variant.times.append(time) }
                variant.peak = max(variant.peak, variant.session.configuration.kernels.measurePeak(bursts: 1))
            }
        }
        return variants.map { variant in
            let alone = variants.first { $0.threads == 1 && $0.tier == variant.tier && $0.features == variant.features }
            return variant.row(samples: size.width * size.height, beside: alone)
        }
    }

    private func now(_ variant: Variant) -> MonotonicTime {
        if variant.threads > 1 { return .now() }
        return MonotonicTime(nanoseconds: StageThread.ownProcessorTime.count)
    }

    private func noise(seed: Int) -> Picture {
        let picture = Picture(size: size)
        var random = CheckRandom(seed: UInt64(seed))
        let luma = unsafe picture.mutableView.y
        for y in 0..<size.height { for x in 0..<size.width { unsafe luma.row(y)[x] = random.byte() } }
        return picture
    }

    private final class Variant {
        let tier: SuperResolutionTier
        let session: SuperResolutionSession
        let threads: Int
        private let multiplications: Int
        var times: [Nanoseconds] = []
        var peak = 0.0

        init(
            _ tier: SuperResolutionTier, _ enlargement: Enlargement, _ level: CPUFeatures, _ workers: WorkerPool
        ) throws(EnhanceError) {
            self.tier = tier
            threads = workers.threadCount
            var configuration = SuperResolutionConfiguration(size: enlargement.input)
            configuration.scaleFactor = enlargement.doubles ? 2 : 1
            configuration.outputSize = enlargement.output
            configuration.kernels = Kernels(limit: level)
            let network = enlargement.doubles ? SuperResolutionNetwork.shipped(tier) : nil
            configuration.networks[tier] = network
            multiplications = network?.multiplicationsPerSample ?? 0
            session = try SuperResolutionSession(configuration, workers: workers)
        }

        var features: CPUFeatures { session.configuration.kernels.features }

        func row(samples: Int, beside alone: Variant?) -> Row {
            let sorted = times.sorted()
            let median = sorted[sorted.count / 2]
            let rate = Double(samples * multiplications) / Double(median.count)
            let ratios = alone.map { zip($0.times, times).map { Double($0.count) / Double($1.count) }.sorted() }
            return Row(
                tier: tier, features: features, threads: threads, median: median, least: sorted[0], rate: rate,
                shareOfPeak: rate / Double(threads) / peak, speedup: ratios.map { $0[$0.count / 2] })
        }
    }
}
