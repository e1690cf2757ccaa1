import KernelChecks
import Kernels
import Media

/// Measures the time of every kernel at every level. Levels run in turn over many rounds, so that other load on the
/// machine affects all of them alike. Times are the thread's processor time, which leaves out other programs on the
/// core. For `burnish bench`; not thread-safe.
public struct KernelBench {
    public struct Row: Sendable {
        /// The kernel's name and its instruction set.
        public let kernel: String
        public let features: CPUFeatures
        /// Median over the rounds of one call's time, in nanoseconds.
        public let nanoseconds: Double
        /// Work done in one nanosecond: samples or multiplications, as `unit` says.
        public let rate: Double
        public let unit: WorkUnit
        /// The scalar reference's time divided by this time, both from one round: median over the rounds.
        public let speedup: Double
    }

    public let checks: [any KernelCheck]
    /// How many rounds to run.
    public let rounds: Int
    /// The least time of one measurement. Calls are repeated for so long.
    public let burst: Nanoseconds

    public init(
        checks: [any KernelCheck] = CheckedKernels.all(), rounds: Int = 31, burst: Nanoseconds = .microseconds(200)
    ) {
        self.checks = checks
        self.rounds = rounds
        self.burst = burst
    }

    public func run(levels: [CPUFeatures] = CPUFeatures.levels) -> [Row] {
        checks.flatMap { check in
            var variants: [Kernels] = []
            var seen: [UnsafeRawPointer] = unsafe []
            for level in levels {
                let kernels = Kernels(limit: level)
                let function = unsafe check.implementation(kernels)
                if unsafe seen.contains(function) { continue }
                unsafe seen.append(function)
                variants.append(kernels)
            }
            check.prepare(check.benchmarkSize, content: .random, seed: 1)
            let counts = variants.map { repetitions(check, $0) }
            var times = variants.map { _ in [Double]() }
            for _ in 0..<rounds {
                for (i, kernels) in variants.enumerated() {
                    let start = StageThread.ownProcessorTime
                    for _ in 0..<counts[i] { check.run(kernels, into: 1) }
                    times[i].append(Double((StageThread.ownProcessorTime - start).count) / Double(counts[i]))
                }
            }
            return variants.indices.map { i in
                let time = median(times[i])
                return Row(
                    kernel: check.name, features: variants[i].features, nanoseconds: time,
                    rate: check.work(check.benchmarkSize) / time, unit: check.unit,
                    speedup: median(zip(times[0], times[i]).map { $0 / $1 }))
            }
        }
    }

    /// How many calls fill a burst, found by doubling.
    private func repetitions(_ check: any KernelCheck, _ kernels: Kernels) -> Int {
        var count = 1
        while true {
            let start = StageThread.ownProcessorTime
            for _ in 0..<count { check.run(kernels, into: 1) }
            if StageThread.ownProcessorTime - start >= burst { return count }
            count *= 2
        }
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}
