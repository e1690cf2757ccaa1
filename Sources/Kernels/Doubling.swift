import CKernels
import Media

/// A separable filter that doubles a plane, in the kernels' fixed point.
public struct DoublingFilter: Sendable {
    package let fixed: burnish_scale_filter

    /// The weights of one axis: 4 or 8 for each of the two phases. They need not be normalised.
    public struct Axis: Sendable {
        let phases: [[Double]]

        /// - Precondition: two phases of the same length, 4 or 8, with a sum that is not zero.
        public init(_ first: [Double], _ second: [Double]) {
            precondition(first.count == second.count && (first.count == 4 || first.count == 8))
            phases = [first, second]
        }

        /// Weights of `kernel` at input samples around positions i + first and i + second, in input samples: a phase
        /// before the centre takes its taps from i − taps/2 on, the other from one sample later.
        public init(taps: Int, first: Double, second: Double, kernel: (Double) -> Double) {
            self.init(
                (0..<taps).map { kernel(Double($0 - taps / 2) - first) },
                (0..<taps).map { kernel(Double($0 - taps / 2 + 1) - second) })
        }

        /// Weights with 14 fractional bits and an exact sum. The largest weight gets the error of rounding.
        var fixed: [[Int16]] {
            phases.map { weights in
                let sum = weights.reduce(0, +)
                var rounded = weights.map { Int16(($0 / sum * 16384).rounded()) }
                let largest = rounded.indices.max { rounded[$0] < rounded[$1] }!
                rounded[largest] += 16384 - rounded.reduce(0, +)
                precondition(rounded[largest] < 32640, "weights are less than twice their sum")
                return rounded
            }
        }
    }

    /// - Precondition: both axes have the same number of taps.
    public init(horizontal: Axis, vertical: Axis) {
        let taps = horizontal.phases[0].count
        precondition(taps == vertical.phases[0].count, "both axes have the same number of taps")
        var filter = burnish_scale_filter()
        filter.taps = Int32(taps)
        let (h, v) = (horizontal.fixed, vertical.fixed)
        unsafe withUnsafeMutableBytes(of: &filter.horizontal) { bytes in
            let fields = unsafe bytes.bindMemory(to: Int16.self)
            for phase in 0..<2 { for k in 0..<taps { unsafe fields[phase * 10 + phase + k] = h[phase][k] } }
        }
        unsafe withUnsafeMutableBytes(of: &filter.vertical) { bytes in
            let fields = unsafe bytes.bindMemory(to: Int16.self)
            for phase in 0..<2 { for k in 0..<taps { unsafe fields[phase * 8 + k] = v[phase][k] } }
        }
        fixed = filter
    }
}

extension Kernels {
    /// The bytes of scratch, 64-byte aligned, that each thread needs to double a plane of this width.
    public static func doublingScratch(width: Int) -> Int { burnish_scale_scratch(Int32(width)) }

    /// Writes rows of the doubled plane, or a part of them. Samples outside of the plane are the nearest one at its
    /// edge. Several threads may do different parts at once, each with its own scratch.
    /// - Parameters:
    ///   - columns: input columns, whose doubles are written; nil for all.
    ///   - rows: output rows.
    /// - Precondition: `output` has twice the size of `input`, or one sample less (chroma of an odd size); `columns`
    ///   lie inside of the input, `rows` inside of the output.
    @unsafe public func double(
        _ input: PlaneView, into output: MutablePlaneView, columns: Range<Int>? = nil, rows: Range<Int>,
        filter: borrowing DoublingFilter, scratch: UnsafeMutableRawPointer
    ) {
        let columns = unsafe columns ?? 0..<input.width
        unsafe precondition((0...1).contains(2 * input.width - output.width))
        unsafe precondition((0...1).contains(2 * input.height - output.height))
        unsafe precondition(columns.lowerBound >= 0 && columns.upperBound <= input.width)
        unsafe precondition(rows.lowerBound >= 0 && rows.upperBound <= output.height)
        var fixed = filter.fixed
        var scale = table.scale
        unsafe burnish_scale_band(
            &scale, &fixed, output.base, output.stride, Int32(output.width), input.base, input.stride,
            Int32(input.width), Int32(input.height), Int32(columns.lowerBound), Int32(columns.upperBound),
            Int32(rows.lowerBound), Int32(rows.upperBound), scratch)
    }
}
