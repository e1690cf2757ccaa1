/// The contents of a weights file (.bnw; tools/train/README.md states the format), checked.
package struct NetworkFile {
    package struct Layer {
        var inputs: Int
        var outputs: Int
        var shift: Int
        /// [output][ky][kx][input], −64…63.
        var weights: [Int8]
        /// [bucket][output].
        var bias: [Int32]
        /// [bucket][output], 1…32767.
        var multipliers: [Int16]

        package init(
            inputs: Int, outputs: Int, shift: Int, weights: [Int8], bias: [Int32], multipliers: [Int16]
        ) {
            self.inputs = inputs
            self.outputs = outputs
            self.shift = shift
            self.weights = weights
            self.bias = bias
            self.multipliers = multipliers
        }

        func weight(_ output: Int, _ ky: Int, _ kx: Int, _ input: Int) -> Int8 {
            weights[((output * 3 + ky) * 3 + kx) * inputs + input]
        }
    }

    /// 2 where the network doubles, 1 where it restores.
    let scale: Int
    /// Upper edges of the quantiser's buckets.
    let edges: [UInt8]
    let layers: [Layer]

    static let version = 1

    init(_ bytes: [UInt8]) throws(NetworkFileError) {
        var reader = try WeightsReader(bytes, letters: "BNW1", version: Self.version, leastSize: 24)
        let scale = try reader.number("scale", in: 1...2)
        self.scale = scale
        let layerCount = try reader.number("layer count", in: 2...16)
        let buckets = try reader.number("bucket count", in: 1...255)
        edges = try reader.bytes("edges", buckets).map { $0 }
        guard edges.last == 255, zip(edges, edges.dropFirst()).allSatisfy({ $0 < $1 }) else {
            throw NetworkFileError("the edges of the quantiser's buckets do not increase up to 255")
        }
        var layers: [Layer] = []
        for index in 0..<layerCount {
            layers.append(
                try reader.layer(
                    index, inputs: layers.last?.outputs ?? (scale == 1 ? 4 : 1), buckets: buckets,
                    outputs: index == layerCount - 1 ? 4 : nil))
        }
        try reader.finish()
        self.layers = layers
    }
}

extension WeightsReader {
    fileprivate mutating func layer(
        _ index: Int, inputs: Int, buckets: Int, outputs: Int?
    ) throws(NetworkFileError) -> NetworkFile.Layer {
        let place = "layer \(index)"
        _ = try number("\(place) input count", in: inputs...inputs)
        let outputs = try number("\(place) output count", in: outputs.map { $0...$0 } ?? 1...64)
        _ = try number("\(place) kernel size", in: 3...3)
        let shift = try number("\(place) shift", in: 0...15)
        let weights = try bytes("\(place) weights", outputs * 9 * inputs).map { Int8(bitPattern: $0) }
        let bias = try longNumbers("\(place) bias", buckets * outputs)
        let multipliers = try shortNumbers("\(place) multipliers", buckets * outputs)
        guard weights.allSatisfy({ (-64...63).contains($0) }), bias.allSatisfy({ $0.magnitude <= 1 << 24 }),
            multipliers.allSatisfy({ $0 > 0 })
        else { throw NetworkFileError("\(place) has weights, biases or multipliers out of range") }
        return NetworkFile.Layer(
            inputs: inputs, outputs: outputs, shift: shift, weights: weights, bias: bias, multipliers: multipliers)
    }
}
