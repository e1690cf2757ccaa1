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
    private let scattered: UnsafeMutablePointer<Int16>
    private let bias: UnsafeMutablePointer<Int32>
    private let tiles: TileWeights?

    package init(_ layer: FusionFile.Layer) {
        let (shape, taps) = (layer.shape, layer.shape.taps)
        self.shape = shape
        shift = layer.shift
        // The kernels want the four pixels that a pixel becomes one after the other.
        let channels = shape.outputs / 4
        let sources = (0..<shape.outputs).map { shape.kernel == 1 ? $0 % channels * 4 + $0 / channels : $0 }
        let ordered = sources.flatMap { layer.weights[$0 * taps..<($0 + 1) * taps] }
        unsafe bias = .copy(sources.map { layer.bias[$0] })
        unsafe weights = .copy(ordered)
        unsafe packed = .copy(Self.packed(ordered, outputs: shape.outputs, places: 1, inputs: taps))
        unsafe scattered = .copy(Self.scattered(ordered, shape))
        tiles = TileWeights(layer)
    }

    /// Packs [outputs][places][inputs] for vectors: [chunks][places][inputs / 2][vectors][8 outputs][2 inputs].
    fileprivate static func packed(_ weights: [Int16], outputs: Int, places: Int, inputs: Int) -> [Int16] {
        var result: [Int16] = []
        result.reserveCapacity(weights.count)
        var output = 0
        while output < outputs {
            let lanes = 8 * Int(burnish_fusion_chunk(Int32((outputs - output) / 8)))
            for place in 0..<places {
                for input in stride(from: 0, to: inputs, by: 2) {
                    for lane in output..<output + lanes {
                        let at = (lane * places + place) * inputs + input
                        result += weights[at...at + 1]
                    }
                }
            }
            output += lanes
        }
        return result
    }

    /// Packs [outputs][kernel rows][kernel columns][inputs] by inputs, as `scattered` is described.
    private static func scattered(_ weights: [Int16], _ shape: FusionFile.Shape) -> [Int16] {
        let chunk = Int(BURNISH_FUSION_SCATTERED)
        var result: [Int16] = []
        result.reserveCapacity((shape.outputs + chunk - 1) / chunk * chunk * shape.taps)
        for first in stride(from: 0, to: shape.outputs, by: chunk) {
            let places = (0..<chunk).map { place -> Int? in
                let sixteen = first + place / 16 * 16
                guard sixteen + 8 == shape.outputs else { return sixteen + place % 16 }
                return place % 8 < 4 ? sixteen + place % 16 / 8 * 4 + place % 4 : nil
            }
            let outputs = places.map { $0.flatMap { $0 < shape.outputs ? $0 : nil } }
            for row in 0..<shape.kernel {
                for input in 0..<shape.inputs {
                    for column in 0..<shape.kernel {
                        let tap = (row * shape.kernel + column) * shape.inputs + input
                        result += outputs.map { $0.map { weights[$0 * shape.taps + tap] } ?? 0 }
                    }
                }
            }
        }
        return result
    }

    deinit {
        unsafe bias.deallocate()
        unsafe scattered.deallocate()
        unsafe packed.deallocate()
        unsafe weights.deallocate()
    }

    /// The C struct, which points into this object.
    @unsafe package var fixed: burnish_fusion_layer {
        unsafe burnish_fusion_layer(
            inputs: Int32(shape.inputs), outputs: Int32(shape.outputs), kernel: Int32(shape.kernel), step: Int32(shape.step),
            shift: Int32(shift), weights: UnsafePointer(weights), packed: UnsafePointer(packed), bias: UnsafePointer(bias),
            places: unsafe tiles.map { unsafe UnsafePointer($0.packed) }, scattered: UnsafePointer(scattered),
            most: Int32(tiles?.most ?? 0))
    }
}

/// A 3x3 layer's weights at the 4x4 places of tiles of 2x2 pixels, four times as large so that they are whole numbers:
/// minimal filtering, F(2x2, 3x3) of Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (2016). Immutable.
@safe private final class TileWeights {
    /// As ``PackedFusionLayer`` packs them.
    let packed: UnsafeMutablePointer<Int16>
    /// The largest magnitude of inputs for which four times a sum fits 32 bits, and the sum of four inputs 16.
    let most: Int

    private static let rows = [[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]]

    /// Nil where a layer has another shape, or weights that do not fit 16 bits.
    init?(_ layer: FusionFile.Layer) {
        let (shape, taps, inputs) = (layer.shape, layer.shape.taps, layer.shape.inputs)
        guard shape.kernel == 3, shape.step == 1 else { return nil }
        var most = Int(Int16.max) / 4
        var weights: [Int16] = []
        weights.reserveCapacity(shape.outputs * 16 * inputs)
        for output in 0..<shape.outputs {
            let own = layer.weights[output * taps..<(output + 1) * taps].map { Int($0) }
            let sum = own.reduce(0) { $0 + abs($1) }
            most = min(most, ((1 << 29) - 1 - Int(layer.bias[output].magnitude)) / max(sum, 1))
            for place in 0..<16 {
                let (down, across) = (Self.rows[place / 4], Self.rows[place % 4])
                for input in 0..<inputs {
                    var weight = 0
                    for tap in 0..<9 { weight += down[tap / 3] * across[tap % 3] * own[tap * inputs + input] }
                    guard let weight = Int16(exactly: weight) else { return nil }
                    weights.append(weight)
                }
            }
        }
        guard most > 0 else { return nil }
        self.most = most
        unsafe packed = .copy(PackedFusionLayer.packed(weights, outputs: shape.outputs, places: 16, inputs: inputs))
    }

    deinit { unsafe packed.deallocate() }
}

extension UnsafeMutablePointer {
    /// Memory of its own with the same elements.
    fileprivate static func copy(_ elements: [Pointee]) -> UnsafeMutablePointer {
        let memory = UnsafeMutablePointer.allocate(capacity: elements.count)
        for (index, element) in elements.enumerated() { unsafe (memory + index).initialize(to: element) }
        return unsafe memory
    }
}
