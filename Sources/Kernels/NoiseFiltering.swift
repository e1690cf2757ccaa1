import CKernels
import Media

/// What is known of the noise of a plane.
public struct NoiseModel: Sendable {
    fileprivate var raw = burnish_noise_model()

    /// - Parameter deviation: the standard deviation, in levels.
    public init(deviation: Double) { unsafe burnish_noise_make_model(&raw, Float(deviation)) }
}

/// A filtered plane that somebody else owns: samples in 1/16 level less 2048 with ``Kernels/noiseMargin`` samples around them, and
/// how uncertain each block of them is.
@unsafe public struct FilteredPlane {
    public let base: UnsafeMutablePointer<Int16>
    public let stride: Int
    public let width: Int
    public let height: Int
    /// ``Kernels/noiseBands`` numbers for each block.
    public let variance: UnsafeMutablePointer<UInt16>

    @inlinable public init(
        base: UnsafeMutablePointer<Int16>, stride: Int, width: Int, height: Int, variance: UnsafeMutablePointer<UInt16>
    ) {
        unsafe self.base = base
        unsafe self.stride = stride
        unsafe self.width = width
        unsafe self.height = height
        unsafe self.variance = unsafe variance
    }

    fileprivate var raw: burnish_noise_plane {
        unsafe burnish_noise_plane(
            origin: base, stride: stride, width: Int32(width), height: Int32(height), variance: variance,
            count: Int32(Kernels.noiseBlocks(width: width)), rows: Int32(Kernels.noiseBlockRows(height: height)))
    }
}

/// A filtered plane of another moment, and how to get there.
@unsafe public struct NoiseReference {
    public let plane: FilteredPlane
    /// From the noisy picture to this one, in 1/64 sample of luma halved `level` times.
    public let motion: MotionVectors
    public let level: Int
    /// 1 for a chroma plane, which has half of luma's size.
    public let chromaShift: Int

    @inlinable public init(_ plane: FilteredPlane, motion: MotionVectors, level: Int, chromaShift: Int) {
        unsafe self.plane = unsafe plane
        unsafe self.motion = unsafe motion
        unsafe self.level = level
        unsafe self.chromaShift = chromaShift
    }

    fileprivate var field: burnish_noise_motion {
        unsafe burnish_noise_motion(
            vectors: motion.raw, columns: Int32(motion.columns), rows: Int32(motion.rows),
            cell: Int32((Kernels.motionStep << level) >> chromaShift), shift: Int32(2 - level + chromaShift))
    }
}

/// The planes of one call of ``Kernels/filterNoise(_:rows:begins:)``.
@unsafe public struct NoiseFilterPlanes {
    /// The noisy plane, with ``Kernels/motionMargin`` samples around it.
    public var now: PlaneView
    /// Pictures of other moments: at most two.
    public var first: NoiseReference?
    public var second: NoiseReference?
    public var filtered: FilteredPlane
    /// What to show, with 8 samples of room around it.
    public var shown: MutablePlaneView
    /// ``Kernels/noiseScratch(width:)`` bytes.
    public var scratch: UnsafeMutableRawPointer

    public init(
        now: PlaneView, first: NoiseReference?, second: NoiseReference?, filtered: FilteredPlane, shown: MutablePlaneView,
        scratch: UnsafeMutableRawPointer
    ) {
        unsafe self.now = unsafe now
        unsafe self.first = unsafe first
        unsafe self.second = unsafe second
        unsafe self.filtered = unsafe filtered
        unsafe self.shown = unsafe shown
        unsafe self.scratch = unsafe scratch
    }
}

/// The planes of one call of ``Kernels/holdNoise(_:same:other:rows:)``, all of one size.
@unsafe public struct NoiseHoldingPlanes {
    /// The plane as it came, now and last.
    public var now: PlaneView
    public var before: PlaneView
    /// What the filter makes of it now.
    public var shown: PlaneView
    /// What was given out last. In the end: what is given out now.
    public var given: MutablePlaneView
    public var output: MutablePlaneView

