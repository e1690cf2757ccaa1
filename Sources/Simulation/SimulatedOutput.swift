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

    private(set) var ladder: OutputLadder
    private let best: OutputChoice
    private let costs: OutputLadder.Costs
    private var isCold = false
    /// Changes after the start.
    private(set) var changes: [(at: MonotonicTime, choice: OutputChoice)] = []

    /// - Returns: nil where the load's output is fixed.
    init?(_ load: Load) {
        guard let output = load.output else { return nil }
        best = OutputChoice(size: output.size, preset: output.preset)
        var stream = OutputLadder.Stream(input: load.input, interval: load.interval)
        stream.workers = load.workers
        stream.encoders = load.encoders
        let pixelsIn = Double(load.input.width * load.input.height)
        let size = output.size.size(of: load.input)
        var costs = OutputLadder.Costs()
        costs.decode = load.costs.decode / pixelsIn
        costs.base = load.costs.base * Double(load.workers) / Enlargement(from: load.input, to: size).work
        costs.encode =
            load.costs.encode * Planner.coresEncoding(threads: load.encoders) / Double(size.width * size.height)
            / output.preset.weight
        self.costs = costs
        costs.scale(by: output.measured)
        ladder = OutputLadder(stream, best: output.size, preset: output.preset, mayShrink: true, costs: costs)
        ladder.begin(cores: Cores(Double(load.cores)))
    }

    var choice: OutputChoice { ladder.choice }

    private func size(_ choice: OutputChoice) -> PictureSize { choice.size.size(of: ladder.stream.input) }

    /// What a frame's work takes of the load's costs now.
    var factors: Factors {
        let (now, then) = (size(choice), size(best))
        let samples = Double(now.width * now.height) / Double(then.width * then.height)
        let input = ladder.stream.input
        return Factors(
            base: Enlargement(from: input, to: now).work / Enlargement(from: input, to: then).work, synthesise: samples,
            encode: samples * choice.preset.weight / best.preset.weight)
    }

    /// The factor on the costs of encoding the next picture.
    mutating func claimCold() -> Double {
        defer { isCold = false }
        return isCold ? Self.coldEncoding : 1
    }

    /// A planner's configuration for the present choice.
    func configuration(_ configuration: Planner.Configuration) -> Planner.Configuration {
        var configuration = configuration
        configuration.output = size(choice)
        let enlargement = Enlargement(from: configuration.input, to: configuration.output)
        configuration.seeds = costs.seeds(
            enlargement, choice.preset, workers: configuration.workers, encoders: configuration.encoders)
        if !enlargement.doubles { configuration.ceiling = .base }
        return configuration
    }

    /// Chooses again, as the relay's observer does.
    /// - Parameter planner: the stream's, with what frames have cost.
    /// - Returns: whether the choice is another one now.
    mutating func update(_ planner: Planner, at now: MonotonicTime, cores: Cores) -> Bool {
        let observed = choice.isBypass ? nil : OutputLadder.Observation(planner, choice.preset)
        let isStruggling = !choice.isBypass && !planner.level.decodesAll
        guard ladder.update(now: now, observed: observed, isStruggling: isStruggling, cores: cores) else { return false }
        changes.append((now, choice))
        isCold = true
        return true
    }
}

extension OutputLadder.Costs {
    fileprivate mutating func scale(by factor: Double) {
        decode *= factor
        base *= factor
        encode *= factor
    }
}
