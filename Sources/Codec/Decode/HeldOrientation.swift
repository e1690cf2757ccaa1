import Media

/// How the pictures of a stream are to be turned for display. What the stream says with a picture holds until it says otherwise, or
/// has said nothing from one keyframe to the next: some encoders say it a picture behind the keyframe. Where it says nothing, the
/// container's word holds.
///
/// A pure value.
public struct HeldOrientation: Sendable {
    /// What the container says.
    var ofContainer = Orientation.upright
    private var said: Orientation?
    private var hasSpoken = false

    public init() {}

    /// The orientation of the next picture in the order of presentation.
    /// - Parameter said: what came with the picture; nil where nothing did.
    public mutating func next(isKeyframe: Bool, said newest: Orientation?) -> Orientation {
        if isKeyframe {
            if !hasSpoken { said = nil }
            hasSpoken = false
        }
        if let newest {
            said = newest
            hasSpoken = true
        }
        return said ?? ofContainer
    }
}