    public init(
        now: PlaneView, before: PlaneView, shown: PlaneView, given: MutablePlaneView, output: MutablePlaneView
    ) {
        unsafe self.now = unsafe now
        unsafe self.before = unsafe before
        unsafe self.shown = unsafe shown
        unsafe self.given = unsafe given
        unsafe self.output = unsafe output
    }
}

/// How far a block that is given out may be from what the filter makes of it.
public struct NoiseDistance: Sendable, BitwiseCopyable {
    /// In levels: any sample.
    public var sample: Int
    /// In quarters of a level: the mean of the block.
    public var mean: Int

    public init(sample: Int, mean: Int) { (self.sample, self.mean) = (sample, mean) }

    fileprivate var raw: burnish_noise_distance { burnish_noise_distance(sample: Int32(sample), mean: Int32(mean)) }
}

/// Sums over one square of a plane.
public struct NoiseSums: Sendable, BitwiseCopyable {
    /// Squares of what the operator 1 -2 1, across and down, gives in this picture.
    public var detail: UInt32 = 0
    /// Squares of the difference from what it gives in the picture before.
    public var change: UInt32 = 0
    /// Samples.
    public var level: UInt32 = 0

    public init() {}

    /// The samples of a square.
    public static let samples = Int(BURNISH_NOISE_SQUARE * BURNISH_NOISE_SQUARE)
    /// What the operator makes of a variance of 1.
    public static let gain = 36
}

extension Kernels {
    /// Samples around a filtered plane on all four sides. They repeat the nearest sample of the plane.
    public static var noiseMargin: Int { Int(BURNISH_NOISE_MARGIN) }
    public static var noiseBands: Int { Int(BURNISH_NOISE_BANDS) }
    /// The samples in a row of one square of ``measureNoise(_:_:before:first:)``.
    public static var noiseSquare: Int { Int(BURNISH_NOISE_SQUARE) }

    /// Blocks in a row of blocks: every sample lies in four, and the number is even.
    public static func noiseBlocks(width: Int) -> Int { ((width + noiseStep - 1) / noiseStep + 2) & ~1 }
    /// Rows of blocks.
    public static func noiseBlockRows(height: Int) -> Int { (height + noiseStep - 1) / noiseStep + 1 }
    private static var noiseStep: Int { Int(BURNISH_NOISE_STEP) }

    /// The bytes of scratch memory that filtering a plane needs.
    public static func noiseScratch(width: Int) -> Int { noiseBlocks(width: width) * (placeBytes + carryBytes) }
    /// For each block.
    private static var placeBytes: Int { unsafe Int(BURNISH_NOISE_REFERENCES) * MemoryLayout<burnish_noise_place>.stride }
    private static var carryBytes: Int { 2 * noiseStep * noiseStep * MemoryLayout<Int16>.stride }

    /// Filters some rows of blocks of a plane. Row r completes four rows of samples, from 4 · (r - 1) on.
    /// - Parameter begins: the rows do not follow those of the last call with the same scratch.
    @unsafe public func filterNoise(
        _ planes: NoiseFilterPlanes, model: NoiseModel, rows: Range<Int>, begins: Bool
    ) {
        var model = model
        unsafe withUnsafePointer(to: &model.raw) { model in
            unsafe withFilter(planes, model) {
                unsafe burnish_noise_filter_rows($0, Int32(rows.lowerBound), Int32(rows.upperBound), begins ? 1 : 0)
            }
        }
    }

    /// Copies the samples of some rows of blocks, unfiltered.
    @unsafe public func copyNoise(_ planes: NoiseFilterPlanes, rows: Range<Int>) {
        unsafe withFilter(planes, nil) {
            unsafe burnish_noise_copy_rows($0, Int32(rows.lowerBound), Int32(rows.upperBound))
        }
    }

