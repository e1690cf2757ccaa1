/// What a viewer of a call gets of a stream.
public enum ViewerLayer: String, Codable, Hashable, Sendable, CaseIterable {
    /// What the relay makes of the pictures.
    case enhanced
    /// The publisher's own pictures, as they came.
    case sent
    /// No pictures.
    case sound
}
