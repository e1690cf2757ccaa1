import CKernels
import Media

/// A picture on its way through the fusion network: steps, one after the other, each of which can be cut by rows.
@unsafe public struct Fusion {
    private var raw: burnish_fusion
    private let kernels: Kernels
    private let weights: FusionWeights

    /// - Parameters:
    ///   - made: the picture that is there without the network. This plane and the predictions have
    ///     ``Kernels/motionMargin`` samples around them.
    ///   - output: a plane of the same size. Nothing else is written there.
    ///   - activations: ``FusionWeights/activationBytes(size:)`` bytes, 64-byte aligned, zeroed once.
    ///   - blocks: ``blockBytes(size:)`` bytes to keep where nothing moves as it is in `output`. Nil: the network computes all.
    public init(
        _ kernels: Kernels, _ weights: FusionWeights, made: PlaneView, output: MutablePlaneView,
        activations: UnsafeMutableRawPointer, blocks: UnsafeMutableRawPointer? = nil
    ) {
        unsafe precondition(made.width == output.width && made.height == output.height)
        unsafe self.kernels = kernels
        unsafe self.weights = weights
        unsafe raw = burnish_fusion()
        unsafe raw.pictures.made = made.motion
        unsafe raw.out = output.base
        unsafe raw.out_stride = output.stride
        unsafe raw.width = Int32(output.width)
        unsafe raw.height = Int32(output.height)
        if let blocks = unsafe blocks?.assumingMemoryBound(to: UInt8.self) {
            unsafe raw.moving = blocks
            unsafe raw.distance = blocks + Self.blockBytes(size: PictureSize(width: made.width, height: made.height)) / 2
        }
        let layout = unsafe FusionLayout(weights, size: PictureSize(width: made.width, height: made.height))
        unsafe raw.half = unsafe (layout.half(activations, 0), layout.half(activations, 1))
        unsafe raw.quarter = unsafe (layout.quarter(activations, 0), layout.quarter(activations, 1))
    }

    /// Sets one of the ``FusionWeights/predictionCount`` predictions. All must be set before the first step.
    public mutating func setPrediction(_ index: Int, _ plane: PlaneView) {
        unsafe precondition(plane.width == Int(raw.width) && plane.height == Int(raw.height))
        unsafe withUnsafeMutableBytes(of: &raw.pictures.prediction) {
            unsafe $0.bindMemory(to: burnish_motion_plane.self)[index] = unsafe plane.motion
        }
    }

    /// Rows of a step.
    public func rows(step: Int) -> Int {
        unsafe withUnsafePointer(to: raw) { unsafe Int(burnish_fusion_rows($0, Int32(step))) }
    }

    /// Does some rows of a step. Rows do not depend on each other. All rows of the step before must be done.
    public func perform(step: Int, rows: Range<Int>, scratch: UnsafeMutableRawPointer) {
        unsafe withUnsafePointer(to: kernels.table.fusion) { kernels in
            var fusion = unsafe raw
            unsafe fusion.kernels = unsafe kernels
            unsafe fusion.network = unsafe UnsafePointer(weights.fixed)
            unsafe burnish_fusion_run(&fusion, Int32(step), Int32(rows.lowerBound), Int32(rows.upperBound), scratch)
        }
    }

    /// Bytes of memory for blocks.
    public static func blockBytes(size: PictureSize) -> Int { unsafe 2 * blocks(size.width) * blocks(size.height) }
    private static func blocks(_ samples: Int) -> Int {
        (samples + Int(BURNISH_FUSION_BLOCK) - 1) / Int(BURNISH_FUSION_BLOCK)
    }
    /// Rows of blocks for ``findMotion(phase:rows:)`` and ``findReach(rows:)``.
    public var blockRows: Int { unsafe Self.blocks(unsafe Int(raw.height)) }

