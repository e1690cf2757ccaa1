import Bitstream
import Media
import Schedule
import Settings

/// Begins the choice of the output: when the size of the pictures is known, and when something else is asked of them. The observer
/// goes on with it (``ChosenOutput``).
///
/// Confined to the ingest thread.
struct FirstChoice {
    private let configuration: RelayConfiguration
    private let chosen: ChosenOutput
    private let available: AvailableCores
    private let control: StreamControl
    private let path: PicturePath
    private let isCall: Bool
    /// What an output was chosen for last.
    private var described: (format: VideoParameters, purpose: OutputLadder.Purpose, mayBypass: Bool)?
    private var held = HeldSize()

    init(_ channels: StreamChannels, isCall: Bool) {
        configuration = channels.configuration
        chosen = channels.chosen
        available = channels.available
        control = channels.control
        path = channels.path
        self.isCall = isCall
    }

    /// Chooses what the output is made like, by costs that were measured before the first frame.
    /// - Parameter mayBypass: pictures of this format can leave as they came.
    mutating func begin(for format: VideoParameters, _ settings: StreamSettings, mayBypass: Bool) {
        guard configuration.choosesOutput else { return }
        let purpose = configuration.purpose(of: format, settings)
        let options = configuration.options
        var best = options.output(for: format.size)
        if isCall {
            if let described, let choice = chosen.current {
                held.record(choice.isBypass ? nil : choice.size.size(of: described.format.size))
            }
            best = held.output(for: format.size, usual: best, at: .now())
        }
        let isHeld = best != options.output(for: format.size)
        described = (format, purpose, mayBypass)
        let rate = format.frameRate?.value ?? 30
        var stream = OutputLadder.Stream(input: format.size, interval: .seconds(1 / min(max(rate, 1), 240)))
        stream.workers = options.threads
        stream.encoders = options.encodeThreads
        stream.isRefined = settings.tier > .base
        stream.synthesised = options.fps.map { max(0, $0.value / rate - 1) } ?? Double(settings.interpolate - 1)
        let ladder = OutputLadder(
            stream, best: best, preset: options.slowestPreset, mayShrink: !options.keepSize, mayBypass: mayBypass,
            purpose: isHeld && purpose == .refinement ? .size : purpose, costs: StartCosts.measured.costs(of: options.codec))
        if let text = chosen.begin(ladder, cores: available.cores(at: .now())) { control.report(.message(text)) }
        path.ladderWantsBypass = chosen.current?.isBypass == true
    }

    /// Chooses again where the settings ask for something else.
    mutating func follow(_ settings: StreamSettings, mayBypass: Bool) {
        guard let described,
            described.purpose != configuration.purpose(of: described.format, settings) || described.mayBypass != mayBypass
        else { return }
        begin(for: described.format, settings, mayBypass: mayBypass)
    }

    /// Chooses again where a call's size has been held for long enough.
    mutating func endHold(_ settings: StreamSettings, mayBypass: Bool, at now: MonotonicTime) {
        guard held.isOver(at: now), let described else { return }
        begin(for: described.format, settings, mayBypass: mayBypass)
    }

    /// Nothing comes any more.
    mutating func loseInput(at now: MonotonicTime) { held.lose(at: now) }
}
