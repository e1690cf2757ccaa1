import Media

/// What the observer tells a ladder of the pictures.
extension OutputLadder {
    /// What frames have cost.
    public struct Observation: Sendable, BitwiseCopyable {
        /// By the low estimates: what work takes of a core when nobody interrupts it. They follow a slower machine slowly.
        public var low: Costs
        /// By the means, which other programs raise, too.
        public var mean: Costs
        /// The time between two pictures, as it is. Headers may say another one, or none.
        public var interval: Nanoseconds?
        /// Frames that were to be synthesised with each picture.
        public var synthesised = 0.0
        /// What was encoded beside each.
        public var added = Added()

        public init(low: Costs, mean: Costs, interval: Nanoseconds? = nil, synthesised: Double = 0, added: Added = Added()) {
            self.low = low
            self.mean = mean
            self.interval = interval
            self.synthesised = synthesised
            self.added = added
        }
    }

    /// What pictures are like when the ladder is asked.
    public struct Pictures: Sendable, BitwiseCopyable {
        /// They go out as they came.
        public var areBypassed = false
        /// What they are made like where they are not bypassed; nil before the first.
        public var made: OutputChoice?
        /// The stream has been left no rung but to skip pictures.
        public var areSkipped = false
        /// What they have cost; nil where nothing did.
        public var observed: Observation?
        /// What a viewer gains by them (``ViewerGain``); nil where nobody knows.
        public var gain: Float?
        /// Bits a second of the input's video; 0 where nobody knows.
        public var inputRate = 0

        public init() {}

        func areLike(_ choice: OutputChoice) -> Bool {
            choice.isBypass || areBypassed ? choice.isBypass && areBypassed : made == choice
        }
    }
}

extension OutputLadder.Observation {
    /// What frames have cost, from the times that a planner has learnt; nil before the first ones.
    /// - Parameter preset: the one with which they were encoded.
    public init?(_ planner: Planner, _ preset: EncoderPreset) {
        guard planner.encodes[.came].isObserved, planner.costs.hasObserved(.decode), planner.costs.hasObserved(.base) else {
            return nil
        }
        let interval = Double(planner.originalInterval.count)
        let synthesised = planner.encodes[.synthesised].rate * interval
        let repeated = planner.encodes[.repeated].rate * interval
        // An encoder that is too slow leaves slots empty, which were to be filled all the same.
        let filled = planner.encodes[.repeated].isObserved ? planner.requestedFrames - synthesised : 0
        self.init(
            low: OutputLadder.Costs(planner, preset, encoding: \.low) { $0.low },
            mean: OutputLadder.Costs(planner, preset, encoding: \.mean) { $0.mean },
            interval: planner.originalInterval, synthesised: planner.requestedFrames,
            added: OutputLadder.Added(synthesised: synthesised, repeated: max(repeated, filled)))
    }
}

extension OutputLadder.Costs {
    /// - Parameters:
    ///   - estimate: one of encoding.
    ///   - cost: the same of other work.
    fileprivate init(
        _ planner: Planner, _ preset: EncoderPreset, encoding estimate: (EncodeCosts.Entry) -> Double, _ cost: (Cost) -> Double
    ) {
        self.init()
        let configuration = planner.configuration
        let workers = Double(min(configuration.workers, configuration.cores))
        let encoders = Planner.coresEncoding(threads: min(configuration.encoders, configuration.cores))
        let enlargement = configuration.enlargement
        decode = cost(planner.costs[.decode]) / Double(configuration.input.samples)
        base = workers * cost(planner.costs[.base]) / enlargement.work
        func encoding(_ kind: EncodeKind) -> Double? {
            guard planner.encodes[kind].isObserved else { return nil }
            return encoders * estimate(planner.encodes[kind]) / Double(configuration.output.samples) / preset.weight
        }
        let share = encodeRepeated / encode
        encode = encoding(.came) ?? encode
        // Until one was encoded.
        encodeSynthesised = encoding(.synthesised) ?? encode
        encodeRepeated = encoding(.repeated) ?? encode * share
        if planner.costs.hasObserved(.synthesise) {
            synthesise = workers * cost(planner.costs[.synthesise]) / enlargement.synthesisWork
        }
    }

    /// The same costs as a planner's seeds.
    public func seeds(
        _ enlargement: Enlargement, _ preset: EncoderPreset, workers: Int, encoders: Int
    ) -> CostModel.Seeds {
        var seeds = CostModel.Seeds()
        seeds.decode = decode
        seeds.base = base * enlargement.work / Double(enlargement.input.samples) / Double(workers)
        seeds.synthesise = synthesise * enlargement.synthesisWork / Double(enlargement.output.samples) / Double(workers)
        seeds.encode = encode * preset.weight / Planner.coresEncoding(threads: encoders)
        return seeds
    }
}
