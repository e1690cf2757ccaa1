import Codec
import Enhance
import EnhanceNetworks
import Media
import Schedule
import Settings

/// The chain for pictures of one size, and the memory for its results.
///
/// Confined to one thread at a time: the one that makes it, then the enhance thread.
final class Enhancement {
    let enlargement: Enlargement
    var input: PictureSize { enlargement.input }
    var output: PictureSize { enlargement.output }
    private let chain: PictureChain
    /// The networks that are here.
    private var networks: NetworkChoice?
    /// What is asked of the steps.
    private var settings: StepSettings
    /// The steps that are here and change something.
    private(set) var steps = StepSet()
    private let pool: PicturePool
    private var hasMemory = false

    /// Pictures in use at once: two wait for the encoder, one is in it, two are being made, one is still held by a queue while
    /// the next goes in, one is kept to be repeated, one is being shown to a person, and two
    /// are for the one more encode of a call.
    private static let pictures = 11

    init(_ recipe: EnhancementRecipe, _ abilities: EnhancementAbilities) throws(EnhanceError) {
        enlargement = recipe.enlargement
        networks = abilities.networks
        settings = abilities.steps
        chain = PictureChain(
            try recipe.makeEnlargement(abilities.networks), abilities.synthesises ? try recipe.makeSynthesis() : nil)
        for step in try recipe.makeSteps(abilities.kinds, abilities.steps) { chain.insert(step) }
        pool = PicturePool(size: enlargement.output, count: Self.pictures)
        use(settings)
    }

    /// Whether steps change enlarged pictures.
    var changesResults: Bool { !chain.results.kinds.isDisjoint(with: steps) }

    /// Replaces processors between two frames.
    /// - Returns: false when they were made for pictures of another size, so that nothing has changed.
    func adopt(_ made: EnhancementProcessors) -> Bool {
        guard made.enlargement == enlargement else { return false }
        if let enlarging = made.enlarging {
            chain.replace(enlarging)
            networks = made.wanted.networks
        }
        if let synthesis = made.synthesis { chain.replace(synthesis) }
        for step in made.steps { chain.insert(step) }
        use(settings)
        return true
    }

    /// Takes over what is asked of the steps. A step that is not here yet holds when it has been made.
    func use(_ settings: StepSettings) {
        self.settings = settings
        steps = StepSet()
        for kind in chain.kinds where !settings.isNeutral(kind) { steps.insert(kind) }
    }

    /// What has to be made for what is wanted.
    func lack(of wanted: EnhancementAbilities) -> EnhancementLack {
        var lack = EnhancementLack(wanted: wanted)
        lack.networks = networks != wanted.networks
        lack.synthesis = wanted.synthesises && !synthesises
        for kind in wanted.kinds where chain.step(kind)?.suits(wanted.steps) != true { lack.kinds.insert(kind) }
        return lack
    }

    /// Whether frames can be synthesised.
    var synthesises: Bool { chain.synthesis != nil }
    /// How many tiles a picture has; 0 when only `base` can be used.
    var tileCount: Int { chain.enlarging.tileCount }

    /// The best tier up to the wanted one whose network is here.
    func ceiling(_ wanted: Tier) -> Tier {
        guard let networks, tileCount > 0 else { return .base }
        return networks.quality ? wanted : min(wanted, .usual)
    }
    /// How many tiles of the next picture are likely to be worth computing.
    var staleTiles: Int { chain.enlarging.staleTiles }
    /// Input samples of a whole tile.
    var tilePixels: Int { chain.enlarging.session.grid.tileSize.samples }

    /// Touches all memory for results once, so that the system provides it now and not in the middle of a frame. Call it when
    /// nothing waits.
    func touchMemory() {
        if hasMemory { return }
        pool.touch()
        hasMemory = true
    }

    /// Leases memory for one result; nil when all of it is in use.
    func lease() -> PictureLease? { pool.lease() }

    /// What was done for a picture.
    struct Outcome {
        let enlarging: SuperResolutionResult
        /// What each step took that changed the picture.
        let times: StepValues<Nanoseconds>
    }

