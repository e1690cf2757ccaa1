import Kernels
import Media

/// A quality level of super-resolution, from cheap to good.
public enum SuperResolutionTier: UInt8, CaseIterable, Comparable, Sendable, BitwiseCopyable {
    /// A separable filter over the whole frame.
    case base
    /// A small network, about two thousand multiplications for one input sample.
    case neuralSmall
    /// A larger one, about twelve thousand.
    case neuralMedium

    /// The name on the command line and in reports.
    public var name: String {
        switch self {
        case .base: "base"
        case .neuralSmall: "neural-s"
        case .neuralMedium: "neural-m"
        }
    }

    public init?(name: some StringProtocol) {
        guard let tier = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = tier
    }

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// One tile of a plan: which, and with which network.
public struct TileRequest: Hashable, Sendable, BitwiseCopyable {
    /// A number in the session's ``SuperResolutionSession/grid``.
    public var tile: Int
    public var tier: SuperResolutionTier

    public init(tile: Int, tier: SuperResolutionTier) {
        self.tile = tile
        self.tier = tier
    }
}

/// What became of a tile in the last frame.
public struct TileOutcome: Hashable, Sendable, BitwiseCopyable {
    public var tier: SuperResolutionTier
    /// Copied from the frame before, because nothing that it depends on had changed.
    public var isReused: Bool

    public init(tier: SuperResolutionTier, isReused: Bool) {
        self.tier = tier
        self.isReused = isReused
    }
}

/// What a session is made for. All of it is fixed for the session's life.
public struct SuperResolutionConfiguration: Sendable {
    /// The input picture.
    public var size: PictureSize
    /// 1 copies the picture, 2 doubles both sides.
    public var scaleFactor = 2
    /// The networks of the neural tiers; a tier without one cannot be asked for. See ``useShippedNetworks()``.
    public var networks: [SuperResolutionTier: SuperResolutionNetwork] = [:]
    /// How much the finished luma is sharpened: 0 not at all, 1 strongly. What it gains in the eyes of some it loses in
    /// fidelity; docs/measurements/super-resolution.md has figures.
    public var sharpness = 0.0
    /// Whether tiles are copied from the last frame where nothing that they depend on has changed.
    public var reusesTiles = true
    /// Which kernels to use; a test may restrict them.
    public var kernels = Kernels.best

    public init(size: PictureSize) { self.size = size }

    /// Takes the networks that come with this library, for all neural tiers.
    public mutating func useShippedNetworks() {
        for tier in SuperResolutionTier.allCases { networks[tier] = SuperResolutionNetwork.shipped(tier) }
    }

    public static let minimumSize = PictureSize(width: 1, height: 1)
    public static let maximumSize = PictureSize(width: 8192, height: 8192)

    /// The scale factors that an input of this size can have; empty when the size is not supported at all.
    public static func supportedScaleFactors(for size: PictureSize) -> [Int] {
        let fits =
            (minimumSize.width...maximumSize.width).contains(size.width)
            && (minimumSize.height...maximumSize.height).contains(size.height)
        return fits ? [1, 2] : []
    }
}

/// What may differ from frame to frame.
public struct SuperResolutionParameters: Sendable, BitwiseCopyable {
    /// When to stop refining: no tile is begun that is expected to end later, and one that is not done by then is
    /// given up. nil is never. What no network writes is always `base`.
    public var until: MonotonicTime?
    /// How coarsely the frame was coded: its mean H.264 quantiser, 0…51; nil when it was not coded or nobody knows.
    /// Networks are trained for ranges of it; a session changes range only when the quantiser is clearly outside,
    /// because a change makes every tile new.
    public var quantiser: Int?
    /// Where the chroma samples lie, as in ``ColorDescription/chromaLocation``.
    public var chromaLocation: UInt8 = 0

    public init(until: MonotonicTime? = nil, quantiser: Int? = nil, chromaLocation: UInt8 = 0) {
        self.until = until
        self.quantiser = quantiser
        self.chromaLocation = chromaLocation
    }
}

/// What was done for one frame, and what it cost.
public struct SuperResolutionResult: Hashable, Sendable, BitwiseCopyable {
    /// Tiles computed by a network, by tier.
    public var tilesSmall = 0
    public var tilesMedium = 0
    /// Tiles copied from an earlier frame, asked for or not: their last result still holds, and showing it costs
    /// nothing.
    public var tilesReused = 0
    /// Tiles that were asked for and not reached; they show the `base` picture.
    public var tilesLeft = 0
    /// Wall time until there was a complete picture without new results of networks, and of all that came after it.
    /// Without a time to stop the first leaves out what networks will write, and chroma. Sharpening counts in the first.
    public var baseTime = Nanoseconds.zero
    public var tileTime = Nanoseconds.zero

    /// Whether everything that was asked for was done.
    public var isComplete: Bool { tilesLeft == 0 }
}
