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
    /// One that takes seven to ten times as long as ``neuralMedium``, for files, stills, and live streams of which somebody asks it.
    case quality

    /// The tiers of live streams that do not ask for more.
    public static let live: [SuperResolutionTier] = [.base, .neuralSmall, .neuralMedium]

    /// The name on the command line and in reports.
    public var name: String {
        switch self {
        case .base: "base"
        case .neuralSmall: "neural-s"
        case .neuralMedium: "neural-m"
        case .quality: "quality"
        }
    }

    public init?(name: some StringProtocol) {
        guard let tier = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = tier
    }

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A request to compute one tile with one network.
public struct TileRequest: Hashable, Sendable, BitwiseCopyable {
    /// A number in the session's ``SuperResolutionSession/grid``.
    public var tile: Int
    public var tier: SuperResolutionTier

    public init(tile: Int, tier: SuperResolutionTier) {
        self.tile = tile
        self.tier = tier
    }
}

/// How a tile of the last frame was made.
public struct TileOutcome: Hashable, Sendable, BitwiseCopyable {
    public var tier: SuperResolutionTier
    /// Whether it was copied from the frame before, because nothing that it depends on had changed.
    public var isReused: Bool

    public init(tier: SuperResolutionTier, isReused: Bool) {
        self.tier = tier
        self.isReused = isReused
    }
}

/// The configuration of a session, fixed for its life.
public struct SuperResolutionConfiguration: FrameProcessorConfiguration {
    /// The input picture.
    public var size: PictureSize
    /// 2 doubles both sides. 1 keeps the size: networks that restore take coding artefacts out of luma, and chroma is
    /// copied; without such networks the picture is copied.
    public var scaleFactor = 2
    /// The size of the result. Nil is the input's size times ``scaleFactor``; a polyphase filter makes any other size from that.
    public var outputSize: PictureSize?
    /// The networks of the neural tiers. A request for a tier without one is an error. `EnhanceNetworks` adds
    /// `useShippedNetworks()`. With ``scaleFactor`` 1 only those that restore are used, and pictures of which the
    /// quantiser is fine, or not known, stay as they are.
    public var networks: [SuperResolutionTier: SuperResolutionNetwork] = [:]
    /// How much the finished luma is sharpened: 0 not at all, 1 strongly. What it gains in the eyes of some it loses in
    /// fidelity; docs/measurements/super-resolution.md has figures.
    public var sharpness = 0.0
    /// Whether to copy tiles from the last frame where nothing that they depend on has changed.
    public var reusesTiles = true
    /// Which instruction sets to use. The result is the same with all of them.
    public var kernels = Kernels.best

    public init(size: PictureSize) { self.size = size }

    public static let minimumSize = PictureSize(width: 1, height: 1)
    public static let maximumSize = PictureSize(width: 8192, height: 8192)
    /// Of the result, in samples.
    public static let longestSide = 16_384

    /// The scale factors that an input size supports. Empty where the size itself is not supported.
    public static func supportedScaleFactors(for size: PictureSize) -> [Int] {
        let fits =
            (minimumSize.width...maximumSize.width).contains(size.width)
            && (minimumSize.height...maximumSize.height).contains(size.height)
        return fits ? [1, 2] : []
    }

    public var supportedSizes: SupportedSizes {
        SupportedSizes(least: Self.minimumSize, largest: Self.maximumSize)
    }

    public func check() throws(EnhanceError) {
        guard Self.supportedScaleFactors(for: size).contains(scaleFactor) else {
            throw EnhanceError(
                .unsupportedSize,
                "super-resolution of \(size) by \(scaleFactor) is not supported: sizes go from \(Self.minimumSize) to "
                    + "\(Self.maximumSize), scale factors are 1 and 2")
        }
        try Self.check(sharpness: sharpness)
        try Self.check(outputSize: outputSize)
        guard scaleFactor == 2 else { return try check(Self.restoring(networks)) }
        guard networks[.base] == nil else {
            throw EnhanceError(.badParameter, "the base tier has no network; give it to a neural tier")
        }
        guard networks.values.allSatisfy({ !$0.isRestoring }) else {
            throw EnhanceError(.badWeights, "a network that restores keeps the size: give it to a session of scale factor 1")
        }
        try check(networks)
    }

