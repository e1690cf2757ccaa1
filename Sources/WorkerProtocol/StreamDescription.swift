/// What a stream's input is like and what it becomes, for people. What is not known is nil.
public struct StreamDescription: Codable, Hashable, Sendable {
    /// A stream of sound.
    public struct Sound: Codable, Hashable, Sendable {
        public var codec: String
        public var channels: Int?
        /// Samples a second.
        public var sampleRate: Int?
        /// Bits a second over the last seconds.
        public var bitRate: Double?

        public init(codec: String, channels: Int? = nil, sampleRate: Int? = nil, bitRate: Double? = nil) {
            self.codec = codec
            self.channels = channels
            self.sampleRate = sampleRate
            self.bitRate = bitRate
        }
    }

    /// The most streams of sound that are described.
    public static let mostSounds = 8

    public var codec: String?
    public var profile: String?
    public var level: String?
    public var width: Int?
    public var height: Int?
    /// Frames a second, as the headers have it.
    public var frameRate: Double?
    /// Bits of a luma sample.
    public var bitDepth: Int?
    /// Seconds between the last two keyframes.
    public var keyframeInterval: Double?
    public var sounds: [Sound] = []
    /// What goes out.
    public var outputCodec: String?

    public init() {}
}
