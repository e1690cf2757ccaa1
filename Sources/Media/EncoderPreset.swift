/// libx264's presets that a live stream may use, fastest first, and two of our own.
public enum EncoderPreset: String, CaseIterable, Comparable, Sendable, BitwiseCopyable {
    /// ``quick`` is `ultrafast` with what brings most for its time: CABAC, chosen coefficients, intra blocks of 8x8 and 4x4 samples, and
    /// transforms of 8x8. ``careful`` is `superfast` with what brings most for its time: no block is skipped or emptied by a guess before its
    /// coefficients are chosen, and the edges of blocks are smoothed less. Of HEVC it is `superfast`.
    case ultrafast, quick, superfast, careful, veryfast, faster, medium, slow

    /// The library's preset that it is made of.
    public var library: String {
        switch self {
        case .quick: Self.ultrafast.rawValue
        case .careful: Self.superfast.rawValue
        default: rawValue
        }
    }

    /// Its place among them, from the fastest.
    public var place: Int { Self.allCases.firstIndex(of: self)! }

    public static func < (a: Self, b: Self) -> Bool { a.place < b.place }
}
