import Kernels
import Media

/// Lets shapes fly over pictures that leave. Shapes are drawn when the step is made.
public final class ReactionStep: PictureStep {
    public let kind = StepKind.reactions
    private let size: PictureSize
    private let kinds: Set<Reaction.Kind>
    private var tone: OverlayTone
    /// By shape, colour and size.
    private var sprites: [OverlayLayer?] = []
    private let kernels = Kernels.best

    /// - Parameters:
    ///   - reactions: whose kinds it can show.
    ///   - size: of the pictures that leave.
    public init(_ reactions: [Reaction], size: PictureSize) {
        self.size = size
        kinds = Set(reactions.map(\.kind))
        tone = OverlayTone(StepParameters(StepSettings()), height: size.height)
        draw()
    }

    public func suits(_ settings: StepSettings) -> Bool { settings.reactions.allSatisfy { kinds.contains($0.kind) } }

    private static func shape(of kind: Reaction.Kind) -> ReactionShape {
        switch kind {
        case .thumbsUp: .thumbUp
        case .thumbsDown: .thumbDown
        case .heart: .heart
        case .balloons: .balloon
        case .rain: .drop
        case .confetti: .paper
        case .fireworks, .lasers: .spark
        }
    }

    private static func index(_ shape: ReactionShape, _ color: Int, _ size: Int) -> Int {
        (shape.rawValue * ReactionShape.colors.count + color) * ReactionMotion.sizes.count + size
    }

    private func draw() {
        let height = tone.turn.size(of: size).height
        let count = Self.index(ReactionShape.allCases.last!, ReactionShape.colors.count, 0)
        sprites = [OverlayLayer?](repeating: nil, count: count)
        for shape in Set(kinds.map(Self.shape)) {
            for color in ReactionShape.colors.indices {
                for (index, share) in ReactionMotion.sizes.enumerated() {
                    let side = max(2 * Int((Double(height) * share / 2).rounded()), 4)
                    sprites[Self.index(shape, color, index)] =
                        OverlayLayer(shape.image(side: side, color: color), height: side, opacity: 1, tone)
                }
            }
        }
    }

    @unsafe public func process(
        _ input: StepInput?, into output: MutablePictureView, _ parameters: StepParameters
    ) throws(EnhanceError) -> StepOutcome {
        guard unsafe input != nil else { return .pending }
        let now = MonotonicTime.now()
        let tone = OverlayTone(parameters, height: size.height)
        if tone != self.tone {
            self.tone = tone
            draw()
        }
        let upright = tone.turn.size(of: size)
        let height = Double(upright.height)
        var isChanged = false
        for reaction in parameters.settings.reactions where reaction.begins <= now && now < reaction.ends {
            isChanged = true
            let motion = ReactionMotion(
                reaction: reaction, time: (now - reaction.begins).seconds, width: Double(upright.width) * tone.shape / height)
            for index in 0..<motion.count {
                guard let sprite = motion.sprite(index),
                    let layer = sprites[Self.index(sprite.shape, sprite.color, sprite.size)]
                else { continue }
                let (x, y) = tone.place(
                    of: layer, x: Int(sprite.x * height / tone.shape) - layer.uprightWidth(tone) / 2,
                    y: Int(sprite.y * height) - layer.uprightHeight(tone) / 2, in: size)
                unsafe layer.lay(over: output, x: x, y: y, kernels)
            }
        }
        return isChanged ? .written : .unchanged
    }
}
