import Glibc
import Kernels
import Media

/// Estimates the standard deviation of noise from what flat places show, or places that did not change.
///
/// The operator 1 -2 1, across and down, leaves noise and hardly anything else of a flat square (Immerkaer: Fast Noise Variance
/// Estimation, 1996). What it gives is compared with the picture before, too: that leaves noise alone of a square that stands
/// still, whatever is in it. The square's variance is the smaller of both. The estimate is a low quantile of all squares, so it
/// needs few of them to be flat or still. Black and white squares do not count: there noise is cut off.
///
/// Confined to one thread at a time. Does not allocate after `init`.
@safe final class NoiseEstimator {
    private let kernels: Kernels
    /// Sums of one row of squares.
    private var sums: [NoiseSums]
    /// How many squares have each variance, in 32 steps to an octave.
    private var histogram = [UInt32](repeating: 0, count: 32 * 32)

    /// The quantile, and what the deviation is to that of the whole picture; measured on white noise.
    private static let quantile = 0.12
    private static let correction = 1.14

    init(size: PictureSize, kernels: Kernels) {
        self.kernels = kernels
        sums = Array(repeating: NoiseSums(), count: size.width / Kernels.noiseSquare)
    }

    /// - Parameters:
    ///   - planes: one or two planes with the same noise.
    ///   - before: the planes of the picture before, or nothing.
    /// - Returns: the standard deviation in levels; nil where no square tells.
    func deviation(_ planes: ArraySlice<PaddedPlane>, before: ArraySlice<PaddedPlane>) -> Double? {
        for i in histogram.indices { histogram[i] = 0 }
        var count = 0
        for (number, plane) in planes.enumerated() {
            let other = before.isEmpty ? nil : before[before.startIndex + number]
            count += unsafe add(plane.view, before: other?.view)
        }
        guard count > 0 else { return nil }
        var left = Int(Double(count) * Self.quantile)
        let bin = histogram.firstIndex { bin in
            left -= Int(bin)
            return left < 0
        }
        let variance = Self.variance(bin ?? 0) / Double(NoiseSums.samples * NoiseSums.gain)
        return variance.squareRoot() * Self.correction
    }

    @unsafe private func add(_ plane: PlaneView, before: PlaneView?) -> Int {
        let (side, samples) = (Kernels.noiseSquare, UInt32(NoiseSums.samples))
        let squares = unsafe min(plane.width / side, sums.count)
        guard squares > 0, unsafe plane.height >= side else { return 0 }
        var count = 0
        for first in stride(from: 0, through: unsafe plane.height - side, by: side) {
            unsafe sums.withUnsafeMutableBufferPointer {
                unsafe kernels.measureNoise(
                    .init(rebasing: $0[..<squares]), plane, before: before ?? plane, first: first)
            }
            for sum in sums[..<squares] where sum.level >= 20 * samples && sum.level <= 235 * samples {
                // The difference of two pictures has twice the variance.
                let least = unsafe before == nil ? sum.detail : min(sum.detail, sum.change / 2)
                histogram[Self.bin(least)] += 1
                count += 1
            }
        }
        return count
    }

    private static func bin(_ energy: UInt32) -> Int {
        energy == 0 ? 0 : Int((Float(energy).bitPattern - Float(1).bitPattern) >> 18)
    }
    /// The middle of a bin.
    private static func variance(_ bin: Int) -> Double {
        bin == 0 ? 0 : Double(Float(bitPattern: UInt32(bin) << 18 + 1 << 17 + Float(1).bitPattern))
    }
}

/// The noise of a sequence of pictures.
struct NoiseLevels: Hashable, Sendable {
    /// Standard deviations in levels.
    var luma: Double
    var chroma: Double

    static let none = NoiseLevels(luma: 0, chroma: 0)
    var isNone: Bool { luma == 0 && chroma == 0 }

    /// - Parameter strength: 0…1.
    init(strength: Double) {
        luma = strength * NoiseStrength.fullDeviation
        chroma = luma
    }

    init(luma: Double, chroma: Double) {
        self.luma = luma
        self.chroma = chroma
    }

    /// Whether a quantiser is so coarse that the coding itself makes noise.
    static func isCoding(_ quantiser: Int?) -> Bool { quantiser.map { $0 >= 24 } ?? false }

    /// At least as much as coding with a quantiser makes, as far as a filter can take that away: found by trying on H.264 at 150
    /// and 500 kb/s.
    func atLeast(codedWith quantiser: Int?) -> NoiseLevels {
        guard let quantiser, Self.isCoding(quantiser) else { return self }
        let coding = min(0.6 * exp2(Double(quantiser - 20) / 10), 3)
        return NoiseLevels(luma: max(luma, coding), chroma: max(chroma, coding))
    }
}

/// Follows the noise of a sequence. A picture's estimate moves the level by a part, so that strength does not flicker.
struct NoiseTracker {
    /// nil until a picture tells.
    private var luma: Double?
    private var chroma: Double?

    /// - Parameters: what a picture shows; nil where it does not tell.
    mutating func add(luma: Double?, chroma: Double?) {
        Self.follow(&self.luma, luma)
        Self.follow(&self.chroma, chroma)
    }

    private static func follow(_ level: inout Double?, _ shown: Double?) {
        guard let shown else { return }
        level = level.map { $0 + (shown - $0) / 8 } ?? shown
    }

    /// The noise to filter. Below 0.6 levels there is nothing that anybody sees, and detail may look the same.
    var worthwhile: NoiseLevels { NoiseLevels(luma: Self.worth(luma), chroma: Self.worth(chroma)) }

    /// The same of one estimate.
    static func worth(_ level: Double?) -> Double { level.map { $0 * min(max(($0 - 0.6) / 0.6, 0), 1) } ?? 0 }
}
