import Media

/// The enlargement of a chain: brings pictures to the size at which they leave, and refines as many tiles as there is time for.
/// Sharpening is done inside of it, before a polyphase filter brings pictures to a size of their own, and counts as its work.
///
/// Confined to one thread at a time. Does not allocate after `init`.
public final class PictureEnlargement {
    public let session: SuperResolutionSession
    private var tiles: TileOrder
    private var requests: [TileRequest] = []

    /// What is asked of one picture.
    public struct Wish: Sendable {
        /// What tiles are refined with.
        public var tier: SuperResolutionTier
        /// Whether all tiles are refined, row by row. Otherwise those of most worth come first, until there is no more time.
        public var isWhole: Bool
        public var parameters: SuperResolutionParameters

        public init(_ tier: SuperResolutionTier, isWhole: Bool, _ parameters: SuperResolutionParameters) {
            self.tier = tier
            self.isWhole = isWhole
            self.parameters = parameters
        }
    }

    /// - Throws: `unsupportedSize`, `badParameter`, `badWeights`.
    public init(_ configuration: SuperResolutionConfiguration, workers: WorkerPool) throws(EnhanceError) {
        session = try SuperResolutionSession(configuration, workers: workers)
        let grid = session.grid
        tiles = TileOrder(grid: grid)
        requests.reserveCapacity(grid.count)
        staleTiles = session.tiers.count > 1 ? grid.count : 0
    }

    /// How many tiles a picture has; 0 when only `base` can be used.
    public var tileCount: Int { session.tiers.count > 1 ? session.grid.count : 0 }

    /// How many tiles of the next picture are likely to be worth computing: as many as of the last one, but at least 1. With 0 a plan
    /// would ask for no tiles, and a change would go unseen. Asking for an unchanged tile costs nothing.
    public private(set) var staleTiles: Int

    /// Enlarges a picture as well as there is time for.
    /// - Parameter afterBase: as of ``SuperResolutionSession/process(_:into:tiles:_:afterBase:)``.
    /// - Throws: what that throws.
    @unsafe public func process(
        _ picture: PictureView, into output: MutablePictureView, _ wish: Wish,
        afterBase: (Nanoseconds) -> MonotonicTime? = { _ in nil }
    ) throws(EnhanceError) -> SuperResolutionResult {
        if wish.isWhole { return unsafe try session.process(picture, into: output, tier: wish.tier, wish.parameters) }
        requests.removeAll(keepingCapacity: true)
        if wish.tier > .base, tileCount > 0 {
            unsafe tiles.arrange(for: picture.y)
            for tile in tiles.order { requests.append(TileRequest(tile: tile, tier: wish.tier)) }
        }
        let asked = requests
        let result = unsafe try session.process(
            picture, into: output, tiles: asked.span, wish.parameters, afterBase: afterBase)
        if tileCount > 0 {
            let lacking = result.tilesComputed + result.tilesLeft
            staleTiles = max(1, requests.isEmpty ? tileCount - result.tilesReused : lacking)
            for tile in 0..<tileCount where session.outcome(ofTile: tile).tier > .base { tiles.recordRefined(tile) }
        }
        return result
    }
}
