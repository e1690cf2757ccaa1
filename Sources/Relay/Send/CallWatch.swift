import Media
import Packets
import Settings

/// Has the bit rate follow what the receivers of calls report, where the operator set a floor for it
/// (``StreamSettings/bitRateFloor``), and pictures do not go out as they came.
///
/// Confined to the observer thread.
struct CallWatch {
    private let output: OutputRate
    private let settings: LiveSettings
    private let path: PicturePath
    private var rate: CallRate?
    private var next = MonotonicTime(nanoseconds: 0)

    init(_ channels: StreamChannels) {
        output = channels.outputRate
        settings = channels.settings
        path = channels.path
    }

    mutating func follow(_ feedback: () -> [RTPViewers.Report], at now: MonotonicTime) {
        guard now >= next else { return }
        next = now + LinkWatch.interval
        let ceiling = output.ceiling
        guard let floor = settings.current.bitRateFloor, ceiling > floor, !path.isBypassed else {
            (rate, output.carriedByCalls) = (nil, .max)
            return
        }
        if rate == nil { rate = CallRate(ceiling: ceiling) }
        let reports = feedback()
        // Whoever gets keyframes only, or is tried again, does not lower the rate of those who follow.
        let following = reports.filter { !$0.isHeldBack }
        let samples = (following.isEmpty ? reports : following).map {
            CallRate.Sample(
                id: $0.id, reports: $0.feedback.reports, fractionLost: $0.feedback.fractionLost, bitRate: $0.feedback.bitRate)
        }
        let carried = rate!.observe(samples, within: floor...ceiling, at: now)
        output.carriedByCalls = carried < ceiling ? carried : .max
    }
}
