import Endpoint
import Media
import Packets
import SRT
import Settings
import Telemetry

/// Has the bit rate follow the outputs' SRT links, where the operator set a floor for it (``StreamSettings/bitRateFloor``).
/// Pictures that go out as they came have the bit rate that they have. What links do with it says nothing of the encoder's.
///
/// Confined to the observer thread.
struct LinkWatch {
    /// How often the links are sampled.
    static let interval = Nanoseconds.milliseconds(500)

    private let output: OutputRate
    private let settings: LiveSettings
    private let control: StreamControl
    private let path: PicturePath
    /// Whether there are outputs whose links say nothing.
    private let othersReceive: Bool
    private var rate: LinkRate?
    private var next = MonotonicTime(nanoseconds: 0)
    private var isLowered = false

    init(_ channels: StreamChannels) {
        output = channels.outputRate
        settings = channels.settings
        control = channels.control
        path = channels.path
        othersReceive = channels.configuration.outputs.contains { if case .srt = $0 { false } else { true } }
    }

    mutating func follow(_ peers: () -> [ConnectedPeer], at now: MonotonicTime) {
        guard now >= next else { return }
        next = now + Self.interval
        let ceiling = output.ceiling
        guard let floor = settings.current.bitRateFloor, ceiling > floor, !path.isBypassed else {
            // What follows begins anew: with the ceiling, and with a line when that is too much.
            (rate, output.carried, isLowered) = (nil, .max, false)
            return
        }
        if rate == nil { rate = LinkRate(floor...ceiling, at: now) } else { rate!.set(floor...ceiling) }
        let carried = rate!.observe(peers().map { LinkRate.Sample($0) }, othersReceive: othersReceive, at: now)
        output.carried = carried < ceiling ? carried : .max
        report(carried, ceiling)
    }

    /// One line when the rate goes down, and one when it is back.
    private mutating func report(_ carried: Int, _ ceiling: Int) {
        guard isLowered != (carried < ceiling) else { return }
        isLowered.toggle()
        let text =
            isLowered
            ? "a link does not carry \(BitRateText.write(ceiling)) bits a second: the bit rate follows it"
            : "the links carry \(BitRateText.write(ceiling)) bits a second again"
        control.report(.message(text))
    }
}

extension LinkRate.Sample {
    init(_ peer: ConnectedPeer) {
        self.init(
            id: peer.id, host: peer.host,
            waiting: peer.statistics.knowsBuffered ? peer.statistics.timeBuffered : nil,
            roundTripTime: peer.statistics.roundTripTime, window: peer.statistics.window,
            packetsDropped: peer.statistics.packetsDropped)
    }
}
