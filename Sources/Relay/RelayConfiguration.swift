import Bitstream
import Codec
import Container
import Endpoint
import Enhance
import Media
import Packets
import Schedule
import Settings
import Telemetry
import Transport

/// What one stream's relay is to do.
public struct RelayConfiguration: Sendable {
    public var input: StreamURL
    /// At least one. All get the same.
    public var outputs: [StreamURL]
    /// What is fixed while the stream runs.
    public var options: StreamOptions
    /// What the settings that may change are at the start. ``Relay/change(_:)`` changes them.
    public var settings: StreamSettings

    /// Where an end is a file or pipe: a descriptor that somebody else has opened. The relay closes it.
    public var inputDescriptor: Int32?
    /// A TCP socket that listens for calls.
    package var callListener: SharedDescriptor?
    /// By the output's place in ``outputs``. Plain RTP writes its session description there.
    public var outputDescriptors: [Int: Int32] = [:]

    /// Where an end is called: what carries its calls. Outputs by their places.
    public var inputCall: Source?
    public var outputCalls: [Int: Sink] = [:]

    /// Where to write a trace of every frame for `burnish replay`; nil writes none.
    public var tracePath: String?
    /// Opens the files of a recording; nil records nothing.
    public var openRecording: RecordOpening?
    /// Where other processes read what the stream does; nil where none do.
    public var telemetry: TelemetryMap.Writer?
    /// How long an output that is called may take to answer for the first time. Nil waits for nobody: the stream begins, and the
    /// output calls until somebody answers.
    public var firstConnection: Nanoseconds? = .seconds(5)

    /// The smaller encode that the first output of calls asks for; nil for none.
    var smallEncoding: ExtraEncoding? {
        for case .call(let endpoint) in outputs {
            return endpoint.small.map { ExtraEncoding(codec: .h264, box: $0.size, mostBits: $0.bitRate) }
        }
        return nil
    }

    /// The encode in VP8 for viewers of calls whose programs show no H.264; nil where there can be none.
    var vp8Encoding: ExtraEncoding? {
        guard VP8Encoder.isAvailable, outputs.contains(where: { if case .call = $0 { true } else { false } }) else {
            return nil
        }
        return ExtraEncoding(codec: .vp8, box: ExtraEncoding.vp8Box)
    }

    /// The encode for viewers of calls whose programs show constrained baseline alone; nil without calls.
    var baselineEncoding: ExtraEncoding? {
        guard outputs.contains(where: { if case .call = $0 { true } else { false } }) else { return nil }
        return ExtraEncoding(codec: .baseline, box: ExtraEncoding.baselineBox)
    }

    /// Whether viewers of calls may be promised pictures in VP8.
    public var servesVP8: Bool { vp8Encoding != nil }

    /// Whether frames are synthesised with these settings.
    func synthesises(_ settings: StreamSettings) -> Bool { options.fps != nil || settings.interpolate > 1 }

    /// The slots of a constant output rate.
    var grid: SlotGrid? { options.fps.map { SlotGrid(rate: $0, start: Timeline.start) } }

    /// Whether the output goes on where no pictures come.
    var goesOn: Bool { options.fps != nil || options.keepOutput && input.isLive }

    /// Frames a second in the output.
    /// - Parameter source: originals a second.
    func outputRate(source: Rational, _ settings: StreamSettings) -> Rational {
        options.fps ?? Rational(source.numerator * Int64(settings.interpolate), source.denominator)
    }

    /// On which side of their originals synthesised frames leave.
    var synthesisOrder: SynthesisOrder { options.lookahead == 0 ? .afterOriginal : .beforeOriginal }

    /// Memory for units on their way into a recording, in bytes: at 5 Mbit/s, 16 MB are 25 seconds of a disk that stands still.
    var recordingMemory = 16 << 20
    /// How long a recording pauses after a fault, at first and at most.
    var recordingPauses = Nanoseconds.seconds(1)...Nanoseconds.seconds(60)
    /// Whether files are read at the pace of their time stamps, like live sources. Tests about something else do not wait.
    var pacesFiles = true
    /// Whether each frame of a file waits until the one before is out. Tests that count what is synthesised in between set it, so
    /// that the machine's speed does not matter.
    var readsFramesOneByOne = false
    /// Whether a frame waits until the processors that new settings need have been made. Tests that count what they do set it.
    var awaitsProcessors = false
    /// How long a request for a picture to show waits for a frame. Tests that stop the stream meanwhile wait longer.
    var pictureTimeout = Nanoseconds.seconds(2)
    /// Whether the output is made smaller, or bypassed, where it does not fit the machine. What fits is measured before the first
    /// frame. Files can wait, so they are limited only where ``StreamOptions/Scale/fit`` asks for it. Tests about something else
    /// leave it off.
    public var fitsMachine = false
    /// Whether there is an output to choose.
    var choosesOutput: Bool { fitsMachine && (input.isLive || options.scale == .fit) }
    /// What pictures of a format are encoded for.
    func purpose(of format: VideoParameters, _ settings: StreamSettings) -> OutputLadder.Purpose {
        let changesRate =
            options.fps != nil || settings.interpolate > 1 || settings.bitRate != nil || settings.bitRateFloor != nil
            || settings.bits ?? 1 < 1
        // Not every receiver of H.264 has a decoder for these.
        let changesFormat =
            format.codec != StreamCodec(options.codec).video || format.bitDepth > 8 || format.chromaFormat > 1
            || format.color.isHDR
        // What is asked of each picture, but for what is done to enlarged ones only.
        let changesPicture = StepSet.single.contains {
            !settings.steps.isNeutral($0) && ($0 == .deinterlace ? !format.isProgressive : $0 != .sharpen && $0 != .reactions)
        }
        if changesRate || changesFormat || changesPicture { return .change }
        let isSizeAsked = options.size != nil || options.scale != .double && options.scale != .fit
        return isSizeAsked ? .size : .refinement
    }

