import CKernels
import Media

/// How one axis of a plane gets another size: eight taps for each new sample. Immutable.
@safe public final class ResamplingAxis: Sendable {
    public static let taps = 8
    /// Samples that an axis may lose: with more, eight taps would leave out some.
    public static let largestReduction = 2.0

    private let first: [Int32]
    private let weights: [Int16]
    public let input: Int

    public var output: Int { first.count }

    /// - Parameters:
    ///   - input: samples of the plane.
    ///   - output: new samples; at least ``input`` / ``largestReduction``.
    ///   - place: where each new sample lies, in samples of the plane; 0 is the centre of the first.
    ///   - kernel: the weight of a sample at a distance, in samples. It counts up to a distance of 4.
    public init(input: Int, output: Int, place: (Int) -> Double, kernel: (Double) -> Double) {
        precondition(input > 0 && output > 0, "a plane has samples")
        self.input = input
        var first: [Int32] = []
        var weights: [Int16] = []
        first.reserveCapacity(output)
        weights.reserveCapacity(Self.taps * output)
        for index in 0..<output {
            // Up to one sample beyond the edges.
            let place = min(max(place(index), -0.999), Double(input) - 0.001)
            let start = Int(place.rounded(.down)) - Self.taps / 2 + 1
            first.append(Int32(start))
            weights.append(contentsOf: Self.fixed((0..<Self.taps).map { kernel(Double(start + $0) - place) }))
        }
        self.first = first
        self.weights = weights
    }

    /// Weights with 14 fractional bits and an exact sum. The largest weight gets the error of rounding.
    private static func fixed(_ weights: [Double]) -> [Int16] {
        let sum = weights.reduce(0, +)
        var rounded = weights.map { Int16(($0 / sum * 16384).rounded()) }
        let largest = rounded.indices.max { rounded[$0] < rounded[$1] }!
        rounded[largest] += 16384 - rounded.reduce(0, +)
        return rounded
    }

    @unsafe fileprivate func withAxis<Result>(_ body: (UnsafePointer<burnish_scale_axis>) -> Result) -> Result {
        unsafe first.withUnsafeBufferPointer { first in
            unsafe weights.withUnsafeBufferPointer { weights in
                let axis = unsafe burnish_scale_axis(
                    first: first.baseAddress, weights: weights.baseAddress, out: Int32(output), in: Int32(input))
                return unsafe withUnsafePointer(to: axis) { unsafe body($0) }
            }
        }
    }
}

extension Kernels {
    /// The bytes of scratch, 64-byte aligned, that each thread needs to resample a plane of this width.
    public static func resamplingScratch(width: Int) -> Int { burnish_scale_resample_scratch(Int32(width)) }

    /// Writes rows of a plane in another size. Samples outside of the plane are the nearest one at its edge. Several threads may do
    /// different rows at once, each with its own scratch.
    /// - Precondition: the axes have the sizes of both planes; `rows` lie inside of the output.
    @unsafe public func resample(
        _ input: PlaneView, into output: MutablePlaneView, across: ResamplingAxis, down: ResamplingAxis, rows: Range<Int>,
        scratch: UnsafeMutableRawPointer
    ) {
        unsafe precondition(across.input == input.width && across.output == output.width)
        unsafe precondition(down.input == input.height && down.output == output.height)
        unsafe precondition(rows.lowerBound >= 0 && rows.upperBound <= output.height)
        var scale = table.scale
        unsafe across.withAxis { across in
            unsafe down.withAxis { down in
                unsafe burnish_scale_resample(
                    &scale, across, down, output.base, output.stride, input.base, input.stride, Int32(rows.lowerBound),
                    Int32(rows.upperBound), scratch)
            }
        }
    }
}
