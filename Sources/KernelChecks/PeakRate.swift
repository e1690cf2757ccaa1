import CKernelChecks
import Kernels
import Media

extension Kernels {
    /// Measures how many multiplications of bytes, with their additions, one core can do in a nanosecond while it touches
    /// nothing but registers. A network's speed is compared with this rate.
    /// - Parameter bursts: how many bursts of about a millisecond to run. The best one counts.
    public func measurePeak(bursts: Int = 5) -> Double {
        let peak = burnish_peak(features.rawValue)
        let iterations: Int64 = 1 << (features.isEmpty ? 17 : 18)
        var best = 0.0
        for _ in 0..<bursts {
            let start = MonotonicTime.now()
            peak.bytes(iterations)
            let time = Double((MonotonicTime.now() - start).count)
            best = max(best, Double(iterations) * Double(peak.multiplications) / time)
        }
        return best
    }
}