    /// Rows of blocks of ``holdNoise(_:same:other:rows:)``.
    public static func noiseHoldingRows(height: Int) -> Int {
        (height + Int(BURNISH_NOISE_BLOCK) - 1) / Int(BURNISH_NOISE_BLOCK)
    }

    /// Gives out some rows of blocks as they were given out last, where they are near to what the filter makes of them.
    /// - Parameters:
    ///   - same: how near, for blocks that came as they had come last.
    ///   - other: for other blocks; nil holds none of them.
    @unsafe public static func holdNoise(
        _ planes: NoiseHoldingPlanes, same: NoiseDistance, other: NoiseDistance?, rows: Range<Int>
    ) {
        var holding = unsafe burnish_noise_holding(
            width: Int32(planes.now.width), height: Int32(planes.now.height), now: planes.now.base, before: planes.before.base,
            now_stride: planes.now.stride, before_stride: planes.before.stride, shown: planes.shown.base,
            shown_stride: planes.shown.stride, given: planes.given.base, given_stride: planes.given.stride,
            output: planes.output.base, output_stride: planes.output.stride, same: same.raw,
            other: (other ?? NoiseDistance(sample: -1, mean: 0)).raw)
        unsafe burnish_noise_hold_rows(&holding, Int32(rows.lowerBound), Int32(rows.upperBound))
    }

    @unsafe private func withFilter(
        _ planes: NoiseFilterPlanes, _ model: UnsafePointer<burnish_noise_model>?,
        _ body: (UnsafePointer<burnish_noise_filter>) -> Void
    ) {
        var noise = table.noise
        unsafe withUnsafePointer(to: &noise) { kernels in
            let count = unsafe Self.noiseBlocks(width: planes.now.width)
            var filter = unsafe burnish_noise_filter()
            unsafe filter.kernels = unsafe kernels
            unsafe filter.model = unsafe model
            unsafe filter.now = unsafe planes.now.motion
            if let first = unsafe planes.first {
                unsafe filter.reference.0 = unsafe first.plane.raw
                unsafe filter.motion.0 = unsafe first.field
                unsafe filter.references = 1
            }
            if let second = unsafe planes.second {
                if unsafe filter.references == 0 {
                    unsafe filter.reference.0 = unsafe second.plane.raw
                    unsafe filter.motion.0 = unsafe second.field
                } else {
                    unsafe filter.reference.1 = unsafe second.plane.raw
                    unsafe filter.motion.1 = unsafe second.field
                }
                unsafe filter.references += 1
            }
            unsafe filter.count = Int32(count)
            unsafe filter.filtered = unsafe planes.filtered.base
            unsafe filter.filtered_stride = unsafe planes.filtered.stride
            unsafe filter.shrunk = unsafe planes.shown.base
            unsafe filter.shrunk_stride = unsafe planes.shown.stride
            unsafe filter.variance = unsafe planes.filtered.variance
            unsafe filter.places = unsafe planes.scratch.assumingMemoryBound(to: burnish_noise_place.self)
            unsafe filter.carry = unsafe (planes.scratch + count * Self.placeBytes).assumingMemoryBound(to: Int16.self)
            unsafe body(&filter)
        }
    }

    /// Fills the sums of a row of squares. The planes have a sample of room around them.
    /// - Parameters:
    ///   - before: the plane of the picture before, of the same size.
    ///   - first: the first row of samples.
    @unsafe public func measureNoise(
        _ sums: UnsafeMutableBufferPointer<NoiseSums>, _ plane: PlaneView, before: PlaneView, first: Int
    ) {
        unsafe precondition(sums.count * Self.noiseSquare <= plane.width && first + Self.noiseSquare <= plane.height)
        guard let base = sums.baseAddress else { return }
        unsafe table.noise.measure(
            UnsafeMutableRawPointer(base).assumingMemoryBound(to: burnish_noise_sums.self), plane.row(first),
            plane.stride, before.row(first), before.stride, Int32(sums.count))
    }
}