    /// What the network reads of the predictions, once all rows of ``findReach(rows:)`` are done; nil: everything.
    public var needed: NeededBlocks? {
        guard let distance = unsafe raw.distance else { return nil }
        return unsafe NeededBlocks(
            numbers: distance, columns: Self.blocks(Int(raw.width)), most: Int(BURNISH_FUSION_FAR) - 1)
    }

    /// Finds in which blocks something moves. The first two predictions must be set. It comes before the first step, for all
    /// rows, and then ``findReach(rows:)``. Both need the memory for blocks.
    /// - Parameter phase: where the picture is between the pair, in 1/256.
    public func findMotion(phase: Int, rows: Range<Int>) {
        unsafe withUnsafePointer(to: raw) {
            unsafe burnish_fusion_look($0, Int32(phase), Int32(rows.lowerBound), Int32(rows.upperBound))
        }
    }

    /// Finds which blocks the network must compute so that those in which something moves get their samples.
    public func findReach(rows: Range<Int>) {
        unsafe withUnsafePointer(to: raw) {
            unsafe burnish_fusion_reach($0, Int32(rows.lowerBound), Int32(rows.upperBound))
        }
    }
}

extension FusionWeights {
    /// Predictions beside the picture that is there without the network.
    public static var predictionCount: Int { Int(BURNISH_FUSION_PICTURES) }
    /// Steps of ``Fusion``.
    public static var stepCount: Int { Int(BURNISH_FUSION_STEPS) }

    /// Bytes of memory that a picture needs on its way.
    public func activationBytes(size: PictureSize) -> Int { FusionLayout(self, size: size).bytes }

    /// Bytes of scratch memory that one thread needs, 64-byte aligned.
    public func scratchBytes(size: PictureSize) -> Int {
        let layout = FusionLayout(self, size: size)
        var raw = unsafe burnish_fusion()
        unsafe raw.network = UnsafePointer(fixed)
        unsafe raw.half.0.width = Int32(layout.halfSize.width)
        unsafe raw.quarter.0.width = Int32(layout.quarterSize.width)
        return unsafe (burnish_fusion_scratch(&raw) + 63) & ~63
    }
}

/// Where activations lie.
private struct FusionLayout {
    let halfSize: PictureSize
    let quarterSize: PictureSize
    private let channels: (half: Int, quarter: Int)

    init(_ weights: FusionWeights, size: PictureSize) {
        channels = weights.channels
        quarterSize = PictureSize(width: (size.width + 3) / 4, height: (size.height + 3) / 4)
        halfSize = quarterSize.scaled(by: 2)
    }

    /// Numbers in a row.
    private static func stride(_ width: Int, _ channels: Int) -> Int {
        (channels * (width + 1 + Int(BURNISH_FUSION_MARGIN)) + 31) & ~31
    }
    private static func bytes(_ size: PictureSize, _ channels: Int) -> Int {
        stride(size.width, channels) * (size.height + 2) * MemoryLayout<Int16>.stride
    }
    private var halfBytes: Int { Self.bytes(halfSize, channels.half) }
    private var quarterBytes: Int { Self.bytes(quarterSize, channels.quarter) }
    var bytes: Int { 2 * (halfBytes + quarterBytes) }

    @unsafe private static func plane(
        _ memory: UnsafeMutableRawPointer, _ size: PictureSize, _ channels: Int
    ) -> burnish_fusion_plane {
        let stride = stride(size.width, channels)
        return unsafe burnish_fusion_plane(
            rows: memory.assumingMemoryBound(to: Int16.self) + stride, stride: stride, width: Int32(size.width),
            height: Int32(size.height), channels: Int32(channels))
    }
    @unsafe func half(_ memory: UnsafeMutableRawPointer, _ index: Int) -> burnish_fusion_plane {
        unsafe Self.plane(memory + index * halfBytes, halfSize, channels.half)
    }
    @unsafe func quarter(_ memory: UnsafeMutableRawPointer, _ index: Int) -> burnish_fusion_plane {
        unsafe Self.plane(memory + 2 * halfBytes + index * quarterBytes, quarterSize, channels.quarter)
    }
}
