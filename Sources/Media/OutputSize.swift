/// How large pictures leave: in proportion to those that come, or exactly.
public enum OutputSize: Hashable, Sendable, BitwiseCopyable {
    /// So many halves of the input's width and height: 2 (the same), 3, 4 or 6.
    case halves(Int)
    /// This size, whatever comes.
    case exactly(PictureSize)

    public static let same = halves(2)
    public static let oneAndHalf = halves(3)
    public static let double = halves(4)
    public static let triple = halves(6)

    /// The sizes that an output falls to, the largest first.
    public static let steps: [OutputSize] = [.triple, .double, .oneAndHalf, .same]

    /// The size of the pictures that leave. Sides that are not whole, or odd where pictures are enlarged, become the nearest even
    /// number: H.264 in 4:2:0 has no others. Pictures that keep their size may be odd.
    public func size(of input: PictureSize) -> PictureSize {
        switch self {
        case .exactly(let size): return size
        case .halves(2): return input
        case .halves(let halves):
            func side(_ side: Int) -> Int { max(2, (side * halves + 2) / 4 * 2) }
            return PictureSize(width: side(input.width), height: side(input.height))
        }
    }

    /// The best of this size and the smaller steps that a condition allows; the input's own size where it allows none.
    public func limited(for input: PictureSize, _ isAllowed: (PictureSize) -> Bool) -> OutputSize {
        if isAllowed(size(of: input)) { return self }
        return smallerSteps(for: input).first { isAllowed($0.size(of: input)) } ?? .same
    }

    /// The steps below this size.
    public func smallerSteps(for input: PictureSize) -> [OutputSize] {
        let samples = size(of: input).samples
        return Self.steps.filter { $0.size(of: input).samples < samples }
    }
}

/// How a picture is brought to the output's size.
///
/// Networks double pictures. So pictures are doubled first where the output has at least that size, and where networks are to refine
/// pictures that leave a little larger than they came. A polyphase filter does the rest.
public struct Enlargement: Hashable, Sendable, BitwiseCopyable {
    public let input: PictureSize
    public let output: PictureSize
    /// Whether pictures are doubled, which networks need.
    public let doubles: Bool

    /// Networks refine pictures that leave with at least so many times the samples that come. At 1.1 times the width and height they
    /// still bring 0.3 to 0.6 dB (docs/measurements/super-resolution.md).
    private static let leastRefined = 1.2
    /// The longest side of doubled pictures that others can be synthesised from.
    private static let longestRefined = 8192

    /// - Parameter refined: whether networks are to refine the pictures, where they can.
    public init(from input: PictureSize, to output: PictureSize, refined: Bool = false) {
        self.input = input
        self.output = output
        let doubled = input.scaled(by: 2)
        let isRefined =
            refined && output.width >= input.width && output.height >= input.height
            && Double(output.samples) >= Self.leastRefined * Double(input.samples)
            && max(doubled.width, doubled.height) <= Self.longestRefined
        doubles = isRefined || output.width >= doubled.width && output.height >= doubled.height
    }

    /// Whether pictures leave larger than they came.
    public var enlarges: Bool { output.samples > input.samples }

    /// Whether a polyphase filter brings pictures to the output's size.
    public var resamples: Bool { output != (doubles ? input.scaled(by: 2) : input) }
}

extension PictureSize {
    /// Luma samples.
    public var samples: Int { width * height }
}

extension ColorDescription {
    /// The same description for pictures that have been brought to another size: where the proportions of the size have changed, the
    /// shape of the samples makes up for it. Proportions that differ by less than a two-hundredth count as the same.
    public func shaped(from input: PictureSize, to output: PictureSize) -> ColorDescription {
        let (width, height) = (Int64(input.width * output.height), Int64(input.height * output.width))
        guard abs(width - height) * 200 > min(width, height) else { return self }
        var shaped = self
        // Samples whose shape the stream does not say are squares.
        let former = sampleAspectRatio.numerator > 0 ? sampleAspectRatio : Rational(1)
        shaped.sampleAspectRatio = Rational(former.numerator * width, former.denominator * height)
        return shaped
    }
}
