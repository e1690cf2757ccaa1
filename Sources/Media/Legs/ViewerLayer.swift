/// What a viewer of a call gets of a stream.
public enum ViewerLayer: String, Codable, Hashable, Sendable, CaseIterable {
    /// What the relay makes of the pictures.
    case enhanced
    /// The publisher's own pictures, as they came.
    case sent
    /// What the relay makes of the pictures in one more encode: a smaller one for links that carry neither of the others, or one for
    /// programs that show VP8, or constrained baseline, alone.
    case small
    /// No pictures.
    case sound
}

/// What a viewer's program can show of H.264, where it offers more than that, or others offer the same and show more.
public enum ViewerProfile: String, Codable, Hashable, Sendable, CaseIterable {
    /// The constrained baseline profile alone.
    case baseline
}
