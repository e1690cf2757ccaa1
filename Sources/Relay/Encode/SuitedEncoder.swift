import Codec
import Media
import Schedule
import Settings

/// The encoder of a stream's output. It goes on as long as it suits the pictures and the settings, or can take new ones over, and
/// gives way to another one then.
///
/// Confined to the thread that encodes (``EncodeStage``).
final class SuitedEncoder {
    private let configuration: RelayConfiguration
    private let arrivals: Arrivals
    private let decoder: DecoderActivity
    private let outputRate: OutputRate
    private let control: StreamControl
    private var settings: LiveSettings.Copy
    /// What the links carried when the encoder's rate was set.
    private var carried = Int.max
    /// What the input had then.
    private var inputRate = 0
    /// Nil before the first picture, and after one that could not be encoded.
    var encoder: (any PictureEncoder)?
    /// How many pictures of this encoder still cost more than later ones will: the first is a keyframe into memory that it has
    /// never touched, and for those after it the rate control has few bits left, so that it encodes rows twice.
    private var coldPictures = coldPicturesOfAnEncoder
    private static let coldPicturesOfAnEncoder = 3
    /// The source's real rate, and the rate that the encoder was opened for.
    private var sourceRate = RateWatch()
    private var assumedRate = Rational(30)
    /// A size that no encoder can do. It is reported once and not tried for every frame.
    var refused: PictureSize?

    init(_ channels: StreamChannels) {
        configuration = channels.configuration
        arrivals = channels.arrivals
        decoder = channels.decoder
        outputRate = channels.outputRate
        control = channels.control
        settings = LiveSettings.Copy(of: channels.settings)
    }

    /// - Parameter interval: the time between two originals; zero where it is not known.
    func observe(interval: Nanoseconds) { sourceRate.observe(interval) }

    /// Whether what encoding a picture took says nothing of later ones.
    func isCold(after kind: EncodeKind) -> Bool {
        guard coldPictures > 0 else { return false }
        if kind != .repeated { coldPictures -= 1 }
        return true
    }

    /// The output's pictures a second.
    var rate: Rational { configuration.outputRate(source: source, settings.value) }

    /// Originals a second.
    private var source: Rational { sourceRate.rate ?? declaredRate ?? Rational(30) }

    /// The same by the stream's headers, each field counted where it becomes a frame.
    private var declaredRate: Rational? {
        arrivals.declaredRate.map { Rational($0.numerator * Int64(decoder.picturesPerUnit), $0.denominator) }
    }

    /// Makes the encoder ready for pictures of this kind.
    /// - Returns: whether it is another one now.
    func prepare(
        for size: PictureSize, _ color: ColorDescription, _ preset: EncoderPreset, asKeyframe: Bool
    ) throws(CodecError) -> Bool {
        let hasNewSettings = settings.refresh() || outputRate.carried != carried || outputRate.input != inputRate
        if let encoder, encoder.configuration.size == size, encoder.configuration.color == color,
            encoder.configuration.preset == preset,
            !hasNewSettings || takesOverSettings(encoder, preset)
        {
            // Another rate is another allowance of bits for each picture. It is worth no keyframe of its own.
            guard asKeyframe, hasOtherRate(encoder) else { return false }
        }
        encoder = nil
        assumedRate = source
        let encoding = encoding(of: size, color, preset)
        do throws(CodecError) {
            encoder = try configuration.makeEncoder(encoding)
        } catch {
            if error.kind == .unsupportedFormat || error.kind == .unsupportedCodec { refused = size }
            // No other picture will fare better.
            if error.kind == .unsupportedCodec {
                if configuration.options.keepSize { control.fail(.codec(error)) } else { refused = size }
            }
            throw error
        }
        coldPictures = Self.coldPicturesOfAnEncoder
        return true
    }

    /// The encoder's configuration by the present settings.
    private func encoding(of size: PictureSize, _ color: ColorDescription, _ preset: EncoderPreset) -> VideoEncoderConfiguration
    {
        inputRate = outputRate.input
        var encoding = configuration.encoding(
            of: size, color: color, rate: configuration.outputRate(source: assumedRate, settings.value),
            preset: preset, input: inputRate, settings.value)
        carried = outputRate.carried
        outputRate.ceiling = encoding.rateControl.maximumRate ?? 0
        encoding.rateControl.limit(to: carried)
        return encoding
    }

    /// Whether the open encoder can go on with new settings; it has taken them over then.
    private func takesOverSettings(_ encoder: any PictureEncoder, _ preset: EncoderPreset) -> Bool {
        let wanted = encoding(of: encoder.configuration.size, encoder.configuration.color, preset)
        return encoder.configuration == wanted || encoder.change(wanted.rateControl, at: wanted.frameRate)
    }

    /// Whether the encoder was opened for another rate than the output has now.
    private func hasOtherRate(_ encoder: any PictureEncoder) -> Bool {
        guard configuration.options.fps == nil else { return false }
        return sourceRate.contradicts(assumedRate)
            || encoder.configuration.frameRate != configuration.outputRate(source: assumedRate, settings.value)
    }
}
