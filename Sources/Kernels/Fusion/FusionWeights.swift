import CKernels

/// The weights of the network that fuses predictions, in the kernels' layout. Threads may share it.
///
/// `@unchecked Sendable` is safe because nothing changes after `init`: the pointers in `fixed` are only read through.
@safe public final class FusionWeights: @unchecked Sendable {
    /// Multiplications for one sample of the picture.
    public let multiplicationsPerSample: Int
    /// Channels at half and at a quarter of the picture's size.
    let channels: (half: Int, quarter: Int)
    private let layers: [PackedFusionLayer]
    /// It points into `layers`.
    @unsafe let fixed: UnsafeMutablePointer<burnish_fusion_network>

    /// Reads a weights file.
    public init(_ bytes: [UInt8]) throws(NetworkFileError) {
        let file = try FusionFile(bytes)
        channels = (file.channels, file.layers[1].shape.outputs)
        let parts = file.layers.enumerated().map { index, layer in
            // The first layer, those between and the last run at half of the size, the others at a quarter.
            layer.weights.count * ([0, 6, 7, 8].contains(index) ? 4 : 1)
        }
        multiplicationsPerSample = parts.reduce(0, +) / 16
        let layers = file.layers.map { PackedFusionLayer($0) }
        self.layers = layers
        unsafe fixed = .allocate(capacity: 1)
        unsafe fixed.initialize(
            to: burnish_fusion_network(
                first: layers[0].fixed, down: layers[1].fixed, inner: (layers[2].fixed, layers[3].fixed, layers[4].fixed),
                up: layers[5].fixed, middle: (layers[6].fixed, layers[7].fixed), last: layers[8].fixed))
    }

    deinit { unsafe fixed.deallocate() }
}

/// A layer's weights in the layout that the kernels read (CKernels/include/fusion.h). Immutable.
@safe package final class PackedFusionLayer {
    private let shape: FusionFile.Shape
    private let shift: Int
    private let weights: UnsafeMutablePointer<Int16>
    private let packed: UnsafeMutablePointer<Int16>
    private let bias: UnsafeMutablePointer<Int32>

    package init(_ layer: FusionFile.Layer) {
        let (shape, taps) = (layer.shape, layer.shape.taps)
        self.shape = shape
        shift = layer.shift
        unsafe weights = .allocate(capacity: shape.outputs * taps)
        unsafe packed = .allocate(capacity: shape.outputs * taps)
        unsafe bias = .allocate(capacity: shape.outputs)
        for output in 0..<shape.outputs {
            // The kernels want the four pixels that a pixel becomes one after the other.
            let channels = shape.outputs / 4
            let source = shape.kernel == 1 ? output % channels * 4 + output / channels : output
            unsafe bias[output] = layer.bias[source]
            for tap in 0..<taps { unsafe weights[output * taps + tap] = layer.weights[source * taps + tap] }
        }
        var next = unsafe packed
        var output = 0
        while output < shape.outputs {
            let vectors = Int(burnish_fusion_chunk(Int32((shape.outputs - output) / 8)))
            for tap in stride(from: 0, to: taps, by: 2) {
                for lane in 0..<8 * vectors {
                    unsafe next[0] = unsafe weights[(output + lane) * taps + tap]
                    unsafe next[1] = unsafe weights[(output + lane) * taps + tap + 1]
                    unsafe next += 2
                }
            }
            output += 8 * vectors
        }
    }

    deinit {
        unsafe bias.deallocate()
        unsafe packed.deallocate()
        unsafe weights.deallocate()
    }

    /// The C struct, which points into this object.
    @unsafe package var fixed: burnish_fusion_layer {
        unsafe burnish_fusion_layer(
            inputs: Int32(shape.inputs), outputs: Int32(shape.outputs), kernel: Int32(shape.kernel), step: Int32(shape.step),
            shift: Int32(shift), weights: UnsafePointer(weights), packed: UnsafePointer(packed), bias: UnsafePointer(bias))
    }
}
