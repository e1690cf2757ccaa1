/// libx264's presets that a live stream may use, fastest first, and one of our own.
public enum EncoderPreset: String, CaseIterable, Comparable, Sendable, BitwiseCopyable {
    /// ``quick`` is `ultrafast` with what brings most for its time: CABAC, chosen coefficients, intra blocks of 8x8 and 4x4 samples, and
    /// transforms of 8x8.
    case ultrafast, quick, superfast, veryfast, faster, medium, slow

    /// Its place among them, from the fastest.
    public var place: Int { Self.allCases.firstIndex(of: self)! }

    public static func < (a: Self, b: Self) -> Bool { a.place < b.place }
}
