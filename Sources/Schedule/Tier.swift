import Media

/// A super-resolution quality level, cheapest first. The raw value is what frame records and traces carry.
public enum Tier: UInt8, CaseIterable, Comparable, Sendable, BitwiseCopyable {
    /// The cheap complete upscale that every frame starts from.
    case base
    /// A small network that replaces tiles of the base upscale.
    case neuralS
    /// A larger network.
    case neuralM
    /// The largest, which takes seven to ten times as long: only where somebody asks for it.
    case quality

    /// The best that a stream has unless somebody asks for more.
    public static let usual = Tier.neuralM
    /// The time of a tile of `quality`, in tiles of `neuralM`.
    static let workOfQuality = 10.7

    /// The name on the command line, in reports and in traces.
    public var name: String {
        switch self {
        case .base: "base"
        case .neuralS: "neural-s"
        case .neuralM: "neural-m"
        case .quality: "quality"
        }
    }

    public init?(name: String) {
        guard let tier = Tier.allCases.first(where: { $0.name == name }) else { return nil }
        self = tier
    }

    @inlinable public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A kind of work that has its own cost.
public enum Work: Hashable, Sendable, BitwiseCopyable {
    /// Decoding one access unit.
    case decode
    /// The complete `base` upscale of one frame.
    case base
    /// One tile of a neural tier.
    case tile(Tier)
    /// A step on one frame. Those that have costs of their own are in the planner's requests.
    case step(StepKind)
    /// One synthesised frame.
    case synthesise
    /// Encoding one frame.
    case encode
    /// Multiplexing and sending one frame: from the encoder's output to the last byte handed to the output.
    case emit
}
