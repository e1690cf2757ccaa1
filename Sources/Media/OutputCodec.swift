/// What pictures are encoded as.
public enum OutputCodec: String, CaseIterable, Sendable, BitwiseCopyable {
    /// By libx264.
    case h264
    /// By libx265.
    case hevc

    /// The name for reports and error messages.
    public var name: String {
        switch self {
        case .h264: "H.264"
        case .hevc: "HEVC"
        }
    }
}
