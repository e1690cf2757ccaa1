/// libx264's presets that a live stream may use, fastest first.
public enum EncoderPreset: String, CaseIterable, Comparable, Sendable, BitwiseCopyable {
    case ultrafast, superfast, veryfast, faster, medium, slow

    /// Its place among them, from the fastest.
    public var place: Int { Self.allCases.firstIndex(of: self)! }

    public static func < (a: Self, b: Self) -> Bool { a.place < b.place }
}
