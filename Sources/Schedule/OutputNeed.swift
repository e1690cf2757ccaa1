import Media

/// What an output needs: what pictures cost, and how many there are.
extension OutputLadder {
    /// What work costs, in nanoseconds of one core.
    public struct Costs: Hashable, Sendable, BitwiseCopyable {
        /// Decoding, for each pixel of the input.
        public var decode = 9.0
        /// The base upscale, for each pixel of a doubled picture.
        public var base = 2.0
        /// Encoding a picture that came, with the fastest preset, for each pixel of the output.
        public var encode = 9.0
        /// The same of a picture that was synthesised, and of one that is repeated.
        public var encodeSynthesised = 9.0
        public var encodeRepeated = 6.0
        /// Synthesising a frame, for each sample of its work.
        public var synthesise = 5.5

        public init() {}

        /// - Parameter share: 1 to become equal.
        mutating func approach(_ other: Costs, by share: Double) {
            decode += (other.decode - decode) * share
            base += (other.base - base) * share
            encode += (other.encode - encode) * share
            encodeSynthesised += (other.encodeSynthesised - encodeSynthesised) * share
            encodeRepeated += (other.encodeRepeated - encodeRepeated) * share
            synthesise += (other.synthesise - synthesise) * share
        }
    }

    /// Pictures that are encoded beside each that came, on average, where the rate changes.
    public struct Added: Hashable, Sendable, BitwiseCopyable {
        public var synthesised = 0.0
        /// At a constant rate: there was no time to synthesise one.
        public var repeated = 0.0

        public init(synthesised: Double = 0, repeated: Double = 0) {
            self.synthesised = synthesised
            self.repeated = repeated
        }

        mutating func approach(_ other: Added, by share: Double) {
            synthesised += (other.synthesised - synthesised) * share
            repeated += (other.repeated - repeated) * share
        }
    }

    /// What a choice needs.
    public struct Need: Hashable, Sendable, BitwiseCopyable {
        public var cores: Double
        /// The share of the time between two pictures that the busiest thread works.
        public var share: Double

        /// - Parameter limit: the share of the cores and of the time that may be used.
        public func fits(_ cores: Double, limit: Double) -> Bool { self.cores <= limit * cores && share <= limit }
    }

    /// What is fixed for pictures of one size.
    public struct Stream: Hashable, Sendable, BitwiseCopyable {
        public var input: PictureSize
        /// The time between two pictures, as the headers say.
        public var interval: Nanoseconds
        /// Threads that share the enhancement of a picture, and its encoding.
        public var workers = 2
        public var encoders = 2
        /// Whether networks are to refine the pictures.
        public var isRefined = false
        /// Frames that are to be synthesised with each picture, until pictures show it.
        public var synthesised = 0.0

        public init(input: PictureSize, interval: Nanoseconds) {
            self.input = input
            self.interval = interval
        }

        func enlargement(to size: OutputSize) -> Enlargement {
            Enlargement(from: input, to: size.size(of: input), refined: isRefined)
        }

        /// Before pictures show how many can be synthesised, all count as repeated: nothing less is encoded.
        var added: Added { Added(repeated: synthesised) }

        /// What a choice needs.
        /// - Parameters:
        ///   - interval: the time between two pictures; nil for what the headers say.
        ///   - added: what is encoded beside each picture that comes.
        ///   - synthesised: frames whose synthesis counts, too. It may be left out, so it is no part of what is needed.
        func need(
            of choice: OutputChoice, _ costs: Costs, every interval: Nanoseconds? = nil, beside added: Added = Added(),
            synthesising synthesised: Double = 0
        ) -> Need {
            guard !choice.isBypass else { return Need(cores: 0, share: 0) }
            let enlargement = enlargement(to: choice.size)
            let decode = costs.decode * Double(input.samples)
            let enhance = costs.base * enlargement.work + synthesised * costs.synthesise * enlargement.synthesisWork
            let pictures =
                costs.encode + added.synthesised * costs.encodeSynthesised + added.repeated * costs.encodeRepeated
            let encode = pictures * Double(enlargement.output.samples) * choice.preset.weight
            let interval = Double((interval ?? self.interval).count)
            let busiest = max(decode, enhance / Double(workers), encode / Planner.coresEncoding(threads: encoders))
            return Need(cores: (decode + enhance + encode) / interval, share: busiest / interval)
        }
    }
}

extension EncoderPreset {
    /// The time that it takes in proportion to the fastest preset, which has CABAC here: of the first four measured with 720p and larger
    /// pictures, and of the others rounded up from x264's own figures. All but the fastest also choose their coefficients
    /// (docs/measurements/bits.md).
    public var weight: Double {
        switch self {
        case .ultrafast: 1
        case .quick: 1.5
        case .superfast: 2.3
        case .careful: 2.7
        case .veryfast: 3.2
        case .faster: 4.3
        case .medium: 6
        case .slow: 9
        }
    }
}
