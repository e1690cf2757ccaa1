import Schedule

/// What became of a frame: each has exactly one fate.
public enum FrameFate: Hashable, Sendable, BitwiseCopyable {
    case emitted
    case dropped(DropReason)
}
