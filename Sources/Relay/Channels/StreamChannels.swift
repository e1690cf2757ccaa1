import Machine
import Schedule

/// The channels of one stream: all that its stages share beside the queues that carry frames forward.
///
/// Each channel names its writers and its readers. A stage keeps only the channels that it uses.
struct StreamChannels: Sendable {
    let configuration: RelayConfiguration
    /// The machine's cores that this process may use.
    let cores: Int

    let settings: LiveSettings
    let control = StreamControl()
    let turns = StageTurns()
    let pictures = PictureRequests()
    let keyframes = Keyframes()
    let books: StreamBooks
    let schedule: SharedScheduler
    let arrivals = Arrivals()
    let captures = CaptureClock()
    let captions = Captions()
    let format = InputFormat()
    let decoder = DecoderActivity()
    let encoder = EncoderActivity()
    let filledSlot = FilledSlot()
    let connection = OutputConnection()
    let outputRate = OutputRate()
    let coarseness = Coarseness()
    let path = PicturePath()
    let chosen = ChosenOutput()
    let available: AvailableCores
    /// Nil where the setting `past` is 0.
    let past: Past?
    let recording: Recording
    let extra: ExtraEncode

    init(_ configuration: RelayConfiguration) {
        self.configuration = configuration
        settings = LiveSettings(configuration.settings)
        cores = ProcessorLimit.current.cores
        books = StreamBooks(keyframes: keyframes, map: configuration.telemetry)
        schedule = SharedScheduler(order: configuration.synthesisOrder)
        available = AvailableCores(Cores(ProcessorLimit.current.share))
        past = Past(configuration.options)
        past?.follow(settings)
        extra = ExtraEncode(
            small: configuration.smallEncoding, vp8: configuration.vp8Encoding, baseline: configuration.baselineEncoding)
        recording = Recording(byteCount: configuration.recordingMemory)
    }
}