    private func check(_ networks: [SuperResolutionTier: SuperResolutionNetwork]) throws(EnhanceError) {
        guard Set(networks.values.map(\.network.edges)).count <= 1 else {
            throw EnhanceError(
                .badWeights, "the networks divide quantisers differently; give the session networks of one training")
        }
    }

    /// Those that a session of scale factor 1 uses.
    static func restoring(
        _ networks: [SuperResolutionTier: SuperResolutionNetwork]
    ) -> [SuperResolutionTier: SuperResolutionNetwork] {
        networks.filter { $0.key > .base && $0.value.isRestoring }
    }

    static func check(sharpness: Double) throws(EnhanceError) {
        guard (0...1).contains(sharpness) else {
            throw EnhanceError(.badParameter, "sharpness is 0 to 1, not \(sharpness)")
        }
    }

    /// - Parameter size: of the result, where a polyphase filter makes it.
    static func check(outputSize size: PictureSize?) throws(EnhanceError) {
        guard let size else { return }
        let sides = 1...longestSide
        guard sides.contains(size.width), sides.contains(size.height) else {
            throw EnhanceError(
                .unsupportedSize, "pictures of \(size) cannot be made: sides go from 1 to \(sides.upperBound) samples")
        }
    }
}

/// The parameters of one frame.
public struct SuperResolutionParameters: TimedFrameProcessorParameters, BitwiseCopyable {
    /// When to stop computing tiles; nil is never. The session begins no tile that it expects to end later, and
    /// abandons a tile that is not done by then. Tiles that no network writes are `base`.
    public var until: MonotonicTime?
    /// How coarsely the frame was coded: its mean H.264 quantiser, 0…51; nil when it was not coded or is not known.
    /// Networks have weights for ranges of it. A session changes the range only when the quantiser is clearly outside,
    /// because after a change no tile can be reused.
    public var quantiser: Int?
    /// Where the chroma samples lie, as in ``ColorDescription/chromaLocation``.
    public var chromaLocation: UInt8 = 0
    /// How much this frame is sharpened, from 0 to 1; nil is as much as the session's configuration says.
    public var sharpness: Double?
    /// The tier of all tiles, where the call does not name them; nil is the best that the session has.
    public var tier: SuperResolutionTier?

    public init() {}

    public init(
        until: MonotonicTime? = nil, quantiser: Int? = nil, chromaLocation: UInt8 = 0, sharpness: Double? = nil
    ) {
        self.until = until
        self.quantiser = quantiser
        self.chromaLocation = chromaLocation
        self.sharpness = sharpness
    }
}

/// What a session did for one frame, and what it cost.
public struct SuperResolutionResult: Hashable, Sendable, BitwiseCopyable {
    /// How many tiles each network computed.
    public var tilesSmall = 0
    public var tilesMedium = 0
    public var tilesQuality = 0
    /// Tiles copied from an earlier frame, requested or not, because their last result is still valid.
    public var tilesReused = 0
    /// Tiles that were requested but not done in time. They show the `base` picture.
    public var tilesLeft = 0
    /// Wall time until there was a complete picture without new results of networks, plus the time for sharpening.
    /// Without a time to stop it leaves out chroma and the tiles that networks write.
    public var baseTime = Nanoseconds.zero
    /// Wall time of everything after that, but sharpening.
    public var tileTime = Nanoseconds.zero

    /// How many tiles all networks computed.
    public var tilesComputed: Int { tilesSmall + tilesMedium + tilesQuality }

    /// Whether all requested tiles were done.
    public var isComplete: Bool { tilesLeft == 0 }
}
