import Codec
import Enhance
import EnhanceNetworks
import Media
import Schedule
import Settings

/// The processors for pictures of one size, and the memory for their results.
///
/// Confined to one thread at a time: the one that makes it, then the enhance thread.
final class Enhancement {
    let enlargement: Enlargement
    var input: PictureSize { enlargement.input }
    var output: PictureSize { enlargement.output }
    private(set) var abilities: EnhancementAbilities
    private var superResolution: SuperResolutionSession
    private var synthesis: EnhancementProcessors.Synthesis
    private var denoising: Denoising?
    private let pool: PicturePool
    private var tiles: TileOrder
    private var requests: [TileRequest]
    private var hasMemory = false

    /// Pictures in use at once: two wait for the encoder, one is in it, two are being made, one is still held by a queue while
    /// the next goes in, one is kept to be repeated, and one is being shown to a person.
    private static let pictures = 9

    init(_ recipe: EnhancementRecipe, _ abilities: EnhancementAbilities) throws(EnhanceError) {
        enlargement = recipe.enlargement
        self.abilities = abilities
        superResolution = try recipe.makeSuperResolution(abilities.networks)
        synthesis = abilities.synthesises ? try recipe.makeSynthesis() : .none
        denoising = abilities.denoises ? try recipe.makeDenoising() : nil
        pool = PicturePool(size: enlargement.output, count: Self.pictures)
        let grid = superResolution.grid
        tiles = TileOrder(grid: grid)
        requests = []
        requests.reserveCapacity(grid.count)
        staleTiles = superResolution.tiers.count > 1 ? grid.count : 0
    }

    /// Replaces processors between two frames.
    /// - Returns: false when they were made for pictures of another size, so that nothing has changed.
    func adopt(_ made: EnhancementProcessors) -> Bool {
        guard made.enlargement == enlargement else { return false }
        if let superResolution = made.superResolution {
            self.superResolution = superResolution
            abilities.networks = made.abilities.networks
            tiles = TileOrder(grid: superResolution.grid)
            staleTiles = tileCount
        }
        if let synthesis = made.synthesis {
            self.synthesis = synthesis
            abilities.synthesises = made.abilities.synthesises
        }
        if let denoising = made.denoising {
            self.denoising = denoising
            abilities.denoises = made.abilities.denoises
        }
        return true
    }

    /// How many tiles a picture has; 0 when only `base` can be used.
    var tileCount: Int { superResolution.tiers.count > 1 ? superResolution.grid.count : 0 }
    /// How many tiles of the next picture are likely to be worth computing: as many as of the last one, but at least 1. With 0
    /// the plan would ask for no tiles, and a change would go unseen. Asking for an unchanged tile costs nothing.
    private(set) var staleTiles: Int
    /// Input samples of a whole tile.
    var tilePixels: Int { superResolution.grid.tileSize.width * superResolution.grid.tileSize.height }

    /// Touches all memory for results once, so that the system provides it now and not in the middle of a frame. Call it when
    /// nothing waits.
    func touchMemory() {
        if hasMemory { return }
        pool.touch()
        hasMemory = true
    }

    /// Leases memory for one result; nil when all of it is in use.
    func lease() -> PictureLease? { pool.lease() }

    /// Takes noise out of a picture. It takes the picture's place in ``upscale(_:into:_:sharpness:afterBase:)`` and
    /// ``append(_:_:until:)`` until the next call.
    /// - Parameters:
    ///   - strength: 0…1; nil finds out.
    ///   - plan: without time for it the picture stays as it is.
    /// - Returns: what it took; nil where nothing was done.
    func denoise(_ picture: borrowing DecodedPicture, strength: Double?, _ plan: FramePlan) -> Nanoseconds? {
        guard let denoising else { return nil }
        guard let stop = plan.denoiseBy else {
            denoising.leave()
            return nil
        }
        return mustSucceed { () throws(EnhanceError) in
            try denoising.process(picture, strength: strength, until: stop)
        }
    }

    /// A picture, or what the noise filter made of it.
    @unsafe private func view(of picture: borrowing DecodedPicture) -> PictureView {
        unsafe denoising?.result ?? picture.view
    }

