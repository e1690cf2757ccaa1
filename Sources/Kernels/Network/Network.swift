import CKernels
import Media

/// A convolutional network that doubles a luma plane, or restores it at its size, in the kernels' layout. Threads may
/// share it.
///
/// `@unchecked Sendable` is safe because nothing changes after `init`: the pointers in `fixed` are only read through.
@safe public final class Network: @unchecked Sendable {
    public let layerCount: Int
    /// 2 where the network doubles, 1 where it restores.
    public let scale: Int
    /// Multiplications for one position, without those of padding. A position is an input sample; of a network that
    /// restores it is 2x2 of them. Each gives 2x2 output samples.
    public let multiplicationsPerPosition: Int
    /// Multiplications for one input sample.
    public var multiplicationsPerSample: Int { scale == 1 ? multiplicationsPerPosition / 4 : multiplicationsPerPosition }
    /// The upper edges of the quantiser's buckets, in H.264's scale. The first bucket is for input that was never
    /// coded.
    public let edges: [UInt8]
    /// How many positions around it an output depends on.
    public var radius: Int { layerCount }

    /// Whether the layers between the first and the last have a shape that the kernels for matrix units take.
    let suitsTiles: Bool

    private let layers: [PackedLayer]
    /// One network for each bucket. They point into `layers`.
    private let fixed: [burnish_network]

    /// Reads a weights file.
    public init(_ bytes: [UInt8]) throws(NetworkFileError) {
        let file = try NetworkFile(bytes)
        layerCount = file.layers.count
        edges = file.edges
        let scale = file.scale
        self.scale = scale
        multiplicationsPerPosition = file.layers.reduce(0) { $0 + $1.weights.count }
        let inner = file.layers.dropFirst().dropLast()
        let suitsTiles = Self.suitsTiles(inner)
        self.suitsTiles = suitsTiles
        let layers = file.layers.enumerated().map {
            PackedLayer(
                $1, hasOneInput: $0 == 0 && scale == 2, hasTiles: suitsTiles && inner.indices.contains($0),
                buckets: file.edges.count)
        }
        self.layers = layers
        fixed = file.edges.indices.map { bucket in
            var network = burnish_network()
            network.restores = scale == 1
            network.layer_count = Int32(layers.count)
            unsafe withUnsafeMutableBytes(of: &network.layers) { bytes in
                let fields = unsafe bytes.bindMemory(to: burnish_network_layer.self)
                for (i, layer) in layers.enumerated() { unsafe fields[i] = layer.fixed(bucket: bucket) }
            }
            return network
        }
    }

    private static func suitsTiles(_ inner: some Collection<NetworkFile.Layer>) -> Bool {
        guard let first = inner.first else { return false }
        return inner.allSatisfy { $0.inputs == first.inputs && TileDivision.suits(inputs: $0.inputs, outputs: $0.outputs) }
    }

    /// The bucket of a frame with this mean quantiser. Nil (never coded, or not known) is the first one.
    public func bucket(quantiser: Int?) -> Int {
        guard let quantiser, quantiser > 0 else { return 0 }
        return edges.firstIndex { Int($0) >= quantiser } ?? edges.count - 1
    }

    /// Bytes of scratch, 64-byte aligned, for strips of at most this many columns.
    public func scratchSize(width: Int) -> Int {
        unsafe withFixed(0) { unsafe burnish_network_scratch($0, Int32(width)) }
    }

    @unsafe func withFixed<Result>(_ bucket: Int, _ body: (UnsafePointer<burnish_network>) -> Result) -> Result {
        unsafe fixed.withUnsafeBufferPointer { unsafe body($0.baseAddress! + bucket) }
    }
}

/// Which way a strip is computed.
public enum StripDirection: Sendable, BitwiseCopyable {
    case down
    case up
}

