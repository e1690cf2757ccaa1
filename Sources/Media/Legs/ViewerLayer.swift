/// What a viewer of a call gets of a stream.
public enum ViewerLayer: String, Codable, Hashable, Sendable, CaseIterable {
    /// What the relay makes of the pictures.
    case enhanced
    /// The publisher's own pictures, as they came.
    case sent
    /// What the relay makes of the pictures in a smaller encode, for links that carry neither of the others, and for programs that show
    /// VP8 alone.
    case small
    /// No pictures.
    case sound
}