    /// Enlarges a picture as well as the plan has time for.
    /// - Parameters:
    ///   - sharpness: how much the result is sharpened, from 0 to 1, where pictures are enlarged.
    ///   - afterBase: called with what the base upscale took; returns until when tiles may be computed.
    func upscale(
        _ picture: borrowing DecodedPicture, into target: borrowing PictureLease, _ plan: FramePlan, sharpness: Double,
        afterBase: (Nanoseconds) -> MonotonicTime?
    ) -> SuperResolutionResult {
        requests.removeAll(keepingCapacity: true)
        if plan.tiles > 0, tileCount > 0, let tier = plan.tier.network {
            unsafe tiles.arrange(for: view(of: picture).y)
            for tile in tiles.order { requests.append(TileRequest(tile: tile, tier: tier)) }
        }
        let parameters = SuperResolutionParameters(
            until: plan.stop, quantiser: picture.meanQuantiser.map { Int($0.rounded()) },
            chromaLocation: picture.color.chromaLocation, sharpness: enlargement.enlarges ? sharpness : 0)
        let result: SuperResolutionResult
        do throws(EnhanceError) {
            result = unsafe try superResolution.process(
                view(of: picture), into: target.picture.mutableView, tiles: requests.span, parameters,
                afterBase: afterBase)
        } catch {
            refused(error)
        }
        if tileCount > 0 {
            let lacking = result.tilesSmall + result.tilesMedium + result.tilesLeft
            staleTiles = max(1, requests.isEmpty ? tileCount - result.tilesReused : lacking)
            for tile in 0..<tileCount where superResolution.outcome(ofTile: tile).tier > .base { tiles.recordRefined(tile) }
        }
        return result
    }

    /// Appends a picture and its enlarged version to the sequence that frames are synthesised from.
    func append(_ picture: borrowing DecodedPicture, _ enlarged: borrowing PictureLease, until: MonotonicTime) {
        mustSucceed { () throws(EnhanceError) in
            // Frames are synthesised at the size at which networks work, and then brought to the output's.
            let view = unsafe view(of: picture)
            let before = unsafe superResolution.beforeResampling(view) ?? enlarged.picture.view
            switch synthesis {
            case .none: break
            case .between(let processor):
                processor.chromaLocation = picture.color.chromaLocation
                unsafe try processor.push(view, enhanced: before)
            case .ahead(let processor):
                processor.chromaLocation = picture.color.chromaLocation
                unsafe try processor.push(view, enhanced: before, until: until)
            }
        }
    }

    /// Makes the picture at a phase of the newest two: between them, or beyond the newest (above 1).
    /// - Returns: how; nil when there is too little to make it from.
    func synthesise(
        phase: Double, into target: borrowing PictureLease, until: MonotonicTime
    ) -> FrameInterpolationResult.Method? {
        mustSucceed { () throws(EnhanceError) in
            switch synthesis {
            case .none: return nil
            case .between(let processor):
                guard processor.isReady else { return nil }
                return unsafe try processor.synthesise(
                    phase: phase, into: target.picture.mutableView, until: until
                ).method
            case .ahead(let processor):
                return unsafe try processor.synthesise(
                    distance: phase - 1, into: target.picture.mutableView, until: until
                ).method
            }
        }
    }

    /// The processors refuse only pictures of other sizes than they were made for, which are not given here.
    private func mustSucceed<Result>(_ body: () throws(EnhanceError) -> Result) -> Result {
        do throws(EnhanceError) {
            return try body()
        } catch {
            refused(error)
        }
    }

    private func refused(_ error: EnhanceError) -> Never {
        preconditionFailure("a picture of the right size was refused: \(error)")
    }

    /// The next picture has nothing to do with those before.
    func forget() {
        switch synthesis {
        case .none: break
        case .between(let processor): processor.reset()
        case .ahead(let processor): processor.reset()
        }
    }
}

extension StreamSettings.Content {
    /// The content as `EnhanceNetworks` calls it.
    var networks: NetworkContent {
        switch self {
        case .general: .general
        case .calls: .calls
        }
    }
}

extension Tier {
    /// The network that this tier runs, as `Enhance` calls it.
    public var network: SuperResolutionTier? {
        switch self {
        case .base: nil
        case .neuralS: .neuralSmall
        case .neuralM: .neuralMedium
        }
    }
}
