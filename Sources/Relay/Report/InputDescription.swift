import Media

/// What a stream's input is like, for people. What is not known is nil.
public struct InputDescription: Hashable, Sendable {
    /// A stream of sound.
    public struct Sound: Hashable, Sendable {
        public var codec: String
        public var channels: Int?
        /// Samples a second.
        public var sampleRate: Int?
        /// So far.
        public var bytes: Int64
    }

    public var codec: String?
    public var profile: String?
    public var level: String?
    public var size: PictureSize?
    /// Frames a second, as the headers have it.
    public var frameRate: Double?
    /// Bits of a luma sample.
    public var bitDepth: Int?
    /// Between the last two keyframes.
    public var keyframeInterval: Nanoseconds?
    public var sounds: [Sound] = []

    public init() {}
}
