import CKernelChecks

/// A network before it was quantised, computed in floating point without SIMD. The integer networks are compared with
/// it.
public struct FloatNetwork: Sendable {
    /// The number of channels of the input (1), then of each layer's output. The last is 4.
    private let widths: [Int]
    /// For each layer [output][3][3][input].
    private let weights: [[Float]]
    private let biases: [[Float]]

    /// - Parameters:
    ///   - widths: for example `[1, 8, 8, 8, 8, 4]`.
    ///   - parameters: layer by layer the weights, [output][ky][kx][input], then the biases, for luma 0…255 in and
    ///     residuals in grey levels out.
    /// - Returns: nil when the number of parameters does not fit the widths.
    public init?(widths: [Int], parameters: [Float]) {
        var at = 0
        var weights: [[Float]] = []
        var biases: [[Float]] = []
        for (inputs, outputs) in zip(widths, widths.dropFirst()) {
            let count = 9 * inputs * outputs
            guard at + count + outputs <= parameters.count else { return nil }
            weights.append(Array(parameters[at..<at + count]))
            biases.append(Array(parameters[at + count..<at + count + outputs]))
            at += count + outputs
        }
        guard at == parameters.count, widths.last == 4 else { return nil }
        self.widths = widths
        self.weights = weights
        self.biases = biases
    }

    /// Doubles a luma plane.
    /// - Parameter luma: `width` times `height` samples, row by row.
    /// - Returns: four times as many, neither rounded nor clamped.
    public func double(_ luma: [UInt8], width: Int, height: Int) -> [Float] {
        precondition(luma.count == width * height && width > 0 && height > 0)
        let layers = weights.count
        var doubled = Self.catmullRom(luma, width, height)
        var (w, h) = (width + 2 * layers, height + 2 * layers)
        var plane = (0..<w * h).map {
            Float(luma[clamped($0 / w - layers, height) * width + clamped($0 % w - layers, width)])
        }
        for layer in 0..<layers {
            (w, h) = (w - 2, h - 2)
            var next = [Float](repeating: 0, count: w * h * widths[layer + 1])
            unsafe burnish_network_float_layer(
                &next, plane, Int32(w), Int32(h), Int32(widths[layer]), Int32(widths[layer + 1]), weights[layer],
                biases[layer], layer + 1 < layers ? 1 : 0)
            plane = next
        }
        for y in 0..<2 * height {
            for x in 0..<2 * width {
                doubled[y * 2 * width + x] += plane[(y / 2 * width + x / 2) * 4 + y % 2 * 2 + x % 2]
            }
        }
        return doubled
    }

    /// The picture that the network's residual is added to.
    private static func catmullRom(_ luma: [UInt8], _ width: Int, _ height: Int) -> [Float] {
        let taps: [[Float]] = [[-3, 29, 111, -9], [-9, 111, 29, -3]]
        func sum(_ position: Int, _ count: Int, _ sample: (Int) -> Float) -> Float {
            let first = position / 2 - 2 + position % 2
            return (0..<4).reduce(0) { $0 + taps[position % 2][$1] / 128 * sample(clamped(first + $1, count)) }
        }
        let wide = (0..<height * 2 * width).map { at in
            sum(at % (2 * width), width) { Float(luma[at / (2 * width) * width + $0]) }
        }
        return (0..<4 * width * height).map { at in
            sum(at / (2 * width), height) { wide[$0 * 2 * width + at % (2 * width)] }
        }
    }
}

private func clamped(_ position: Int, _ count: Int) -> Int { min(max(position, 0), count - 1) }
