import Media
import Schedule

/// What is fixed while a stream runs. Another value needs a restart of the stream.
public struct StreamOptions: Hashable, Sendable {
    /// How many times wider and higher pictures leave: 1 or 2.
    public var scale = 2
    /// The output never changes its size. So pictures never go out as they came, and where the machine is too slow, frames are
    /// dropped.
    public var keepSize = false
    /// A constant output rate, whatever the input's is; nil follows the input.
    public var fps: Rational?
    /// Whether the output goes on while a live source is gone: the last frame again, after ``hold`` a plain grey picture, and
    /// silence for the sound. A constant rate always keeps its pictures going.
    public var keepOutput = true
    /// How long the last frame is repeated after the source has stopped. Then a plain grey picture is sent until it is back.
    public var hold = Nanoseconds.seconds(5)
    /// Pictures to wait for before a frame is synthesised: 1 interpolates, 0 extrapolates and delays no original.
    public var lookahead = 1
    /// Threads that decode one picture together, that encode one together (a slice each), and that enhance one together.
    public var decodeThreads = 1
    public var encodeThreads = 2
    public var threads = 2
    public var preset = EncoderPreset.superfast
    /// A scaled picture never gets larger than this.
    public var largestOutput = PictureSize(width: 3840, height: 2160)

    public init() {}
}
