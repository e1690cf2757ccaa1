/// Where a frame came from. The books count each kind on their left side.
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
