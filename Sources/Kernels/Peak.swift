import CKernels
import Media

extension Kernels {
    /// How many multiplications of bytes one core does in a nanosecond, with their additions, when nothing but
    /// registers is touched: what a network's speed is compared with. Takes the best of several bursts of about a
    /// millisecond.
    public func measurePeak(bursts: Int = 5) -> Double {
        let iterations: Int64 = 1 << (features.isEmpty ? 17 : 18)
        var best = 0.0
        for _ in 0..<bursts {
            let start = MonotonicTime.now()
            table.peak.bytes(iterations)
            let time = Double((MonotonicTime.now() - start).count)
            best = max(best, Double(iterations) * Double(table.peak.multiplications) / time)
        }
        return best
    }
}