extension Kernels {
    /// Begins to run a network over columns of a picture, downward or upward from one row on.
    /// ``NetworkStrip/advance(by:)`` goes on.
    /// - Parameters:
    ///   - input: of even sides where the network restores.
    ///   - output: twice the size of `input`, or the same size where the network restores.
    ///   - copy: a plane of `output`'s size where every row is written too.
    ///   - columns: inside of the input, in positions as `firstRow` too.
    ///   - firstRow: the row to begin with: the top one on the way down, the bottom one on the way up.
    ///   - scratch: ``Network/scratchSize(width:)`` bytes, which no other strip may use until this one is done.
    @unsafe public func strip(
        _ network: Network, bucket: Int, _ input: PlaneView, into output: MutablePlaneView,
        copy: MutablePlaneView? = nil, columns: Range<Int>, firstRow: Int, direction: StripDirection = .down,
        scratch: UnsafeMutableRawPointer
    ) -> NetworkStrip {
        // Rows of samples in a row of positions.
        let side = 2 / network.scale
        let (width, height) = unsafe (input.width / side, input.height / side)
        unsafe precondition(input.width == side * width && input.height == side * height)
        unsafe precondition(output.width == 2 * width && output.height == 2 * height)
        precondition(columns.lowerBound >= 0 && !columns.isEmpty && columns.upperBound <= width)
        precondition((0..<height).contains(firstRow))
        let isUp = direction == .up
        var strip = unsafe burnish_network_strip()
        unsafe strip.upward = isUp
        unsafe strip.in = unsafe isUp ? input.base + (height - 1) * side * input.stride : input.base
        unsafe strip.in_stride = unsafe isUp ? -side * input.stride : side * input.stride
        unsafe strip.in_lower = unsafe input.stride
        unsafe strip.picture_width = Int32(width)
        unsafe strip.picture_height = Int32(height)
        unsafe strip.out = unsafe isUp ? output.row(output.height - 1) : output.base
        unsafe strip.out_stride = unsafe isUp ? -output.stride : output.stride
        if let copy = unsafe copy {
            unsafe precondition(copy.width == output.width && copy.height == output.height)
            unsafe strip.copy = unsafe isUp ? copy.row(copy.height - 1) : copy.base
            unsafe strip.copy_stride = unsafe isUp ? -copy.stride : copy.stride
        }
        unsafe strip.x = Int32(columns.lowerBound)
        unsafe strip.y = Int32(isUp ? height - 1 - firstRow : firstRow)
        unsafe strip.width = Int32(columns.count)
        unsafe strip.scratch = unsafe scratch.assumingMemoryBound(to: UInt8.self)
        let kernels = network.suitsTiles ? table.tiled_network : table.network
        return unsafe NetworkStrip(strip: strip, kernels: kernels, network: network, bucket: bucket)
    }
}

/// A part of a picture on its way through a network. Only three rows of each layer exist at a time, so that they stay
/// in the core's cache. No row is computed twice.
@unsafe public struct NetworkStrip {
    private var strip: burnish_network_strip
    private var kernels: burnish_network_kernels
    private let network: Network
    private let bucket: Int
    /// The next row, counted from the bottom where the strip goes up.
    private var next: Int32

    fileprivate init(
        strip: burnish_network_strip, kernels: burnish_network_kernels, network: Network, bucket: Int
    ) {
        unsafe self.strip = unsafe strip
        unsafe self.kernels = kernels
        unsafe self.network = network
        unsafe self.bucket = bucket
        unsafe next = strip.y
        unsafe call { unsafe burnish_network_begin($0) }
    }

    /// Computes the next rows of positions, each of which gives two output rows. They must lie inside of the input.
    public mutating func advance(by rows: Int) {
        unsafe next += Int32(rows)
        let end = unsafe next
        unsafe precondition(end <= strip.picture_height)
        unsafe call { unsafe burnish_network_advance($0, end) }
    }

    private mutating func call(_ body: (UnsafeMutablePointer<burnish_network_strip>) -> Void) {
        unsafe withUnsafePointer(to: kernels) { kernels in
            unsafe network.withFixed(bucket) { fixed in
                unsafe strip.kernels = unsafe kernels
                unsafe strip.network = unsafe fixed
                unsafe body(&strip)
            }
        }
    }
}
