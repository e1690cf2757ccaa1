import Schedule

/// How a frame ended. Each frame has exactly one fate.
public enum FrameFate: Hashable, Sendable, BitwiseCopyable {
    case emitted
    case dropped(DropReason)
}
