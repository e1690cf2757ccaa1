import Media

/// How much work an interpolation spends on quality.
struct InterpolationEffort: Sendable {
    /// The pyramid's levels that pictures are made from. Of three, the second has half of the weight.
    var levels: [Int]
    /// The most steps of descent for a patch.
    var iterations: Int
    /// How many pictures on each side of a pair help to find its motion: 0 or 1.
    var lookahead: Int
    /// How much the motion that fits best counts in a cell, where each other one counts as 1. Three pictures that are mixed
    /// need less of the others.
    var preference: Int

    /// Motion at half size, or at a quarter for large pictures.
    static func live(for size: PictureSize) -> InterpolationEffort {
        InterpolationEffort(levels: [size.halvingsForLiveMotion], iterations: 3, lookahead: 0, preference: 2)
    }

    /// Motion at full, half and quarter size.
    static let careful = InterpolationEffort(levels: [1, 0, 2], iterations: 5, lookahead: 1, preference: 4)
}
