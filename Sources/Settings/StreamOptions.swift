import Media
import Schedule

/// What is fixed while a stream runs. Another value needs a restart of the stream.
public struct StreamOptions: Hashable, Sendable {
    /// How many times wider and higher pictures leave.
    public enum Scale: String, Sendable, CaseIterable {
        case same = "1"
        case oneAndHalf = "1.5"
        case double = "2"
        case triple = "3"
        /// As large as the machine carries from the first picture on, up to twice. Unlike ``double`` it holds for files, too.
        case fit

        /// The largest size that is meant.
        public var output: OutputSize {
            switch self {
            case .same: .same
            case .oneAndHalf: .oneAndHalf
            case .double, .fit: .double
            case .triple: .triple
            }
        }
    }

    public var scale = Scale.double
    /// The exact size of the output; nil follows ``scale``. The shape of the samples changes so that the picture keeps its own.
    public var size: PictureSize?
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
    /// What is encoded. Receivers of calls take H.264 only.
    public var codec = OutputCodec.h264
    public var preset = EncoderPreset.superfast
    /// A scaled picture never gets larger than this.
    public var largestOutput = PictureSize(width: 3840, height: 2160)

    /// How much of what came in and went out is kept for stills and clips; zero keeps nothing.
    public var past = Nanoseconds.zero
    /// The most memory for that, in bytes.
    public var pastMemory = 64_000_000

    public init() {}

    /// What the output's encoder takes at most: of HEVC, ``EncoderPreset/careful`` is ``EncoderPreset/superfast``.
    public var slowestPreset: EncoderPreset { codec == .hevc && preset == .careful ? .superfast : preset }

    /// How large pictures of a size leave at most: the scale, or a smaller one where the pictures would be larger than allowed.
    public func output(for input: PictureSize) -> OutputSize {
        if let size { return .exactly(size) }
        let largest = largestOutput
        return scale.output.limited(for: input) { size in
            // The limit holds for landscape and portrait.
            max(size.width, size.height) <= max(largest.width, largest.height)
                && min(size.width, size.height) <= min(largest.width, largest.height) && Self.isCodable(size)
        }
    }

    /// Whether H.264's highest level has pictures of this size (ITU-T H.264, table A-1, level 6.2).
    public static func isCodable(_ size: PictureSize) -> Bool {
        (size.width + 15) / 16 * ((size.height + 15) / 16) <= 139_264
    }
}
