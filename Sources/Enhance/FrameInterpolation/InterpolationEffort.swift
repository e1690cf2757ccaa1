import Media

/// How much work an interpolation does for its quality.
struct InterpolationEffort: Sendable {
    /// The pyramid's levels that pictures are made from; with three, the second has half of the weight.
    var levels: [Int]
    /// Steps of descent for a patch at most.
    var iterations: Int
    /// How many pictures beyond a pair tell of its motion: 0 or 1.
    var lookahead: Int

    /// Motion at half size, and at a quarter where that still has some 320x180 samples: what it costs and what it finds
    /// then depend little on the size.
    static func live(for size: PictureSize) -> InterpolationEffort {
        InterpolationEffort(
            levels: [size.width * size.height / 4 > 200_000 ? 2 : 1], iterations: 3, lookahead: 0)
    }

    /// Motion at full, half and quarter size.
    static let careful = InterpolationEffort(levels: [1, 0, 2], iterations: 5, lookahead: 1)
}
