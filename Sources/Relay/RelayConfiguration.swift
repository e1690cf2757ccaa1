import Codec
import Endpoint
import Media
import Schedule
import Telemetry
import Transport

/// What one stream's relay is to do. A field for which `burnish relay` has an option has that option's default.
public struct RelayConfiguration: Sendable {
    /// When a finished frame leaves.
    public enum Pacing: String, Sendable, CaseIterable {
        /// As soon as it is ready. SRT source times let the next hop's window restore the cadence.
        case eager
        /// Evenly, at the time that its source time asks for. For receivers without a window, such as plain UDP players.
        case paced
    }

    public var input: StreamURL
    public var output: StreamURL
    /// How many times wider and higher pictures leave: 1 or 2.
    public var scale = 2
    /// Frames out for each frame in, where ``fps`` is nil: 1 or 2.
    public var interpolate = 1
    /// A constant output rate, whatever the input's is; nil follows the input. Each of its slots gets a frame: the nearest
    /// original, one synthesised for its time, or the last one again.
    public var fps: Rational?
    /// How long the last frame is repeated after the source has stopped, at a constant rate. Then a plain grey picture is sent
    /// until the source is back.
    public var hold = Nanoseconds.seconds(5)
    /// Pictures to wait for before a frame is synthesised: 1 interpolates between two pictures, 0 extrapolates from the past
    /// and delays no original.
    public var lookahead = 1
    /// The best tier of super-resolution that may be used. The scheduler decides frame by frame.
    public var tier = Tier.neuralM
    /// How much enlarged pictures are sharpened, from 0 (not at all) to 1.
    public var sharpness = 0.0
    /// The time from the moment at which a plain receiver would have had a frame to the frame's deadline.
    public var budget = Nanoseconds.milliseconds(80)
    /// How many times slower the machine may suddenly become before tiles or synthesised frames make an original late. One of
    /// `Planner.Weights.cautions`.
    public var caution: Double {
        get { weights.caution }
        set { weights.caution = newValue }
    }
    public var pacing = Pacing.eager
    /// Threads that decode one picture together, if it has several slices.
    public var decodeThreads = Self.defaultDecodeThreads
    public static let defaultDecodeThreads = 1
    /// Threads that encode one picture together, a slice each.
    public var encodeThreads = Self.defaultEncodeThreads
    public static let defaultEncodeThreads = 2
    /// Threads that enhance one frame together.
    public var threads = 2
    /// Bits a second of the output's video; nil derives them from size and rate.
    public var bitRate: Int?
    public var preset = VideoEncoderConfiguration.Preset.superfast
    /// A scaled picture never gets larger than this. An input that would passes at its own size.
    public var largestOutput = PictureSize(width: 3840, height: 2160)

    /// Where to write a trace of every frame for `burnish replay`; nil writes none.
    public var tracePath: String?
    /// Where other processes read what the stream does; nil where none do.
    public var telemetry: TelemetryMap.Writer?
    /// How long an output that is called may take to answer for the first time. Nil waits for nobody: the stream begins, and the
    /// output calls until somebody answers.
    public var firstConnection: Nanoseconds? = .seconds(5)

    /// Whether frames are synthesised.
    var synthesises: Bool { fps != nil || interpolate > 1 }

    /// The slots of a constant output rate.
    var grid: SlotGrid? { fps.map { SlotGrid(rate: $0, start: Timeline.start) } }

    /// Frames a second in the output.
    /// - Parameter source: originals a second.
    func outputRate(source: Rational) -> Rational {
        fps ?? Rational(source.numerator * Int64(interpolate), source.denominator)
    }

    /// On which side of their originals synthesised frames leave.
    var synthesisOrder: SynthesisOrder { lookahead == 0 ? .afterOriginal : .beforeOriginal }

    /// Whether files are read at the pace of their time stamps, like live sources. Tests about something else do not wait.
    var pacesFiles = true
    /// Whether each frame of a file waits until the one before is out. Tests that count what is synthesised in between set it, so
    /// that the machine's speed does not matter.
    var readsFramesOneByOne = false
    /// What the scheduler weighs against what.
    var weights = Planner.Weights()
    /// Whether what other programs use of the machine counts. Tests about something else use all of it.
    var watchesMachine = true

    /// Make the codecs. Tests make some that fail.
    var makeDecoder: @Sendable (VideoDecoder.Configuration) throws(CodecError) -> any PictureDecoder = {
        (configuration) throws(CodecError) in try VideoDecoder(configuration)
    }
    var makeEncoder: @Sendable (VideoEncoderConfiguration) throws(CodecError) -> any PictureEncoder = {
        (configuration) throws(CodecError) in try VideoEncoder(configuration)
    }

    /// How many times larger a picture of this size leaves.
    func scale(for size: PictureSize) -> Int {
        let scaled = size.scaled(by: scale)
        // The limit holds for landscape and portrait.
        let fits =
            max(scaled.width, scaled.height) <= max(largestOutput.width, largestOutput.height)
            && min(scaled.width, scaled.height) <= min(largestOutput.width, largestOutput.height)
        return fits ? scale : 1
    }

    /// The encoder's settings for pictures of one size.
    /// - Parameter rate: pictures a second.
    func encoding(of size: PictureSize, color: ColorDescription, rate: Rational) -> VideoEncoderConfiguration {
        var encoding = VideoEncoderConfiguration(size: size, frameRate: rate)
        encoding.color = color
        encoding.preset = preset
        encoding.threads = encodeThreads
        // A tenth of a bit for each sample keeps x264's fastest presets near transparent at these sizes.
        let bits = bitRate ?? Int(0.1 * Double(size.width * size.height) * rate.value)
        encoding.rateControl = .quality(23, maximumRate: bits, bufferFrames: 4)
        return encoding
    }

    public init(input: StreamURL, output: StreamURL) {
        self.input = input
        self.output = output
    }
}
