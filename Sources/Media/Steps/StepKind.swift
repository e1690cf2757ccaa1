/// What can be done to a picture between decoder and encoder: the one table of it. The cases stand in the order in which a picture
/// meets them.
///
/// Settings, the planner's costs, frame records, metrics and reports take names and facts from here, and name no kind themselves.
/// docs/design/chain.md says how a step is added.
public enum StepKind: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case deinterlace
    // Before all that keeps pictures, enlarges them or shows them: none of it sees what is hidden.
    case mask
    case crop
    // Before what was trained, and measures noise, on pictures in the right colours.
    case color
    case denoise
    case enlarge
    case sharpen
    case synthesise
    // On top of all.
    case overlay
    case reactions

    /// There is room for so many kinds wherever one value is kept for each.
    public static let capacity = 16

    /// Where a step stands.
    public enum Place: UInt8, Sendable {
        /// On pictures as they are coded: behind the decoder, before anything turns them. Live, the decode thread does its work.
        case decoded
        /// On pictures at the size at which they come, before they are enlarged.
        case source
        /// In the enlargement.
        case enlargement
        /// Between two enlarged pictures, or beyond one.
        case synthesis
        /// On pictures at the size at which they leave, those that were synthesised too.
        case result
    }

    /// Whether a picture may go without it.
    public enum Need: UInt8, Sendable {
        /// The step is part of the least work on a picture. The planner counts it in.
        case must
        /// The step is a gain, which the planner grants where there is time.
        case may
    }

    /// What a step does with memory.
    public enum Output: UInt8, Sendable {
        /// It writes a picture of its own. It reads the other while it does.
        case new
        /// It writes every sample, and may write over what it reads.
        case over
        /// It changes some samples of the picture that it is given.
        case part
    }

    /// Which pictures a step looks at.
    public enum Memory: UInt8, Sendable {
        /// The one that it treats.
        case none
        /// The one before, too, as it came. The caller keeps it.
        case before
        /// Those that it has seen. It keeps what it needs of them.
        case own
    }

    /// One row of the table.
    public struct Facts: Sendable {
        /// In settings, records, metrics and reports.
        public let name: String
        /// The same for a sentence: `denoising`.
        public let doing: String
        public let place: Place
        public let need: Need
        /// Nanoseconds for a luma sample at its place, before any has been observed. Nil where its time is part of another's.
        public let seed: Double?
        public let output: Output
        public let memory: Memory
        /// While it is on, no picture may pass untouched: none goes out as it came, or as settings before it made it.
        public let holdsBypass: Bool

        init(
            _ name: String, _ doing: String, _ place: Place, _ need: Need, seed: Double? = nil, _ output: Output,
            memory: Memory = .none, holdsBypass: Bool = false
        ) {
            self.name = name
            self.doing = doing
            self.place = place
            self.need = need
            self.seed = seed
            self.output = output
            self.memory = memory
            self.holdsBypass = holdsBypass
        }
    }

    // Deinterlacing and masks count as decoding, and sharpening as enlarging, whose costs the planner has apart; so has synthesis.
    public var facts: Facts {
        switch self {
        case .deinterlace: Facts("deinterlace", "deinterlacing", .decoded, .must, .new, memory: .before)
        case .mask: Facts("mask", "masking", .decoded, .must, .part, holdsBypass: true)
        case .crop: Facts("crop", "cropping", .source, .must, seed: 1, .new)
        case .color: Facts("color", "changing colours", .source, .must, seed: 2.5, .over)
        case .denoise: Facts("denoise", "denoising", .source, .may, seed: 14, .over, memory: .own)
        case .enlarge: Facts("enlarge", "enlarging", .enlargement, .must, .new, memory: .own)
        case .sharpen: Facts("sharpen", "sharpening", .enlargement, .may, .part)
        case .synthesise: Facts("synthesise", "synthesising", .synthesis, .may, .new, memory: .own)
        case .overlay: Facts("overlay", "overlaying", .result, .must, seed: 0.1, .part)
        case .reactions: Facts("reactions", "showing reactions", .result, .must, seed: 0.2, .part)
        }
    }

    public var name: String { facts.name }
}
