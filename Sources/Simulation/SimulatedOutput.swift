import Media
import Schedule

/// The choice of the output in virtual time (``OutputLadder``), and what frames cost with it.
///
/// A load's costs are those of its best output. With another one they change with the samples that are written and with the preset.
struct SimulatedOutput {
    /// What work takes of a load's costs with one choice.
    struct Factors {
        var base = 1.0
        var synthesise = 1.0
        var encode = 1.0
    }

    /// The first picture of another encoder is a keyframe in memory that has never been touched.
    private static let coldEncoding = 2.0
    /// What an encoder's first pictures cost is not observed, as in the relay.
    private static let coldPicturesOfAnEncoder = 3

    private(set) var ladder: OutputLadder
    private let best: OutputChoice
    /// The best tier of the load.
    private let ceiling: Tier
    private let costs: OutputLadder.Costs
    /// What pictures are made like now.
    private(set) var made: OutputChoice
    private let making: Nanoseconds
    private var madeAt: MonotonicTime?
    private var coldPictures = 0
    /// Changes after the start.
    private(set) var changes: [(at: MonotonicTime, choice: OutputChoice)] = []

    /// - Returns: nil where the load's output is fixed.
    init?(_ load: Load) {
        guard let output = load.output else { return nil }
        best = OutputChoice(size: output.size, preset: output.preset)
        var stream = OutputLadder.Stream(input: load.input, interval: load.interval)
        stream.workers = load.workers
        stream.encoders = load.encoders
        ceiling = load.ceiling
        stream.isRefined = ceiling > .base
        stream.synthesised = Double(load.synthesised)
        let pixelsIn = Double(load.input.width * load.input.height)
        let size = output.size.size(of: load.input)
        var costs = OutputLadder.Costs()
        costs.decode = load.costs.decode / pixelsIn
        costs.base =
            load.costs.base * Double(load.workers) / Enlargement(from: load.input, to: size, refined: stream.isRefined).work
        costs.encode =
            load.costs.encode * Planner.coresEncoding(threads: load.encoders) / Double(size.width * size.height)
            / output.preset.weight
        costs.encodeSynthesised = costs.encode * load.costs.encodeSynthesised / load.costs.encode
        costs.encodeRepeated = costs.encode * load.costs.encodeRepeated / load.costs.encode
        costs.synthesise =
            load.costs.synthesise * Double(load.workers)
            / Enlargement(from: load.input, to: size, refined: stream.isRefined).synthesisWork
        self.costs = costs
        costs.scale(by: output.measured)
        ladder = OutputLadder(stream, best: output.size, preset: output.preset, mayShrink: true, costs: costs)
        ladder.begin(cores: Cores(Double(load.cores)))
        made = ladder.choice
        making = output.making
    }

    var choice: OutputChoice { ladder.choice }

    private func enlargement(_ choice: OutputChoice) -> Enlargement {
        let input = ladder.stream.input
        return Enlargement(from: input, to: choice.size.size(of: input), refined: ceiling > .base)
    }

    /// What a frame's work takes of the load's costs now.
    var factors: Factors {
        let (now, then) = (enlargement(made), enlargement(best))
        func ratio(_ now: PictureSize, _ then: PictureSize) -> Double { Double(now.samples) / Double(then.samples) }
        return Factors(
            base: now.work / then.work, synthesise: now.synthesisWork / then.synthesisWork,
            encode: ratio(now.output, then.output) * made.preset.weight / best.preset.weight)
    }

    /// The factor on the costs of encoding the next picture, and whether they are not to be observed.
    mutating func claimCold() -> (factor: Double, isCold: Bool) {
        guard coldPictures > 0 else { return (1, false) }
        defer { coldPictures -= 1 }
        return (coldPictures == Self.coldPicturesOfAnEncoder ? Self.coldEncoding : 1, true)
    }

    /// Takes over the choice before a picture is enhanced, as the relay's enhance stage does. Another size needs other processors.
    /// - Returns: whether pictures have another size from now on.
    mutating func prepare(at now: MonotonicTime) -> Bool {
        guard made != choice else { return false }
        let isOtherSize = enlargement(made) != enlargement(choice)
        if isOtherSize {
            let at = madeAt ?? now + making
            madeAt = at
            guard now >= at else { return false }
        }
        made = choice
        madeAt = nil
        coldPictures = Self.coldPicturesOfAnEncoder
        return isOtherSize
    }

    /// A planner's configuration for the pictures that are made.
    func configuration(_ configuration: Planner.Configuration) -> Planner.Configuration {
        var configuration = configuration
        let enlargement = enlargement(made)
        configuration.output = enlargement.output
        configuration.seeds = costs.seeds(
            enlargement, made.preset, workers: configuration.workers, encoders: configuration.encoders)
        configuration.ceiling = enlargement.doubles ? ceiling : .base
        return configuration
    }

    /// Chooses again, as the relay's observer does.
    /// - Parameters:
    ///   - planner: the stream's, with what frames have cost.
    ///   - rung: where the stream stands; nil while nothing is planned.
    /// - Returns: whether the choice is another one now.
    mutating func update(_ planner: Planner, _ rung: Rung?, isBypassed: Bool, at now: MonotonicTime, cores: Cores) -> Bool {
        var pictures = OutputLadder.Pictures()
        pictures.made = made
        pictures.areBypassed = isBypassed
        pictures.areSkipped = rung?.decodesAll == false
        pictures.observed = OutputLadder.Observation(planner, made.preset)
        guard ladder.update(now: now, pictures, cores: cores) else { return false }
        changes.append((now, choice))
        return true
    }
}

extension OutputLadder.Costs {
    fileprivate mutating func scale(by factor: Double) {
        decode *= factor
        base *= factor
        encode *= factor
        encodeSynthesised *= factor
        encodeRepeated *= factor
        synthesise *= factor
    }
}