    /// What the scheduler weighs against what. The settings' caution replaces that of the weights.
    var weights = Planner.Weights()
    /// Whether what other programs use of the machine counts. Tests about something else use all of it.
    var watchesMachine = true

    /// Makes what masks pictures, and the codecs. Tests make some that fail.
    var makeMask: @Sendable () -> any PictureStep = { MaskStep() }
    var makeDecoder: @Sendable (VideoDecoder.Configuration) throws(CodecError) -> any PictureDecoder = {
        (configuration) throws(CodecError) in try VideoDecoder(configuration)
    }
    var makeEncoder: @Sendable (VideoEncoderConfiguration) throws(CodecError) -> any PictureEncoder = {
        (configuration) throws(CodecError) in try VideoEncoder(configuration)
    }

    var makeExtraEncoder: @Sendable (VideoEncoderConfiguration, ExtraEncoding.Codec) throws(CodecError) -> any PictureEncoder =
        {
            (configuration, codec) throws(CodecError) in
            if codec == .vp8 { return try VP8Encoder(configuration) }
            return try VideoEncoder(configuration)
        }

    /// The encoder's settings for pictures of one size.
    /// - Parameters:
    ///   - rate: pictures a second.
    ///   - input: bits a second of the input's video; 0 while they are not known.
    func encoding(
        of size: PictureSize, color: ColorDescription, rate: Rational, preset: EncoderPreset? = nil, input: Int = 0,
        _ settings: StreamSettings
    ) -> VideoEncoderConfiguration {
        var encoding = VideoEncoderConfiguration(size: size, frameRate: rate)
        encoding.codec = options.codec
        encoding.color = color
        encoding.preset = preset ?? options.slowestPreset
        encoding.threads = options.encodeThreads
        var bits = maximumRate(samples: Double(size.samples) * rate.value, input: input, settings)
        // What flies costs bits. What somebody says of a link holds.
        if !settings.steps.reactions.isEmpty, settings.bitRate == nil, settings.bitRateFloor == nil { bits += bits / 2 }
        // Figures for all of these: docs/measurements/bits.md.
        encoding.rateControl = .rate(
            bits,
            bufferFrames: settings.bitRate == nil && settings.bitRateFloor == nil
                ? max(4, rate.value * Self.bufferTime.seconds) : 4)
        encoding.leastQuantiser = 18
        encoding.adaptsQuantiser = false
        encoding.choosesCoefficients = encoding.preset > .ultrafast
        encoding.usesCABAC = true
        return encoding
    }

    /// Where the limit follows from the input's bits, keyframes may be as large as good ones are, as the input's may. Where somebody
    /// says what a link carries, the buffer is four frame times.
    private static let bufferTime = Nanoseconds.seconds(1)

    /// Bits a second that the video may have.
    /// - Parameter samples: luma samples a second.
    private func maximumRate(samples: Double, input: Int, _ settings: StreamSettings) -> Int {
        // A tenth of a bit for each sample keeps x264's fastest presets near transparent at these sizes and 30 pictures a second.
        // Pictures that come more seldom need more bits each.
        guard input > 0, let factor = settings.bitsAllowed else { return settings.bitRate ?? Int(0.1 * samples) }
        // A screen that stands still has next to no bits. What moves then would have none for a second.
        let allowed = Int(min(max(factor * Double(input), 0.01 * samples), 0.2 * samples))
        return min(settings.bitRate ?? allowed, allowed)
    }

    public init(
        input: StreamURL, output: StreamURL, options: StreamOptions = StreamOptions(),
        settings: StreamSettings = StreamSettings()
    ) {
        self.init(input: input, outputs: [output], options: options, settings: settings)
    }

    /// - Parameter outputs: at least one.
    public init(
        input: StreamURL, outputs: [StreamURL], options: StreamOptions = StreamOptions(),
        settings: StreamSettings = StreamSettings()
    ) {
        precondition(!outputs.isEmpty, "a stream has an output")
        self.input = input
        self.outputs = outputs
        self.options = options
        self.settings = settings
    }
}