    /// Takes a picture through the source steps of a plan, and enlarges it as well as the plan has time for.
    /// - Parameter afterBase: called with what the base upscale took; returns until when tiles may be computed.
    func enlarge(
        _ picture: borrowing DecodedPicture, into target: borrowing PictureLease, _ plan: FramePlan,
        afterBase: (Nanoseconds) -> MonotonicTime?
    ) -> Outcome {
        var times = StepValues(blank: Nanoseconds.zero)
        let parameters = parameters(picture, plan)
        let wish = PictureEnlargement.Wish(
            plan.tiles > 0 ? plan.tier.network ?? .base : .base, isWhole: false,
            SuperResolutionParameters(
                until: plan.stop, quantiser: parameters.quantiser, chromaLocation: parameters.chromaLocation,
                sharpness: enlargement.enlarges ? settings.sharpness : 0))
        let enlarging = mustSucceed { () throws(EnhanceError) in
            unsafe try chain.enlarge(
                picture.view, into: target.picture.mutableView, parameters, wish, &times, only: plan.steps,
                afterBase: afterBase)
        }
        return Outcome(enlarging: enlarging, times: times)
    }

    /// Takes an enlarged or synthesised picture through the result steps.
    /// - Parameters:
    ///   - picture: the one that it was made of.
    ///   - moment: what steps say of it.
    /// - Returns: what each took.
    func finish(
        _ target: borrowing PictureLease, beside picture: borrowing DecodedPicture, _ moment: StepMoment, _ plan: FramePlan
    ) -> StepValues<Nanoseconds> {
        var times = StepValues(blank: Nanoseconds.zero)
        var parameters = parameters(picture, plan)
        parameters.moment = moment
        parameters.sampleAspectRatio = picture.color.shaped(from: input, to: output).sampleAspectRatio
        mustSucceed { () throws(EnhanceError) in
            unsafe try chain.finish(target.picture.mutableView, parameters, &times, only: plan.steps)
        }
        return times
    }

    private func parameters(_ picture: borrowing DecodedPicture, _ plan: FramePlan) -> StepParameters {
        StepParameters(
            settings, quantiser: picture.meanQuantiser.map { Int($0.rounded()) }, chromaLocation: picture.color.chromaLocation,
            isFullRange: picture.color.range == .full, matrix: picture.color.matrix, orientation: picture.color.orientation,
            until: plan.stepsBy)
    }

    /// Appends a picture and its enlarged version to the sequence that frames are synthesised from.
    func append(_ picture: borrowing DecodedPicture, _ enlarged: borrowing PictureLease) {
        mustSucceed { () throws(EnhanceError) in
            unsafe try chain.append(picture.view, enlarged.picture.view, chromaLocation: picture.color.chromaLocation)
        }
    }

    /// Makes the picture at a phase of the newest two: between them, or beyond the newest (above 1).
    /// - Returns: how; nil when there is too little to make it from.
    func synthesise(
        phase: Double, into target: borrowing PictureLease, until: MonotonicTime
    ) -> FrameInterpolationResult.Method? {
        mustSucceed { () throws(EnhanceError) in
            unsafe try chain.synthesise(phase: phase, into: target.picture.mutableView, until: until)
        }
    }

    /// The processors refuse only pictures of other sizes than they were made for, which are not given here.
    private func mustSucceed<Result>(_ body: () throws(EnhanceError) -> Result) -> Result {
        do throws(EnhanceError) {
            return try body()
        } catch {
            preconditionFailure("a picture of the right size was refused: \(error)")
        }
    }

    /// The next picture has nothing to do with those before.
    func forget() { chain.forget() }

    /// Nothing of the pictures before is to be seen in those that follow.
    func forgetAll() { chain.forgetAll() }
}

extension StreamSettings.Content {
    /// The content as `EnhanceNetworks` calls it.
    /// - Parameter found: what suits the pictures.
    func networks(_ found: NetworkContent) -> NetworkContent {
        switch self {
        case .auto: found
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
        case .quality: .quality
        }
    }
}
