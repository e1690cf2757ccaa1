import CKernels

/// The contents of the fusion network's file (.bnf; tools/train/README.md states the format), checked.
package struct FusionFile {
    package struct Layer {
        var shape: Shape
        var shift: Int
        /// [output][ky][kx][input].
        var weights: [Int16]
        /// [output].
        var bias: [Int32]

        package init(shape: Shape, shift: Int, weights: [Int16], bias: [Int32]) {
            self.shape = shape
            self.shift = shift
            self.weights = weights
            self.bias = bias
        }
    }

    package struct Shape {
        package let name: String
        package let inputs: Int
        package let outputs: Int
        package let kernel: Int
        /// Pixels of the input from one of the output to the next.
        package let step: Int
        /// The largest magnitude of an input.
        package let most: Int

        package init(name: String, inputs: Int, outputs: Int, kernel: Int = 3, step: Int = 1, most: Int = 32768) {
            self.name = name
            self.inputs = inputs
            self.outputs = outputs
            self.kernel = kernel
            self.step = step
            self.most = most
        }

        /// Weights of an output.
        package var taps: Int { kernel * kernel * inputs }
    }

    /// In the file's order: first, down, three inner ones, up, two middle ones, last.
    package let layers: [Layer]
    /// Channels at half of the picture's size.
    package var channels: Int { layers[0].shape.outputs }

    static let version = 1
    private static let channelRange = 8...64

    package init(_ bytes: [UInt8]) throws(NetworkFileError) {
        var reader = try WeightsReader(bytes, letters: "BNF1", version: Self.version, leastSize: 20)
        let half = try reader.number("channel count at half size", in: Self.channelRange)
        let quarter = try reader.number("channel count at a quarter", in: Self.channelRange)
        guard half % 8 == 0, quarter % 8 == 0 else {
            throw NetworkFileError("the weights' channel counts are \(half) and \(quarter), not multiples of 8")
        }
        var layers: [Layer] = []
        for shape in Self.shapes(half: half, quarter: quarter) { layers.append(try reader.layer(shape)) }
        try reader.finish()
        self.layers = layers
    }

    private static func shapes(half: Int, quarter: Int) -> [Shape] {
        // Features are differences of bytes, in 1/16.
        [
            Shape(name: "first", inputs: Int(BURNISH_FUSION_FEATURES), outputs: half, most: 4081),
            Shape(name: "down", inputs: half, outputs: quarter, step: 2),
        ]
            + ["inner0", "inner1", "inner2"].map { Shape(name: $0, inputs: quarter, outputs: quarter) }
            + [Shape(name: "up", inputs: quarter, outputs: 4 * half, kernel: 1)]
            + ["mid0", "mid1"].map { Shape(name: $0, inputs: half, outputs: half) }
            + [Shape(name: "last", inputs: half, outputs: Int(BURNISH_FUSION_CHOICES))]
    }
}

extension WeightsReader {
    fileprivate mutating func layer(_ shape: FusionFile.Shape) throws(NetworkFileError) -> FusionFile.Layer {
        _ = try number("\(shape.name) input count", in: shape.inputs...shape.inputs)
        _ = try number("\(shape.name) output count", in: shape.outputs...shape.outputs)
        _ = try number("\(shape.name) kernel size", in: shape.kernel...shape.kernel)
        let shift = try number("\(shape.name) shift", in: 0...30)
        let weights = try shortNumbers("\(shape.name) weights", shape.outputs * shape.taps)
        let bias = try longNumbers("\(shape.name) bias", shape.outputs)
        for output in 0..<shape.outputs {
            let sum = weights[output * shape.taps..<(output + 1) * shape.taps].reduce(0) { $0 + Int($1.magnitude) }
            guard sum * shape.most + Int(bias[output].magnitude) < 1 << 31 else {
                throw NetworkFileError("\(shape.name) has weights so large that sums could leave 32 bits")
            }
        }
        return FusionFile.Layer(shape: shape, shift: shift, weights: weights, bias: bias)
    }
}
