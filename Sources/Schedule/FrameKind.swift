/// Where a frame came from: the three terms on the left side of the books.
public enum FrameKind: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// An access unit of the input's main video stream.
    case original
    /// Made between two originals, or predicted from them.
    case synthesised
    /// An earlier frame, emitted again.
    case repeated
}

extension FrameKind {
    /// The name in reports and traces.
    public var name: String {
        switch self {
        case .original: "original"
        case .synthesised: "synthesised"
        case .repeated: "repeated"
        }
    }
}
