import Enhance
import EnhanceNetworks
import Media
import Schedule
import Settings
import Synchronization

/// Which networks an enhancement has.
struct NetworkChoice: Hashable, Sendable {
    /// For which content they are trained.
    var content: NetworkContent
    /// Whether that of ``Tier/quality`` is among them: it takes memory of its own.
    var quality = false
}

/// Which processors an enhancement has.
struct EnhancementAbilities: Hashable, Sendable {
    /// Nil where there are none. A session with networks costs more for each picture than one without, also when no tile is computed.
    var networks: NetworkChoice?
    var synthesises: Bool
    /// What the steps on single pictures can do.
    var steps = StepSettings()

    /// The steps on single pictures that change something.
    var kinds: StepSet { steps.active(at: .source).union(steps.active(at: .result)) }
}

extension EnhancementAbilities {
    /// What settings ask for.
    /// - Parameters:
    ///   - doubles: whether pictures are doubled before they get their size (``Enlargement/doubles``).
    ///   - found: for which content networks suit the pictures.
    init(for settings: StreamSettings, doubles: Bool, synthesises: Bool, found: NetworkContent = .general) {
        networks =
            settings.tier > .base && doubles
            ? NetworkChoice(content: settings.content.networks(found), quality: settings.tier == .quality) : nil
        self.synthesises = synthesises
        steps = settings.steps
    }
}

/// How to make the processors for pictures of one size.
struct EnhancementRecipe: Sendable {
    let enlargement: Enlargement
    let order: SynthesisOrder
    let workers: WorkerPool

    func makeEnlargement(_ networks: NetworkChoice?) throws(EnhanceError) -> PictureEnlargement {
        var enlarging = SuperResolutionConfiguration(size: enlargement.input)
        enlarging.scaleFactor = enlargement.doubles ? 2 : 1
        enlarging.outputSize = enlargement.output
        if let networks {
            enlarging.useShippedNetworks(for: networks.content)
            if networks.quality { enlarging.networks[.quality] = .shipped(.quality, for: networks.content) }
        }
        return try PictureEnlargement(enlarging, workers: workers)
    }

    func makeSynthesis() throws(EnhanceError) -> PictureSynthesis {
        var interpolating = FrameInterpolationConfiguration(size: enlargement.input)
        interpolating.scaleFactor = enlargement.doubles ? 2 : 1
        interpolating.outputSize = enlargement.output
        return switch order {
        case .beforeOriginal: PictureSynthesis(between: try LowLatencyFrameInterpolation(interpolating, workers: workers))
        case .afterOriginal: PictureSynthesis(ahead: try FrameExtrapolation(interpolating, workers: workers))
        }
    }

    /// Makes some of the steps on single pictures.
    func makeSteps(_ kinds: StepSet, _ settings: StepSettings) throws(EnhanceError) -> [PlacedStep] {
        var steps: [PlacedStep] = []
        for kind in kinds {
            let size = kind.facts.place == .result ? enlargement.output : enlargement.input
            if let step = try settings.makeStep(kind, size: size, workers: workers) {
                steps.append(PlacedStep(step, size: size))
            }
        }
        return steps
    }

    /// Makes what an enhancement for the same size lacks. Only a size can be refused, so nothing is refused here.
    func make(_ lacking: EnhancementLack) -> EnhancementProcessors {
        let wanted = lacking.wanted
        var made = EnhancementProcessors(enlargement: enlargement, wanted: wanted)
        if lacking.networks { made.enlarging = try? makeEnlargement(wanted.networks) }
        if lacking.synthesis { made.synthesis = try? makeSynthesis() }
        made.steps = (try? makeSteps(lacking.kinds, wanted.steps)) ?? []
        return made
    }
}

/// What an enhancement lacks for what is wanted of it. Synthesis and steps that are there and not used cost nothing.
struct EnhancementLack: Sendable {
    let wanted: EnhancementAbilities
    var networks = false
    var synthesis = false
    /// Steps on single pictures that are not there, or cannot do what is wanted.
    var kinds = StepSet()

    var isEmpty: Bool { !networks && !synthesis && kinds.isEmpty }
}

/// Processors that take the place of others between two frames. Nil where nothing changes.
struct EnhancementProcessors {
    let enlargement: Enlargement
    let wanted: EnhancementAbilities
    var enlarging: PictureEnlargement?
    var synthesis: PictureSynthesis?
    var steps: [PlacedStep] = []
}

/// Makes processors beside the stream, on a thread of its own with low priority: no frame waits for their memory, nor until
/// networks have been read. It also makes whole enhancements, for pictures that are to leave in another size.
///
/// Confined to the enhance thread.
final class ProcessorMaker {
    /// What was made.
    enum Product {
        /// What an enhancement lacked.
        case processors(EnhancementProcessors)
        /// What was asked for; nil where there is none for such pictures.
        case enhancement(Enhancement?, for: Enlargement)
    }

    /// What the maker's thread and the enhance thread share.
    private final class Delivery: Sendable {
        let isReady = Atomic<Bool>(false)
        let product = Lock<Product?>(nil)
    }

    private let delivery = Delivery()
    private var thread: StageThread?

    /// Whether something is being made, or waits to be taken.
    var isBusy: Bool { thread != nil }

    /// Begins to make what an enhancement lacks.
    /// - Precondition: ``isBusy`` is false.
    func make(_ recipe: EnhancementRecipe, _ lacking: EnhancementLack) {
        start { .processors(recipe.make(lacking)) }
    }

    /// Begins to make an enhancement, and touches its memory.
    /// - Precondition: ``isBusy`` is false.
    func make(_ recipe: EnhancementRecipe, _ abilities: EnhancementAbilities) {
        start {
            let made = try? Enhancement(recipe, abilities)
            made?.touchMemory()
            return .enhancement(made, for: recipe.enlargement)
        }
    }

    private func start(_ make: @escaping @Sendable () -> sending Product) {
        precondition(!isBusy, "one thing is made at a time")
        thread = StageThread(name: "prepare", niceness: 10) { [delivery] in
            // Nobody waits for this lock: the enhance thread comes when it is ready.
            delivery.product.withLock { $0 = make() }
            delivery.isReady.store(true, ordering: .releasing)
        }
    }

    /// What has been made, once; nil while it is not ready. Costs one atomic load then.
    func take() -> Product? {
        guard delivery.isReady.load(ordering: .acquiring) else { return nil }
        delivery.isReady.store(false, ordering: .relaxed)
        // The thread has nothing left to do. Its low priority must not hold up a frame until it has ended.
        thread?.detach()
        thread = nil
        return delivery.product.withLock { $0.take() }
    }

    /// Waits until nothing is being made.
    func finish() {
        thread?.join()
        thread = nil
    }
}
